"""Likelihood of a Gaussian process whose kernel is narrow: only near neighbours correlate.

With the points sorted, the kernel matrix is zero (up to 1e-18) outside a skyline, and so is its
Cholesky factor; the gradient needs the inverse inside the skyline only, which follows backwards
from the factor (Takahashi 1973). A wide kernel is covered too: its skyline is everything.
"""

from __future__ import annotations

from math import exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel, reducing_kernel
from sclcs.numerics.vector import dot

__all__ = [
    "FIT",
    "LENGTH_SLOPE",
    "ONES",
    "SQUARES",
    "SUM",
    "TRACE",
    "VALUE",
    "LocalWork",
    "local_likelihood",
    "local_work",
]

REACH = 9.1  # in length scales: exp(-9.1^2 / 2) = 1e-18
# Where nobody is that near, the slope is tiny but not zero, and an optimiser at a bound asks for
# its sign: then everything counts that is not zero in floating point, exp(-38.7^2 / 2).
FARTHEST_REACH = 38.7
VALUE, FIT, SQUARES, TRACE, SUM, ONES, LENGTH_SLOPE = range(7)

Integers = NDArray[np.int64]


class LocalWork(NamedTuple):
    """Memory for the processes of one regressor: nothing outside of the skyline is ever read.

    ``numbers`` are the four scales that the tables belong to, log det K, tr K^-1 and tr(K^-1 D);
    they do not depend on the response, and stay for the next one with the same scales.
    """

    matrix: Array
    slopes: Array
    inverse: Array
    first: Integers
    numbers: Array


@kernel
def local_work(n: int) -> LocalWork:
    """Allocate memory for a regressor of n points."""
    tables = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    return LocalWork(*tables, np.empty(n, dtype=np.int64), np.full(7, np.nan))


@kernel
def local_likelihood(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    x: Array,
    y: Array,
    scales: tuple[float, float, float, float],
    work: LocalWork,
    weights: Array,
    parts: Array,
) -> bool:
    """Evaluate the process with kernel scale exp(-d^2 / 2 l^2) + constant + noise [d = 0].

    Parameters
    ----------
    x, y : array, shape (time,)
        Regressor, ascending, and response.
    scales : tuple of float
        Scale, length l, noise, constant.
    work : LocalWork
        Of this regressor; responses with the same scales one after the other share the factor.
    weights : array, shape (time,)
        Filled with a = K^-1 y.
    parts : array, shape (7,)
        Filled with minus the log-likelihood, y.a, a.a, tr K^-1, 1.a, 1.K^-1 1 and
        a.D a - tr(K^-1 D), D the derivative of K by ln l.

    Returns
    -------
    bool
        False if the matrix is not positive definite.
    """
    constant = scales[3]
    n = x.size
    _prepare(x, scales, work)
    matrix, slopes, first = work.matrix, work.slopes, work.first
    log_determinant, trace, with_slopes = work.numbers[4:]
    if not np.isfinite(log_determinant):
        return False
    _solve(matrix, first, y, weights)
    flat, share = np.zeros(n), 0.0
    if constant > 0.0:  # one more rank, by Sherman and Morrison
        _solve(matrix, first, np.ones(n), flat)
        share = constant / (1.0 + constant * flat.sum())
        log_determinant += log(1.0 + constant * flat.sum())
        weights -= share * dot(flat, y) * flat
    fit = dot(y, weights)
    parts[VALUE] = 0.5 * (fit + log_determinant + n * log(2.0 * pi))
    parts[FIT] = fit
    parts[SQUARES] = dot(weights, weights)
    parts[TRACE] = trace - share * dot(flat, flat)
    parts[SUM] = weights.sum()
    parts[ONES] = flat.sum() - share * flat.sum() ** 2
    parts[LENGTH_SLOPE] = (
        _quadratic(slopes, first, weights) - with_slopes + share * _quadratic(slopes, first, flat)
    )
    return True


