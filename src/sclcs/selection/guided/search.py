"""The swap search: from a stratified core-set to one that keeps the panel's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.seeds import generator
from sclcs.selection.guided.objective import Objective
from sclcs.selection.guided.panel import Panel
from sclcs.selection.guided.swaps import Units, swap_search

__all__ = ["Constraints", "Found", "Units", "make_units", "search"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Constraints:
    """What the search must keep.

    Parameters
    ----------
    strata : tuple of str
        Columns whose shares stay those of the core-set to start from.
    whole_subjects : bool
        All samples of a subject are chosen, or none.
    min_subjects : int
        Fewest subjects in the core-set.
    """

    strata: tuple[str, ...] = ()
    whole_subjects: bool = False
    min_subjects: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """A core-set that the search ended with.

    Parameters
    ----------
    rows : array of int
        Candidates.
    value, start_value : float
        The objective at the end and at the start.
    swaps : int
        How many were made.
    weights : array, optional
        Of each row; None if all count the same.
    """

    rows: Integers
    value: float
    start_value: float
    swaps: int
    weights: Floats | None = None


def make_units(cohort: Cohort, rows: Integers, constraints: Constraints) -> Units:
    """Work out what may be swapped for what.

    Parameters
    ----------
    cohort : Cohort
    rows : array of int
        The candidates' rows in the cohort.
    constraints : Constraints

    Returns
    -------
    Units
    """
    samples = cohort.samples.iloc[rows]
    subjects, _ = pd.factorize(samples["subject"], sort=True)
    subjects = np.asarray(subjects, dtype=np.int64)
    parts = [cohort.labels(name).iloc[rows].map(str) for name in constraints.strata]
    keys = [" x ".join(cells) for cells in zip(*parts, strict=True)] if parts else [""] * len(rows)
    if constraints.whole_subjects:
        order = np.argsort(subjects, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(subjects[order])) + 1)
    else:
        groups = list(np.arange(len(rows))[:, None])
    members = np.full((len(groups), max(map(len, groups))), -1, dtype=np.int64)
    for unit, group in enumerate(groups):
        members[unit, : len(group)] = group
    names = [f"{keys[group[0]]} / {len(group)}" for group in groups]
    cell_of = np.asarray(pd.factorize(np.asarray(names, dtype=object), sort=True)[0])
    cells = np.argsort(cell_of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell_of))])
    return Units(members, cell_of, cells, starts, subjects)


def search(
    panel: Panel,
    objective: Objective,
    units: Units,
    starts: Sequence[Integers],
    *,
    min_subjects: int = 0,
    proposals: int = 40_000,
    seed: int = 0,
) -> Found:
    """Swap from every start and return the best core-set found.

    Parameters
    ----------
    panel : Panel
    objective : Objective
    units : Units
    starts : sequence of arrays of int
        Candidates to start from, one array per restart.
    min_subjects : int
        Fewest subjects.
    proposals : int
        Per restart. The search also stops after a third of them in a row did not help.
    seed : int

    Returns
    -------
    Found
        Never worse than the best start. Infinite values mean that no score exists.
    """
    if proposals < 0:
        raise InputError(f"Expected proposals of at least 0, got {proposals}.")
    best: Found | None = None
    for number, start in enumerate(starts):
        chances = generator(seed, "guided", "swaps", number).random((proposals, 2))
        began, value, ended, swaps = swap_search(
            panel.similarity,
            panel.classes,
            panel.blocks,
            panel.places,
            units,
            objective.for_kernel(),
            units.of_rows(start),
            min_subjects,
            chances,
            max(proposals // 3, 1),
        )
        found = Found(units.rows(ended), float(value), float(began), int(swaps))
        if best is None or found.value < best.value:
            best = found
    if best is None:
        raise InputError("Expected at least one restart, got none.")
    return best
