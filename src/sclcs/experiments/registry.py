"""The experiments: one row of facts and five functions each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from sclcs.core.arguments import checked_methods
from sclcs.core.errors import UnknownNameError
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Experiment", "Measured", "Outcome", "find_experiment", "register"]

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


@checked_methods
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
        """Return the facts as JSON values."""
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
