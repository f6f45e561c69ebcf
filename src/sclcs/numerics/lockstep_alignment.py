"""Dynamic time warping of eight pairs of series in lock step, one pair in each lane.

A cell waits for the cell before it, so a table alone has to be filled along antidiagonals, short
ones where only a band of cells matters. Eight tables side by side are filled row by row: two rows
at a time, the second one cell behind the first, so that neither waits. Only the costs of the row
before are kept and, for every cell, from where its best path comes: two bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.lanes import (
    WIDTH,
    Lanes,
    add,
    load,
    minimum,
    multiply,
    not_above,
    spread,
    store,
    subtract,
)

__all__ = ["Moves", "align_below", "came_from", "no_moves"]

Moves = NDArray[np.uint16]


def no_moves(n_times: int) -> Moves:
    """Allocate what `align_below` writes besides costs; a column before the first one is spare."""
    return np.zeros((n_times, n_times + 1), dtype=np.uint16)


@kernel
def align_below(x: Array, y: Array, limits: Array, row: Array, moves: Moves) -> None:
    """Find the best path of every lane, if it costs no more than the lane's limit.

    Costs never fall along a path, so the best one has no cell above its limit: rows begin and end
    at the first and the last cell that is below the limit in any lane. Cells that are left out
    count as infinite; the best path and its cost are the same to the last digit.

    Parameters
    ----------
    x, y : array, shape (time, lane)
        The two series of every lane.
    limits : array, shape (1, lane)
        The cost of any path, or a little more; negative for a lane that is not used.
    row : array, shape (time + 1, lane)
        The costs of the last row are left here, that of the best path at the end.
    moves : array
        From `no_moves`; read by `came_from`.
    """
    n = x.shape[0]
    limit = load(limits, 0)
    for t in range(1, n + 1):
        store(row, t, spread(np.inf))
    store(row, 0, spread(0.0))
    # The cells below the limit of the row before: first and one after the last.
    low, high = 0, 0
    if n % 2 == 1:
        high = _fill_first_row(x, y, limit, row, moves)
    for s in range(n % 2, n, 2):
        high = _fill_two_rows(x, y, s, low, high, limit, row, moves)
        while high > low and not_above(load(row, high), limit) == 0:
            store(row, high, spread(np.inf))
            high -= 1
        while low < high and not_above(load(row, low + 1), limit) == 0:
            low += 1


@kernel
def _fill_first_row(x: Array, y: Array, limit: Lanes, row: Array, moves: Moves) -> int:
    """Add up costs; return where they exceed the limit."""
    left, t = spread(0.0), 0
    while t < y.shape[0] and not_above(left, limit) != 0:
        left = _cost(load(x, 0), load(y, t), left)
        store(row, t + 1, left)
        moves[0, t + 1] = 0
        t += 1
    store(row, 0, spread(np.inf))
    return t


@kernel
def _fill_two_rows(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    x: Array, y: Array, s: int, low: int, high: int, limit: Lanes, row: Array, moves: Moves
) -> int:
    """Replace the row before by the second of two rows; return where that one ends."""
    n = y.shape[0]
    a, b = load(x, s), load(x, s + 1)
    # Of the row before, of the first row, and of the second row, which is one cell behind.
    diagonal = load(row, low)
    left = corner = below = spread(np.inf)
    target, t = a, low
    # Further than one cell after the row before, costs come from the left or from the first row.
    while t < n and (
        t <= high
        or (not_above(left, limit) | not_above(corner, limit) | not_above(below, limit)) != 0
    ):
        nearest = minimum(minimum(left, corner), below)
        moves[s + 1, t] = not_above(corner, nearest) | not_above(left, below) << WIDTH
        below = _cost(b, target, nearest)
        store(row, t, below)
        up, target = load(row, t + 1), load(y, t)
        nearest = minimum(minimum(up, diagonal), left)
        moves[s, t + 1] = not_above(diagonal, nearest) | not_above(up, left) << WIDTH
        corner, left = left, _cost(a, target, nearest)
        diagonal = up
        t += 1
    nearest = minimum(minimum(left, corner), below)
    moves[s + 1, t] = not_above(corner, nearest) | not_above(left, below) << WIDTH
    store(row, t, _cost(b, target, nearest))
    return t


@kernel
def _cost(a: Lanes, b: Lanes, before: Lanes) -> Lanes:
    difference = subtract(a, b)
    return add(multiply(difference, difference), before)


@kernel
def came_from(moves: Moves, lane: int, s: int, t: int) -> tuple[int, int]:
    """Return the cell before (s, t) on its best path; of equally good ones, the diagonal one."""
    move = int(moves[s, t + 1]) >> lane
    diagonal, up = move & 1, move >> WIDTH & 1
    return s - (diagonal | up), t - (diagonal | 1 - up)
