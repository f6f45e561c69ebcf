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

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = [
    "Constraint",
    "Limits",
    "antidiagonal_band",
    "fill_common_lengths",
    "fill_costs",
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
