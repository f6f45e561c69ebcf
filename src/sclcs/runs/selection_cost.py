"""What choosing a core-set costs by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sclcs.benchmark.memory import ranking_bytes
from sclcs.cohort.cohort import Cohort
from sclcs.compute.calibration import Start, calibrate
from sclcs.compute.cost import Cost, cost_of_work, total_cost
from sclcs.compute.pilot import CohortShape
from sclcs.core.progress import show_progress
from sclcs.core.settings import Settings
from sclcs.selection import Selector
from sclcs.selection.classifier_training import ClassifierParameters, RepeatedParameters, train
from sclcs.selection.guided.method import GuidingParameters
from sclcs.selection.guided.panel import most_candidates, panel_operators
from sclcs.selection.perturbation import EncoderParameters, training_of

__all__ = ["SelectionCost", "selection_cost"]

PILOT_SUBJECTS = 32
MOST_REGIONS, MOST_TIMEPOINTS = 100, 200  # of simulated subjects on which training is tried
EPOCHS_TRIED = (1, 3)
# A rough figure for swaps of the guided search on 1535 samples with 12 operators.
SECONDS_PER_PROPOSAL = 1.5e-4
_FLOAT32 = 4


@dataclass(frozen=True)
class SelectionCost:
    """What choosing costs.

    Parameters
    ----------
    cpu_seconds : float
        In the one process that chooses, without its start.
    memory_bytes : int
        On top of what a process holds.
    notes : list of str
        What was not measured.
    computing : Cost, optional
        Of the operators that guide, on everybody, by all processes.
    """

    cpu_seconds: float
    memory_bytes: int = 0
    notes: list[str] = field(default_factory=list)
    computing: Cost | None = None

    def as_cost(self, start: Start) -> Cost:
        """Return the whole cost: the operators that guide, then a process that chooses."""
        choosing = Cost(
            self.cpu_seconds + start.cpu_seconds,
            self.cpu_seconds + start.wall_seconds,
            start.memory_bytes + self.memory_bytes,
            0,
        )
        return choosing if self.computing is None else total_cost([self.computing, choosing])


def selection_cost(
    cohort: Cohort | CohortShape,
    shape: CohortShape,
    selector: Selector,
    parameters: Settings,
    *,
    jobs: int,
    seconds: float,
) -> SelectionCost:
    """Predict what choosing costs.

    Parameters
    ----------
    cohort : Cohort or CohortShape
        On whose samples things are tried.
    shape : CohortShape
        The size that is planned.
    selector : Selector
        The method.
    parameters : Settings
        Its parameters.
    jobs : int
        Processes that compute the operators that guide.
    seconds : float
        About how long to try.

    Returns
    -------
    SelectionCost
    """
    if isinstance(parameters, GuidingParameters):
        return _guided(cohort, shape, parameters, jobs, seconds)
    if selector.needs_training:
        return _trained(cohort, shape, selector, parameters)
    note = f"Choosing by {selector.name} takes seconds and is not counted."
    return SelectionCost(0.0, notes=[note])


def _guided(
    cohort: Cohort | CohortShape,
    shape: CohortShape,
    parameters: GuidingParameters,
    jobs: int,
    seconds: float,
) -> SelectionCost:
    """Return the cost of the panel on everybody, the similarities and the search."""
    panel = panel_operators(parameters.panel)
    measured = calibrate(cohort, panel, shape, seconds=seconds / 2)
    candidates = min(shape.samples, most_candidates(len(panel), parameters.memory_gb))
    edges = shape.regions * (shape.regions - 1) / 2
    products = 2.0 * candidates**2 * edges * len(panel) / _flops_per_second()
    search = parameters.restarts * parameters.proposals * SECONDS_PER_PROPOSAL
    similarities = len(panel) * candidates**2 * _FLOAT32
    return SelectionCost(
        products + search,
        memory_bytes=int(similarities + ranking_bytes(shape.samples, shape.regions)),
        computing=cost_of_work(measured, shape, jobs=jobs),
    )


def _flops_per_second() -> float:
    """Return how fast one process multiplies matrices of float32."""
    from threadpoolctl import threadpool_limits

    size = 1024
    values = np.ones((size, size), dtype=np.float32)
    with threadpool_limits(1):
        begun = time.process_time()
        for _ in range(3):
            values @ values
        spent = (time.process_time() - begun) / 3
    return 2.0 * size**3 / spent


def _trained(
    cohort: Cohort | CohortShape,
    shape: CohortShape,
    selector: Selector,
    parameters: Settings,
) -> SelectionCost:
    """Train for one and for three epochs on a few subjects; the difference is two epochs."""
    pilot = _few_subjects(cohort, shape)
    train, epochs, trainings = _training(parameters)
    taken = []
    with show_progress(visible=False):
        train(pilot, 1)  # loads torch
        for tried in EPOCHS_TRIED:
            begun = time.process_time()
            train(pilot, tried)
            taken.append(time.process_time() - begun)
    epoch = max(0.0, taken[1] - taken[0]) / (EPOCHS_TRIED[1] - EPOCHS_TRIED[0]) / len(pilot)
    growth = shape.samples * shape.regions / pilot.n_regions * shape.timepoints / pilot.n_timepoints
    return SelectionCost(
        epoch * epochs * trainings * growth,
        notes=[f"{selector.name}: {epochs} epochs, scaled from {len(pilot)} samples."],
    )


def _training(parameters: Settings) -> tuple[Callable[[Cohort, int], object], int, int]:
    """Return what trains for some epochs, for how many it will, and how often."""
    if isinstance(parameters, EncoderParameters):
        from sclcs.encoder import encoder_settings

        # The epochs that count may lie beyond a trial.
        short = {"cache": False, "burn_in": None, "last_scored_epoch": None}
        encoder = parameters.change(short)
        epochs = encoder.epochs or encoder_settings(encoder.preset).epochs
        return lambda few, n: training_of(few, 0, encoder.change({"epochs": n})), epochs, 1
    if not isinstance(parameters, ClassifierParameters):
        raise TypeError(f"No training belongs to {type(parameters).__name__}.")
    classifier = parameters.change({"cache": False})
    trainings = parameters.runs if isinstance(parameters, RepeatedParameters) else 1
    return (
        lambda few, n: train(few, 0, classifier.change({"epochs": n})),
        classifier.epochs,
        trainings,
    )


def _few_subjects(cohort: Cohort | CohortShape, shape: CohortShape) -> Cohort:
    if not isinstance(cohort, Cohort):
        from sclcs.cohort.simulation import simulate_cohort

        size = min(shape.timepoints, MOST_TIMEPOINTS)
        regions = min(shape.regions, MOST_REGIONS)
        with show_progress(visible=False):
            return simulate_cohort(PILOT_SUBJECTS, 2, regions, length=size, seed=0)
    subjects = cohort.samples["subject"].drop_duplicates()[:PILOT_SUBJECTS]
    return cohort.take(cohort.samples["subject"].isin(subjects).to_numpy()).load()
