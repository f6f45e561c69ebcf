"""The loop of the swap search, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.jit import raising_kernel
from sclcs.selection.guided.kernel import (
    Goal,
    Pairs,
    core_sums,
    misfit,
    move,
    scores_of,
    swap,
)

__all__ = [
    "State",
    "Units",
    "swap_search",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Units(NamedTuple):
    """What is swapped: single samples or whole subjects, by cell of equal strata and size.

    Parameters
    ----------
    members : array of int, shape (unit, most samples of a unit)
        Candidates of each unit, which enter and leave together; padded with -1.
    cell_of : array of int
        Cell of each unit; a unit is replaced by one of its cell only.
    cells, cell_starts : arrays of int
        The units sorted by cell, and where each cell starts.
    subjects : array of int
        Subject of each candidate.
    """

    members: Integers
    cell_of: Integers
    cells: Integers
    cell_starts: Integers
    subjects: Integers

    def of_rows(self, rows: Integers) -> Integers:
        """Return the units that some candidates are the members of."""
        unit_of = np.empty(int(self.members.max()) + 1, dtype=np.int64)
        units, places = np.nonzero(self.members >= 0)
        unit_of[self.members[units, places]] = units
        return np.unique(unit_of[rows])

    def rows(self, units: Integers) -> Integers:
        """Return the candidates of some units."""
        found = self.members[units].ravel()
        return found[found >= 0]


class State(NamedTuple):
    """The core-set as it is; every array is changed in place.

    Parameters
    ----------
    chosen : array of int
        The units inside.
    inside : array of bool
        Whether each unit is.
    held : array of int
        Chosen samples of each subject.
    sums, counts : arrays
        See :func:`sclcs.selection.guided.kernel.core_sums`.
    pairs : Pairs
    """

    chosen: Integers
    inside: NDArray[np.bool_]
    held: Integers
    sums: Floats
    counts: Floats
    pairs: Pairs


@raising_kernel
def swap_search(  # noqa: PLR0917
    similarity: NDArray[np.float32],
    classes: Integers,
    blocks: Integers,
    places: Floats,
    units: Units,
    goal: Goal,
    chosen: Integers,
    min_subjects: int,
    chances: Floats,
    patience: int,
) -> tuple[float, float, Integers, int]:
    """Swap units as long as the objective falls.

    Parameters
    ----------
    similarity : array of float32, shape (candidate, candidate, operator)
    classes, blocks : arrays of int, shape (task, candidate)
    places : array, shape (candidate,)
        Windows less than 1 apart share time points and are not compared.
    units : Units
        A unit is only replaced by one of its cell, which keeps the shares.
    goal : Goal
    chosen : array of int
        Units to start from; changed in place.
    min_subjects : int
        A swap never leaves fewer.
    chances : array, shape (proposal, 2)
        Uniform random numbers: which unit leaves, and which of its cell enters.
    patience : int
        Stop after so many proposals in a row that did not help.

    Returns
    -------
    began, best : float
        The objective at the start and at the end; infinite if no score exists.
    chosen : array of int
    swaps : int
    """
    state = _begin(similarity, classes, blocks, places, units, chosen)
    sums, counts = state.sums.copy(), state.counts.copy()
    scores = np.empty((sums.shape[0], sums.shape[2]))
    began = best = _value_of(sums, counts, goal, scores)
    swaps, idle = 0, 0
    for step in range(chances.shape[0]):
        idle += 1
        if idle > patience:
            break
        place = int(chances[step, 0] * chosen.shape[0])
        unit = _partner_of(units, chosen[place], chances[step, 1])
        if state.inside[unit]:
            continue
        leaving, entering = _unit_of(units.members, chosen[place]), _unit_of(units.members, unit)
        sums[:], counts[:] = state.sums, state.counts
        swap(state.pairs, leaving, entering, sums, counts)
        value = _value_of(sums, counts, goal, scores)
        if value >= best or _too_few(state.held, units.subjects, leaving, entering, min_subjects):
            continue
        best, idle, swaps = value, 0, swaps + 1
        state.sums[:], state.counts[:] = sums, counts
        _exchange(state, units, place, unit)
    return began, best, chosen, swaps


@raising_kernel
def _begin(  # noqa: PLR0917
    similarity: NDArray[np.float32],
    classes: Integers,
    blocks: Integers,
    places: Floats,
    units: Units,
    chosen: Integers,
) -> State:
    """Sum the pairs of the units to start from."""
    rows = _samples(units.members, chosen)
    ones = np.ones(rows.shape[0])
    sums, counts, pairs = core_sums(similarity, classes, blocks, places, rows, ones)
    held = np.zeros(units.subjects.max() + 1, np.int64)
    _hold(held, units.subjects, rows, 1)
    inside = np.zeros(units.members.shape[0], np.bool_)
    inside[chosen] = True
    return State(chosen, inside, held, sums, counts, pairs)


@raising_kernel
def _exchange(state: State, units: Units, place: int, unit: int) -> None:
    """Put a unit in the place of a chosen one."""
    leaving, entering = _unit_of(units.members, state.chosen[place]), _unit_of(units.members, unit)
    state.inside[state.chosen[place]], state.inside[unit] = False, True
    state.chosen[place] = unit
    _hold(state.held, units.subjects, leaving, -1)
    _hold(state.held, units.subjects, entering, 1)
    for row in leaving:
        move(state.pairs, row, -1.0)
    for row in entering:
        move(state.pairs, row, 1.0)


@raising_kernel
def _value_of(sums: Floats, counts: Floats, goal: Goal, scores: Floats) -> float:
    """Return the objective (scores are written over); infinite if a score does not exist."""
    if not scores_of(sums, counts, goal.formula, scores):
        return np.inf
    return misfit(scores, goal)


@raising_kernel
def _partner_of(units: Units, unit: int, chance: float) -> int:
    """Return a random unit of the same cell."""
    first = units.cell_starts[units.cell_of[unit]]
    size = units.cell_starts[units.cell_of[unit] + 1] - first
    partner: int = units.cells[first + int(chance * size)]
    return partner


@raising_kernel
def _unit_of(members: Integers, unit: int) -> Integers:
    """Return the candidates of one unit, without a copy: there are thousands of proposals."""
    size = members.shape[1]
    while members[unit, size - 1] < 0:
        size -= 1
    return members[unit, :size]


@raising_kernel
def _samples(members: Integers, units: Integers) -> Integers:
    """Return the candidates of some units."""
    rows = members[units].ravel()
    return rows[rows >= 0]


@raising_kernel
def _hold(held: Integers, subjects: Integers, rows: Integers, change: int) -> None:
    for row in rows:
        held[subjects[row]] += change


@raising_kernel
def _too_few(
    held: Integers, subjects: Integers, leaving: Integers, entering: Integers, fewest: int
) -> bool:
    """Say whether a swap would leave fewer subjects than wanted, and fewer than before."""
    if fewest == 0:
        return False
    before = (held > 0).sum()
    after = held.copy()
    _hold(after, subjects, leaving, -1)
    _hold(after, subjects, entering, 1)
    left = (after > 0).sum()
    return bool(left < before and left < fewest)
