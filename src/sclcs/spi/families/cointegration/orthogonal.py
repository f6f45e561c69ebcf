"""Least squares by modified Gram-Schmidt on the rows of a small array.

Removing each regressor from everything after it leaves the residuals in the last rows. Unlike
normal equations this loses no more digits than the problem itself (Björck 1967).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.vector import dot

__all__ = ["centre", "remove_row", "remove_rows", "squared_sizes"]

_EPS = float(np.finfo(np.float64).eps)


@kernel
def squared_sizes(rows: Array) -> Array:
    """Return the squared norms of rows: what their pivots are compared with later."""
    out = np.empty(rows.shape[0])
    for k in range(rows.shape[0]):
        out[k] = dot(rows[k], rows[k])
    return out


@kernel
def remove_row(rows: Array, sizes: Array, k: int) -> None:
    """Scale row k to norm 1 and remove it from the later rows.

    A row that depends on the earlier ones (its squared norm fell below eps T times `sizes[k]`)
    is set to zero, as a pseudo-inverse would.
    """
    row = rows[k]
    pivot = dot(row, row)
    if not pivot > _EPS * _EPS * row.size * row.size * sizes[k]:
        row[:] = 0.0
        return
    row *= 1.0 / sqrt(pivot)
    for later in range(k + 1, rows.shape[0]):
        share = dot(row, rows[later])
        target = rows[later]
        for t in range(row.size):
            target[t] -= share * row[t]


@kernel
def remove_rows(rows: Array, count: int) -> None:
    """Remove the first `count` rows from the later ones, one after the other."""
    sizes = squared_sizes(rows)
    for k in range(count):
        remove_row(rows, sizes, k)


@kernel
def centre(row: Array) -> None:
    """Remove the mean in place."""
    row -= row.mean()
