"""Tables of dynamic programming over two series, filled along their antidiagonals.

A cell (s, t) compares x_s with y_t and depends on its left, upper and diagonal neighbours. Cells
of one antidiagonal s + t = k do not depend on each other, so that they are computed side by side
in vector registers; a row of a table here is an antidiagonal, and its column s + 1 is the
cell (s, k - s). Two rows before the first and a column before s = 0 stand for the outside.

A band keeps, on every antidiagonal, the cells ``first[k] <= s <= last[k]``. It is enough to write
the two cells beside these: rows are only read there, because bands grow by one cell at a time.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import ZERO, Array, kernel
from sclcs.spi.numerics.lanes import (
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

__all__ = [
    "Constraint",
    "Limits",
    "Moves",
    "align_below",
    "antidiagonal_band",
    "came_from",
    "fill_common_lengths",
    "fill_costs",
    "no_moves",
    "table_shape",
]


Constraint = Literal["none", "itakura", "sakoe-chiba"]
Limits = NDArray[np.int64]

_ITAKURA_SLOPE = 2
_SAKOE_CHIBA_RADIUS = 1


def antidiagonal_band(constraint: Constraint, n_times: int) -> tuple[Limits, Limits]:
    """Return the first and the last s of every antidiagonal that the constraint allows.

    The Itakura parallelogram has the slopes 1/2 and 2; the Sakoe-Chiba band has radius one.
    """
    k = np.arange(2 * n_times - 1)
    end = n_times - 1
    first, last = np.maximum(0, k - end), np.minimum(k, end)
    if constraint == "itakura":
        # s / 2 <= t <= 2 s, and the same seen from the other end, with t = k - s.
        first = -(-np.maximum(k, _ITAKURA_SLOPE * k - end) // (1 + _ITAKURA_SLOPE))
        last = np.minimum(_ITAKURA_SLOPE * k, k + end) // (1 + _ITAKURA_SLOPE)
    elif constraint == "sakoe-chiba":
        first = np.maximum(first, -((_SAKOE_CHIBA_RADIUS - k) // 2))
        last = np.minimum(last, (k + _SAKOE_CHIBA_RADIUS) // 2)
    return first.astype(np.int64), last.astype(np.int64)


def table_shape(n_times: int, *, whole: bool) -> tuple[int, int]:
    """Return the shape of a whole table, or of one that only keeps the last three rows."""
    return (2 * n_times + 1 if whole else 3, n_times + 2)


@kernel
def fill_costs(x: Array, reversed_y: Array, first: Limits, last: Limits, table: Array) -> float:
    """Fill in the cost of the best path to every cell: squared differences along it.

    ``table`` has one of the shapes of `table_shape`. Returns the cost of the last cell.
    """
    n, n_rows = x.size, table.shape[0]
    for c in range(n + 2):
        table[0, c] = table[1, c] = np.inf
    table[0, 0] = 0.0
    for k in range(2 * n - 1):
        low, high = first[k], last[k] + 1
        row = table[(k + 2) % n_rows]
        row[low] = row[high + 1] = np.inf
        cells = row[low + 1 : high + 1]
        before, diagonal = table[(k + 1) % n_rows], table[k % n_rows][low:high]
        up, left = before[low:high], before[low + 1 : high + 1]
        a, b = x[low:high], reversed_y[n - 1 - k + low : n - 1 - k + high]
        for c in range(high - low):
            difference = a[c] - b[c]
            nearer = min(up[c], left[c])
            cells[c] = difference * difference + min(nearer, diagonal[c])
    return float(table[2 * n % n_rows, n])


@kernel
def fill_common_lengths(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    x: Array, reversed_y: Array, tolerance: float, first: Limits, last: Limits, table: Array
) -> float:
    """Fill in the longest common subsequence up to every cell, zero outside the band.

    Values match that are no further apart than the tolerance. Returns the last cell.
    """
    n, n_rows = x.size, table.shape[0]
    for c in range(n + 2):
        table[0, c] = table[1, c] = 0.0
    for k in range(2 * n - 1):
        low, high = first[k], last[k] + 1
        row = table[(k + 2) % n_rows]
        row[low] = row[high + 1] = 0.0
        cells = row[low + 1 : high + 1]
        before, diagonal = table[(k + 1) % n_rows], table[k % n_rows][low:high]
        up, left = before[low:high], before[low + 1 : high + 1]
        a, b = x[low:high], reversed_y[n - 1 - k + low : n - 1 - k + high]
        for c in range(high - low):
            longer = max(up[c], left[c])
            cells[c] = diagonal[c] + 1.0 if abs(a[c] - b[c]) <= tolerance else longer
    return float(table[2 * n % n_rows, n])


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
    low = high = ZERO
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
