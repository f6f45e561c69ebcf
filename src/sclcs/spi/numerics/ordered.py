"""Linear algebra in a fixed order of operations: the same digits on every processor.

BLAS chooses its kernels, and with them the order of sums, by the processor; so does a compiler
that may re-associate them or fuse products with sums. Where an iteration magnifies the last digit,
or a comparison depends on it, everything before is computed here. Sums have eight running parts,
written out, which compilers can keep in vector registers without changing the result.
"""

from __future__ import annotations

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel

__all__ = [
    "add_four_rows",
    "add_square_distances",
    "dot",
    "factorise",
    "inverse",
    "products_of_rows",
]

_EPS = np.finfo(np.float64).eps
_PARTS = 8


@kernel
def dot(x: Array, y: Array) -> float:
    """Return the dot product of two rows."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = x.size - x.size % _PARTS
    for t in range(0, whole, _PARTS):
        s0 += x[t] * y[t]
        s1 += x[t + 1] * y[t + 1]
        s2 += x[t + 2] * y[t + 2]
        s3 += x[t + 3] * y[t + 3]
        s4 += x[t + 4] * y[t + 4]
        s5 += x[t + 5] * y[t + 5]
        s6 += x[t + 6] * y[t + 6]
        s7 += x[t + 7] * y[t + 7]
    total = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
    for t in range(whole, x.size):
        total += x[t] * y[t]
    return total


@kernel
def add_four_rows(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    out: Array, rows: Array, first: int, fa: float, fb: float, fc: float, fd: float
) -> None:
    """Add four consecutive rows, each times its factor."""
    a, b, c, d = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
    for t in range(out.size):
        out[t] += (fa * a[t] + fb * b[t]) + (fc * c[t] + fd * d[t])


@kernel
def products_of_rows(rows: Array) -> Array:
    """Return the dot products of all pairs of rows, exactly symmetric."""
    n_rows, n_columns = rows.shape
    columns = np.ascontiguousarray(rows.T)
    out = np.zeros((n_rows, n_rows))
    for t in range(n_columns):
        column = columns[t]
        for i in range(n_rows):
            value = column[i]
            for j in range(i + 1):
                out[i, j] += value * column[j]
    for i in range(n_rows):
        for j in range(i):
            out[j, i] = out[i, j]
    return out


@kernel
def add_square_distances(columns: Array, first: int, last: int, out: Array) -> None:
    """Add the squared differences in some coordinates of all pairs of points, i > j.

    Sums of squared differences: points that are equal are at distance 0, and equally far from any
    other, to the last digit. Coordinates are added one after the other, however they are shared
    between calls; four at a time, so that a sum is read and written once for all four.

    Parameters
    ----------
    columns : array, shape (coordinate, point)
        Coordinates of all points.
    first, last : int
        Coordinates to add, the last one excluded.
    out : array, shape (point, point)
        Its lower triangle is added to.
    """
    whole = last - (last - first) % 4
    for t in range(first, whole, 4):
        a, b, c, d = columns[t], columns[t + 1], columns[t + 2], columns[t + 3]
        for i in range(out.shape[0]):
            row, va, vb, vc, vd = out[i], a[i], b[i], c[i], d[i]
            for j in range(i):
                da, db, dc, dd = va - a[j], vb - b[j], vc - c[j], vd - d[j]
                row[j] = (((row[j] + da * da) + db * db) + dc * dc) + dd * dd
    for t in range(whole, last):
        column = columns[t]
        for i in range(out.shape[0]):
            row, value = out[i], column[i]
            for j in range(i):
                difference = value - column[j]
                row[j] += difference * difference


@kernel
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
        for i in range(j + 1, n):
            matrix[i, j] = (matrix[i, j] - dot(row, matrix[i, :j])) * scale
    return log_determinant


@kernel
def inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix, exactly symmetric; NaN if it is not."""
    n = matrix.shape[0]
    factor = matrix.copy()
    if not factorise(factor) > -np.inf:
        return np.full((n, n), np.nan)
    # The rows of `columns` are the columns of the factor's inverse, which start at the diagonal.
    columns = np.zeros((n, n))
    for k in range(n):
        column = columns[k]
        column[k] = 1.0 / factor[k, k]
        for i in range(k + 1, n):
            column[i] = -dot(factor[i, k:i], column[k:i]) / factor[i, i]
    out = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = dot(columns[i, i:], columns[j, i:])
    return out
