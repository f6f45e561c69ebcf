"""Compiled building blocks for small dense matrices.

Numba has no register blocking of its own; working on four rows at a time halves the memory
traffic of the inner loops, which is what bounds them at these sizes.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from sclcs.spi.numerics.compiling import Array, fused_kernel, kernel, reducing_kernel
from sclcs.spi.numerics.lanes import (
    Lanes,
    add,
    add_product,
    maximum,
    multiply,
    power_of_two,
    spread,
    subtract,
)

__all__ = [
    "add_four_rows",
    "dot",
    "exp_of_negative",
    "exp_of_negative_lanes",
    "factorise",
    "four_dots",
]


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


_LOWEST = -700.0  # exp of this is 1e-304: as good as zero, and still a normal number
_LOG2_E = 1.4426950408889634
# log(2) in two parts; multiples of the first up to 2**11 are exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this rounds a number to an integer and leaves that integer in the lowest bits.
_ROUNDER = 1.5 * 2.0**52
_BIAS, _MANTISSA_BITS = np.int64(1023), np.int64(52)
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(k) for k in range(3, 14)
)


@fused_kernel
def exp_of_negative(x: float) -> float:
    """Return exp(x) for x <= 0: 2**k times the Taylor polynomial of the rest, |rest| < 0.35."""
    x = max(x, _LOWEST)
    shifted = x * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (0.5 + _C3 * r) * r2
    low += ((_C4 + _C5 * r) + (_C6 + _C7 * r) * r2) * r4
    high = (_C8 + _C9 * r) + (_C10 + _C11 * r) * r2 + (_C12 + _C13 * r) * r4
    power = (np.float64(shifted).view(np.int64) + _BIAS) << _MANTISSA_BITS
    return (low + high * (r4 * r4)) * np.int64(power).view(np.float64)


@kernel
def exp_of_negative_lanes(x: Lanes) -> Lanes:
    """Do the same for eight numbers, in the same order."""
    x = maximum(x, spread(_LOWEST))
    shifted = add_product(spread(_ROUNDER), x, spread(_LOG2_E))
    k = subtract(shifted, spread(_ROUNDER))
    r = add_product(add_product(x, k, spread(-_LN2_HIGH)), k, spread(-_LN2_LOW))
    r2 = multiply(r, r)
    r4 = multiply(r2, r2)
    low = add_product(add(spread(1.0), r), _line(0.5, _C3, r), r2)
    low = add_product(low, add_product(_line(_C4, _C5, r), _line(_C6, _C7, r), r2), r4)
    high = add_product(_line(_C8, _C9, r), _line(_C10, _C11, r), r2)
    high = add_product(high, _line(_C12, _C13, r), r4)
    return multiply(add_product(low, high, multiply(r4, r4)), power_of_two(shifted))


@kernel
def _line(start: float, slope: float, r: Lanes) -> Lanes:
    return add_product(spread(start), spread(slope), r)