@kernel
def _prepare(x: Array, scales: tuple[float, float, float, float], work: LocalWork) -> None:
    """Fill in all that does not depend on the response, unless it is there."""
    scale, length, noise, _ = scales
    numbers, first = work.numbers, work.first
    if numbers[0] == scale and numbers[1] == length and numbers[2] == noise:
        return
    numbers[0], numbers[1], numbers[2] = scale, length, noise
    _skyline(x, REACH * length, first)
    if (first == np.arange(x.size)).all():
        _skyline(x, FARTHEST_REACH * length, first)
    _fill(x, first, scale, length, noise, work.matrix, work.slopes)
    numbers[4] = _factorise(work.matrix, first)
    if np.isfinite(numbers[4]):
        _select_inverse(work.matrix, first, work.inverse)
        numbers[5], numbers[6] = _traces(work.inverse, work.slopes, first)


@kernel
def _skyline(x: Array, reach: float, first: Integers) -> None:
    """Write, for each point, the first one within reach."""
    start = 0
    for i in range(x.size):
        while x[i] - x[start] > reach:
            start += 1
        first[i] = start


@kernel
def _fill(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    x: Array,
    first: Integers,
    scale: float,
    length: float,
    noise: float,
    matrix: Array,
    slopes: Array,
) -> None:
    for i in range(x.size):
        for j in range(first[i], i):
            distance = ((x[i] - x[j]) / length) ** 2
            matrix[i, j] = scale * exp(-0.5 * distance)
            slopes[i, j] = matrix[i, j] * distance
        matrix[i, i] = scale + noise


@reducing_kernel
def _factorise(matrix: Array, first: Integers) -> float:
    """Replace the skyline by its Cholesky factor; return log det, -inf if there is none."""
    total = 0.0
    for i in range(matrix.shape[0]):
        start = first[i]
        row = matrix[i]
        for j in range(start, i):
            row[j] = (row[j] - dot(row[start:j], matrix[j, start:j])) / matrix[j, j]
        pivot = row[i] - dot(row[start:i], row[start:i])
        if not pivot > 0.0:
            return -np.inf
        row[i] = sqrt(pivot)
        total += log(pivot)
    return total


@kernel
def _solve(factor: Array, first: Integers, right: Array, out: Array) -> None:
    n = right.size
    for i in range(n):
        start = first[i]
        out[i] = (right[i] - dot(factor[i, start:i], out[start:i])) / factor[i, i]
    for i in range(n - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(first[i], i):
            out[j] -= factor[i, j] * out[i]


@kernel
def _select_inverse(factor: Array, first: Integers, inverse: Array) -> None:
    """Write the inverse inside the skyline, both triangles."""
    n = first.size
    column = np.empty(n)
    last = n - 1
    for j in range(n - 1, -1, -1):
        while first[last] > j:
            last -= 1
        for k in range(j + 1, last + 1):
            column[k] = factor[k, j]
        for i in range(last, j, -1):
            value = -dot(column[j + 1 : last + 1], inverse[i, j + 1 : last + 1]) / factor[j, j]
            inverse[i, j] = inverse[j, i] = value
        own = dot(column[j + 1 : last + 1], inverse[j, j + 1 : last + 1])
        inverse[j, j] = (1.0 / factor[j, j] - own) / factor[j, j]


@kernel
def _traces(inverse: Array, slopes: Array, first: Integers) -> tuple[float, float]:
    trace = product = 0.0
    for i in range(first.size):
        trace += inverse[i, i]
        product += 2.0 * dot(inverse[i, first[i] : i], slopes[i, first[i] : i])
    return trace, product


@kernel
def _quadratic(slopes: Array, first: Integers, vector: Array) -> float:
    total = 0.0
    for i in range(first.size):
        total += 2.0 * vector[i] * dot(slopes[i, first[i] : i], vector[first[i] : i])
    return total
