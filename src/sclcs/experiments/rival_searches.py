"""Annealing and greedy growth: other searches for a guided core-set, to compare with swaps.

They are given the same problem, minimise the same objective and return a core-set of the
starting design's size and strata. Nothing but the study ``searches`` uses them. Units are single
samples, and there is no minimum of subjects: the settings of the study.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from sclcs.core.seeds import generator
from sclcs.selection.guided.guide import Guide, Problem
from sclcs.selection.guided.kernel import Goal, core_sums, move, swap
from sclcs.selection.guided.swaps import (
    Cells,
    begin,
    exchange,
    partner_of,
    unit_of,
    value_of,
)

__all__ = ["annealing", "greedy"]

Similarities = NDArray[np.float32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

HOT, COLD = 2e-4, 2e-5  # temperatures, in units of the objective; hotter ones took longer
PART = 3  # greedy growth starts from a design of one part in so many of the size
FEWEST = 6  # samples to grow from: fewer have no score


def annealing(guide: Guide, problem: Problem, proposals: int) -> Integers:
    """Swap as the package does, but accept worse core-sets too, ever more rarely.

    Parameters
    ----------
    guide : Guide
    problem : Problem
        The first of its starts is used.
    proposals : int

    Returns
    -------
    array of int
        The best core-set that was met, never worse than the start.
    """
    panel, units = guide.panel, guide.units
    chances = generator(guide.seed, "searches", "annealing").random((proposals, 3))
    chosen = _anneal(
        panel.similarity,
        panel.classes,
        panel.blocks,
        units.for_kernel(),
        problem.objective.for_kernel(),
        units.of_rows(problem.starts[0]),
        chances,
        HOT,
        COLD,
    )
    return np.sort(units.rows(chosen))


@njit(nogil=True, cache=True)
def _anneal(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    cells: Cells,
    goal: Goal,
    chosen: Integers,
    chances: Floats,
    hot: float,
    cold: float,
) -> Integers:
    """Return the best units met on the way; the third chance decides on worse ones."""
    state = begin(similarity, classes, blocks, cells, chosen)
    sums, counts = state.sums.copy(), state.counts.copy()
    scores = np.empty((sums.shape[0], sums.shape[2]))
    now = best = value_of(sums, counts, goal, scores)
    best_chosen = chosen.copy()
    for step in range(chances.shape[0]):
        place = int(chances[step, 0] * chosen.shape[0])
        unit = partner_of(cells, chosen[place], chances[step, 1])
        if state.inside[unit]:
            continue
        leaving, entering = unit_of(cells.members, chosen[place]), unit_of(cells.members, unit)
        sums[:], counts[:] = state.sums, state.counts
        swap(state.pairs, leaving, entering, sums, counts)
        value = value_of(sums, counts, goal, scores)
        heat = hot * (cold / hot) ** (step / chances.shape[0])
        if value >= now and chances[step, 2] >= np.exp((now - value) / heat):
            continue
        now = value
        state.sums[:], state.counts[:] = sums, counts
        exchange(state, cells, place, unit)
        if now < best:
            best, best_chosen = now, chosen.copy()
    return best_chosen


def greedy(guide: Guide, problem: Problem) -> Integers:
    """Grow a small design: add the best sample that the strata allow, one after the other.

    Parameters
    ----------
    guide : Guide
    problem : Problem
        Every start is grown into: its strata are kept, and the best result is returned.

    Returns
    -------
    array of int
    """
    panel, goal, cell_of = guide.panel, problem.objective.for_kernel(), guide.units.cell_of
    best, best_rows = np.inf, problem.starts[0]
    for number, start in enumerate(problem.starts):
        room = np.bincount(cell_of[start], minlength=int(cell_of.max()) + 1)
        seeds = _seeds(guide, room, number, len(start))
        value, rows = _grow(
            panel.similarity,
            panel.classes,
            panel.blocks,
            cell_of,
            goal,
            seeds,
            room - np.bincount(cell_of[seeds], minlength=len(room)),
        )
        if value < best:
            best, best_rows = value, rows
    return np.sort(best_rows)


def _seeds(guide: Guide, room: Integers, number: int, size: int) -> Integers:
    """Return a small design, without the samples that its strata have no room for."""
    rows = guide.designs.draw(min(max(size // PART, FEWEST), size), number)
    cells = pd.Series(guide.units.cell_of[rows])
    earlier = cells.groupby(cells).cumcount().to_numpy()
    return rows[earlier < room[cells]]


@njit(nogil=True, cache=True)
def _grow(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    cell_of: Integers,
    goal: Goal,
    seeds: Integers,
    room: Integers,
) -> tuple[float, Integers]:
    """Add samples until no cell has room; return the objective and the samples."""
    sums, counts, pairs = core_sums(similarity, classes, blocks, seeds, np.ones(seeds.shape[0]))
    scores = np.empty((sums.shape[0], sums.shape[2]))
    inside = np.zeros(similarity.shape[0], np.bool_)
    inside[seeds] = True
    rows = np.empty(seeds.shape[0] + room.sum(), np.int64)
    rows[: seeds.shape[0]] = seeds
    for step in range(seeds.shape[0], rows.shape[0]):
        best, chosen = np.inf, -1
        for row in range(similarity.shape[0]):
            if inside[row] or room[cell_of[row]] == 0:
                continue
            # The pairs of a sample that enters are counted in both orders.
            more, extra = sums + 2 * pairs.partners[row], counts + 2 * pairs.partner_counts[row]
            value = value_of(more, extra, goal, scores)
            if chosen < 0 or value < best:
                best, chosen = value, row
        sums, counts = sums + 2 * pairs.partners[chosen], counts + 2 * pairs.partner_counts[chosen]
        inside[chosen] = True
        room[cell_of[chosen]] -= 1
        move(pairs, chosen, 1.0)
        rows[step] = chosen
    return value_of(sums, counts, goal, scores), rows
