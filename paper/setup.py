"""What an experiment is, and what it is given: a cohort, its matrices, and options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from paper.options import Options, parameters_of, selector_of
from paper.scorer import Scorer
from paper.tables import Table
from sclcs._core import InputError, UnknownNameError
from sclcs.cohort import Cohort, CoreSet
from sclcs.coresets import Selector
from sclcs.store import FCStore

Cell = dict[str, Any]
Row = dict[str, Any]


def asks_task(method: str) -> bool:
    """Return whether a method's choice depends on the task: it learns it."""
    selector = selector_of(method)
    return selector.takes_task and selector.needs_training


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything an experiment may use.

    Parameters
    ----------
    cohort : Cohort
    fc : Path
        The FC store of the cohort; operators that are missing are computed into it.
    options : Options
    """

    cohort: Cohort
    fc: Path
    options: Options

    def store(self, spis: str | Sequence[str] | None = None) -> FCStore:
        """Return the FC store with at least these operators (by default those of the options)."""
        from sclcs.store import fill_store, find_executor, is_done, open_computation

        wanted = self.options.spis if spis is None else spis
        computation = open_computation(
            self.cohort, self.fc, wanted if isinstance(wanted, str) else list(wanted)
        )
        # Several experiments may read one store at the same time; only a writer is alone.
        if is_done(computation):
            return computation.store
        return fill_store(computation, find_executor(f"local:{self.options.jobs}")).store

    @cached_property
    def scorer(self) -> Scorer:
        """The scores of the options' operators on any core-set."""
        return self.scorer_of(self.options.spis)

    @cached_property
    def sound_scorer(self) -> Scorer:
        """The same by the sound score of each task."""
        return self.scorer_of(self.options.spis, sound=True)

    def scorer_of(self, spis: str | Sequence[str], *, sound: bool = False) -> Scorer:
        """Return the scores of some operators on any core-set; what is known is kept."""
        from sclcs.spi import resolve

        operators = resolve(spis if isinstance(spis, str) else list(spis))
        return Scorer(
            self.store(operators),
            operators,
            self.fc.with_name(f"{self.fc.name}-scores"),
            jobs=self.options.jobs,
            sound=sound,
        )

    def require_tasks(self) -> None:
        """Say before any long work that a label column is missing."""
        columns = self.cohort.samples.columns
        missing = [task for task in self.options.tasks if task not in columns]
        if missing:
            raise InputError(
                f"The experiment ranks for {', '.join(self.options.tasks)}, but the cohort has no "
                f"column {', '.join(missing)}; give tasks= (--tasks) that it has."
            )

    def select(self, method: str, ratio: float, seed: int, **parameters: Any) -> CoreSet:  # noqa: ANN401
        """Choose a core-set; trainings take their length from the options.

        Parameters
        ----------
        method, ratio, seed
            As for :func:`sclcs.coresets.select`; a method may also be a variant.
        **parameters : object
            The method's own; a ``task`` is dropped where the method has none.
        """
        from sclcs.coresets import select

        selector, parameters = selector_of(method), parameters_of(method) | parameters
        if not selector.takes_task:
            parameters.pop("task", None)
        if selector.needs_training:
            parameters.setdefault("epochs", self._epochs(selector, parameters))
        return select(self.cohort, selector.name, ratio, seed, **parameters)

    def _epochs(self, selector: Selector, parameters: dict[str, Any]) -> int:
        """Return the length of a training; a preset keeps its proportion to the paper's."""
        if selector.network != "encoder":
            return self.options.baseline_epochs
        from sclcs.coresets import PRESETS

        preset = parameters.get("preset", selector.parameters.defaults()["preset"])
        return self.options.epochs * PRESETS[preset].epochs // PRESETS["paper"].epochs


#: A cell and what was measured in it.
Measured = tuple[Cell, list[Row]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a figure can be drawn from.

    Parameters
    ----------
    setup : Setup
    measured : DataFrame
        One row per measurement.
    summary : DataFrame
    """

    setup: Setup
    measured: pd.DataFrame
    summary: pd.DataFrame


def usual_operators(setup: Setup) -> Sequence[str]:
    """Return the operators of the options."""
    spis = setup.options.spis
    return [spis] if isinstance(spis, str) else spis


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper, made again.

    Parameters
    ----------
    name : str
        What the user types.
    title : str
        What is asked.
    paper : str
        Where the paper's answer is.
    cells : callable
        From the setup to the parameters of every cell, in the order of the result.
    measure : callable
        From the setup and the cells that are missing to what is found in each, as soon as
        it is known.
    summarise : callable
        From all measurements to the summary with the paper's numbers beside ours.
    tables : callable
        From the summary to tables for people.
    draw : callable
        From all that to the figure.
    operators : callable
        From the setup to the operators whose numbers count; those of the options by default.
    version : int
        Raised when the same cell would have another value than before.
    """

    name: str
    title: str
    paper: str
    cells: Callable[[Setup], list[Cell]]
    measure: Callable[[Setup, Sequence[Cell]], Iterator[Measured]]
    summarise: Callable[[pd.DataFrame], pd.DataFrame]
    tables: Callable[[pd.DataFrame], list[Table]]
    draw: Callable[[Outcome], Figure]
    operators: Callable[[Setup], Sequence[str]] = usual_operators
    version: int = 1

    def to_dict(self) -> dict[str, str]:
        """Return name, title and table as JSON values."""
        return {"name": self.name, "title": self.title, "paper": self.paper}


#: All experiments, in the order in which they are listed and run.
EXPERIMENTS: dict[str, Experiment] = {}


def register(experiment: Experiment) -> Experiment:
    """Add an experiment to the list."""
    EXPERIMENTS[experiment.name] = experiment
    return experiment


def find_experiment(name: str) -> Experiment:
    """Return the experiment of that name; an unknown one is an error that lists the known ones."""
    if name not in EXPERIMENTS:
        raise UnknownNameError(
            f"Unknown experiment {name!r}; the known ones are {', '.join(EXPERIMENTS)}, and all."
        )
    return EXPERIMENTS[name]
