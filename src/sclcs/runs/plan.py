"""What a cohort will cost: all operators on everybody, or the two stages.

A short calibration on this machine says what every family costs on samples of the cohort; the
laws of :mod:`sclcs.spi.costs` carry that to other sizes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sclcs._core import DEFAULT_METHOD, InputError, Settings, checked, plain, show_progress
from sclcs.cohort import Cohort
from sclcs.coresets import (
    ClassifierParameters,
    EncoderParameters,
    RepeatedParameters,
    Selector,
    find_selector,
    train,
    training_of,
)
from sclcs.runs.costs import (
    Calibration,
    CohortShape,
    Cost,
    Start,
    calibrate,
    cost_of_work,
    total_cost,
)
from sclcs.spi import resolve
from sclcs.stats import ranking_bytes
from sclcs.store import process_count

__all__ = ["CohortShape", "Cost", "CostPlan", "SelectionCost", "predict_costs", "selection_cost"]


PILOT_SUBJECTS = 32
MOST_REGIONS, MOST_TIMEPOINTS = 100, 200  # of simulated subjects on which training is tried
EPOCHS_TRIED = (1, 3)


@dataclass(frozen=True)
class SelectionCost:
    """What choosing costs.

    Parameters
    ----------
    cpu_seconds : float
        In the one process that chooses, without its start.
    notes : list of str
        What was not measured.
    """

    cpu_seconds: float
    notes: list[str] = field(default_factory=list)

    def as_cost(self, start: Start) -> Cost:
        """Return the whole cost, with the start of the process that chooses."""
        return Cost(
            self.cpu_seconds + start.cpu_seconds,
            self.cpu_seconds + start.wall_seconds,
            start.memory_bytes,
            0,
        )


def selection_cost(
    cohort: Cohort | CohortShape,
    shape: CohortShape,
    selector: Selector,
    parameters: Settings,
) -> SelectionCost:
    """Predict what choosing costs.

    Parameters
    ----------
    cohort : Cohort or CohortShape
        On whose samples training is tried.
    shape : CohortShape
        The size that is planned.
    selector : Selector
        The method.
    parameters : Settings
        Its parameters.

    Returns
    -------
    SelectionCost
    """
    if selector.needs_training:
        return _trained(cohort, shape, selector, parameters)
    note = f"Choosing by {selector.name} takes seconds and is not counted."
    return SelectionCost(0.0, [note])


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
        from sclcs.coresets import encoder_settings

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
        from sclcs.cohort import simulate_cohort

        size = min(shape.timepoints, MOST_TIMEPOINTS)
        regions = min(shape.regions, MOST_REGIONS)
        with show_progress(visible=False):
            return simulate_cohort(PILOT_SUBJECTS, 2, regions, length=size, seed=0)
    subjects = cohort.samples["subject"].drop_duplicates()[:PILOT_SUBJECTS]
    return cohort.take(cohort.samples["subject"].isin(subjects).to_numpy()).load()


@dataclass(frozen=True)
class CostPlan:
    """What a cohort will cost.

    Parameters
    ----------
    shape : CohortShape
        Samples, regions and time points of the cohort that is planned.
    operators : list of str
        What is asked for.
    ratio : float
        Share of the samples in the core-set.
    core_samples : int
        Samples in the core-set.
    method : str
        How the core-set is chosen.
    top_k : int
        Operators that are computed on everybody in the second stage.
    jobs : int
        Processes, on however many machines.
    full : Cost
        Every operator on every sample.
    parts : dict of str to Cost
        The two stages in pieces: ``selection``, ``core-set`` and ``winners``.
    two_stage : Cost
        Their sum.
    two_stage_worst : Cost
        The same if the winners are the most expensive operators.
    ranking_memory_bytes : int
        What ranking one operator on the whole cohort needs in one process.
    calibration : Calibration
        What was measured.
    notes : list of str
        What to keep in mind when reading the figures.
    """

    shape: CohortShape
    operators: list[str]
    ratio: float
    core_samples: int
    method: str
    top_k: int
    jobs: int
    full: Cost
    parts: dict[str, Cost]
    two_stage: Cost
    two_stage_worst: Cost
    ranking_memory_bytes: int
    calibration: Calibration
    notes: list[str]

    @property
    def cpu_share(self) -> float:
        """CPU time of the two stages as a share of the full computation's."""
        return self.two_stage.cpu_seconds / self.full.cpu_seconds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; times in seconds, sizes in bytes."""
        content = asdict(replace(self, calibration=None))  # type: ignore[arg-type]
        content |= {"cpu_share": self.cpu_share, "calibration": self.calibration.to_dict()}
        return dict(plain(content))


@checked
def predict_costs(
    cohort: Cohort | str | os.PathLike[str] | CohortShape,
    spis: str | Sequence[str] = "all",
    *,
    ratio: float = 0.1,
    method: str = DEFAULT_METHOD,
    parameters: Mapping[str, Any] | None = None,
    top_k: int = 5,
    jobs: int = 1,
    shape: CohortShape | None = None,
    calibration_seconds: float = 5.0,
) -> CostPlan:
    """Predict CPU time, wall time, memory and disk of the full and of the two-stage computation.

    Parameters
    ----------
    cohort : Cohort, path or CohortShape
        The cohort, on whose samples the operators are tried; or only its size, and they are
        tried on simulated signals.
    spis : str or sequence of str
        Operators, see :func:`sclcs.spi.resolve`.
    ratio : float
        Share of the samples in the core-set.
    method : str
        How the core-set will be chosen.
    parameters : mapping, optional
        Of the method, for example ``{"epochs": 50}``.
    top_k : int
        Operators that are computed on everybody in the second stage.
    jobs : int
        Processes, on however many machines; -1 for one per processor of this one.
    shape : CohortShape, optional
        Predict for another size than that of the cohort on which operators are tried.
    calibration_seconds : float
        About how long operators are tried. Compiling them the first time comes on top.

    Returns
    -------
    CostPlan

    Examples
    --------
    ``predict_costs("cohort.zarr", "all", ratio=0.1, jobs=8).two_stage.cpu_seconds``
    """
    if not calibration_seconds > 0:
        raise InputError(
            f"Expected calibration_seconds to be a number above 0, got {calibration_seconds}."
        )
    operators = resolve(spis)
    opened = cohort if isinstance(cohort, Cohort | CohortShape) else Cohort.open(cohort)
    planned = shape or CohortShape.of(opened)
    jobs = process_count(jobs)
    core = _check(planned, ratio, top_k, len(operators))
    selector = find_selector(method)
    selector.require_packages()
    complete = selector.complete(dict(parameters or {}))
    measured = calibrate(opened, operators, planned, seconds=calibration_seconds)
    choice = selection_cost(opened, planned, selector, complete)
    full = cost_of_work(measured, planned, jobs=jobs)
    core_cost = cost_of_work(measured, replace(planned, samples=core), jobs=jobs)
    # The winners' matrices of the core-set are there already.
    others = replace(planned, samples=max(planned.samples - core, 1))
    winners = cost_of_work(measured, others, jobs=jobs, top_k=top_k)
    worst = cost_of_work(measured, others, jobs=jobs, top_k=top_k, worst=True)
    chosen = choice.as_cost(measured.start)
    return CostPlan(
        shape=planned,
        operators=operators,
        ratio=ratio,
        core_samples=core,
        method=method,
        top_k=top_k,
        jobs=jobs,
        full=full,
        parts={"selection": chosen, "core-set": core_cost, "winners": winners},
        two_stage=total_cost([chosen, core_cost, winners]),
        two_stage_worst=total_cost([chosen, core_cost, worst]),
        ranking_memory_bytes=ranking_bytes(planned.samples, planned.regions),
        calibration=measured,
        notes=_notes(measured, planned, choice),
    )


def _check(shape: CohortShape, ratio: float, top_k: int, n_operators: int) -> int:
    """Return the size of the core-set, or say what is wrong."""
    if not 0 < ratio <= 1:
        raise InputError(f"Expected a ratio above 0 and at most 1, got {ratio:g}.")
    if not 1 <= top_k <= n_operators:
        raise InputError(f"Expected top_k between 1 and the {n_operators} operators, got {top_k}.")
    return max(1, int(ratio * shape.samples))


def _notes(measured: Calibration, shape: CohortShape, choice: SelectionCost) -> list[str]:
    notes = list(choice.notes)
    scaled = [
        cost.family for cost in measured.families if cost.pilot != (shape.regions, shape.timepoints)
    ]
    if scaled:
        notes.append(f"Tried on smaller samples and scaled by their laws: {', '.join(scaled)}.")
    unknown = [
        cost.family for cost in measured.families if cost.family in scaled and not cost.law.measured
    ]
    if unknown:
        notes.append(f"Scaled as N^2 T for want of a measured law: {', '.join(unknown)}.")
    return notes
