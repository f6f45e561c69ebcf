"""Compiled building blocks for small dense matrices.

Numba has no register blocking of its own; working on four rows at a time halves the memory
traffic of the inner loops, which is what bounds them at these sizes.
"""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import reducing_kernel

__all__ = ["add_four_rows", "dot", "factorise", "four_dots"]

_EPS = np.finfo(np.float64).eps


@reducing_kernel
def dot(x: Array, y: Array) -> float:
    """Return the dot product of two rows."""
    total = 0.0
    for t in range(x.size):
        total += x[t] * y[t]
    return total


@reducing_kernel
def four_dots(x: Array, rows: Array, first: int) -> tuple[float, float, float, float]:
    """Return the dot products of x with the starts of four consecutive rows."""
    a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
    ta = tb = tc = td = 0.0
    for t in range(x.size):
        ta += x[t] * a[t]
        tb += x[t] * b[t]
        tc += x[t] * c[t]
        td += x[t] * d[t]
    return ta, tb, tc, td


@reducing_kernel
def add_four_rows(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    out: Array, rows: Array, first: int, fa: float, fb: float, fc: float, fd: float
) -> None:
    """Add four consecutive rows, each times its factor."""
    a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
    for t in range(out.size):
        out[t] += fa * a[t] + fb * b[t] + fc * c[t] + fd * d[t]


@reducing_kernel
def factorise(matrix: Array) -> float:
    """Replace a lower triangle by its Cholesky factor; return log det, -inf if singular."""
    n = matrix.shape[0]
    log_determinant = 0.0
    for j in range(n):
        row = matrix[j, :j]
        pivot = matrix[j, j] - dot(row, row)
        if not pivot > n * _EPS * matrix[j, j]:
            return -np.inf
        log_determinant += np.log(pivot)
        matrix[j, j] = np.sqrt(pivot)
        scale = 1.0 / matrix[j, j]
        i = j + 1
        while i + 4 <= n:
            a, b, c, d = four_dots(row, matrix, i)
            matrix[i, j] = (matrix[i, j] - a) * scale
            matrix[i + 1, j] = (matrix[i + 1, j] - b) * scale
            matrix[i + 2, j] = (matrix[i + 2, j] - c) * scale
            matrix[i + 3, j] = (matrix[i + 3, j] - d) * scale
            i += 4
        while i < n:
            matrix[i, j] = (matrix[i, j] - dot(row, matrix[i, :j])) * scale
            i += 1
    return log_determinant
