"""Likelihood of a Gaussian process whose kernel is smooth on the scale of the data.

exp(-(x - y)^2 / 2 l^2) = sum_k f_k(x) f_k(y) with f_k(x) = exp(-x^2 / 2 l^2) (x/l)^k / sqrt(k!):
a few dozen features f_k give the kernel matrix to the last digit unless l is small. Their products
are moments sum_t exp(-x_t^2/l^2) (x_t/l)^s, and their derivatives by ln l are features again,
sqrt((k+1)(k+2)) f_{k+2} - k f_k, so that a likelihood with its gradient costs one factorisation
of a matrix as large as the number of features.
"""

from __future__ import annotations

from math import exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.bounded_minimiser import minimise
from sclcs.spi.numerics.compiling import Array, kernel, reducing_kernel
from sclcs.spi.numerics.ordered import products_of_rows
from sclcs.spi.numerics.vector import dot, factorise

__all__ = [
    "FIT",
    "JITTER",
    "LARGEST_LOGARITHM",
    "LENGTH_SLOPE",
    "MOST_FEATURES",
    "ONES",
    "SQUARES",
    "SUM",
    "TRACE",
    "VALUE",
    "LocalWork",
    "feature_count",
    "linear_errors",
    "local_likelihood",
    "local_work",
    "smooth_likelihood",
    "squared_exponential_errors",
]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


MOST_FEATURES = 96
_NEGLIGIBLE = 1e-17


@kernel
def feature_count(reach: float) -> int:
    """Return how many features matter if abs(x)/l <= reach; more than MOST_FEATURES if too many."""
    square = reach * reach
    if square > MOST_FEATURES:
        return MOST_FEATURES + 1
    term = exp(-square)
    count = 0
    while count <= MOST_FEATURES and (count < square or term > _NEGLIGIBLE):
        count += 1
        term *= square / count
    return count


@reducing_kernel
def _sums(x: Array, y: Array, length: float, moments: Array, ones: Array, values: Array) -> None:
    """Write the moments, and the products of the features with 1 and with y."""
    n_times, count = x.size, ones.size
    scaled, power, feature = np.empty(n_times), np.empty(n_times), np.empty(n_times)
    for t in range(n_times):
        scaled[t] = x[t] / length
        feature[t] = exp(-0.5 * scaled[t] * scaled[t])
        power[t] = feature[t] * feature[t]
    for s in range(moments.size):
        total = 0.0
        for t in range(n_times):
            total += power[t]
            power[t] *= scaled[t]
        moments[s] = total
    for k in range(count):
        total, with_y = 0.0, 0.0
        inverse = 1.0 / sqrt(k + 1.0)
        for t in range(n_times):
            total += feature[t]
            with_y += feature[t] * y[t]
            feature[t] *= scaled[t] * inverse
        ones[k], values[k] = total, with_y


@kernel
def _gram(moments: Array, ones: Array, constant: float, noise: float, n_times: int) -> Array:
    """Return features' products plus noise I; the constant is feature 0."""
    count = ones.size
    out = np.empty((count + 1, count + 1))
    out[0, 0] = constant * n_times + noise
    scale = np.empty(count)
    scale[0] = 1.0
    for k in range(1, count):
        scale[k] = scale[k - 1] / sqrt(float(k))
    for i in range(count):
        out[i + 1, 0] = sqrt(constant) * ones[i]
        for j in range(i + 1):
            out[i + 1, j + 1] = moments[i + j] * scale[i] * scale[j]
        out[i + 1, i + 1] += noise
    return out


@reducing_kernel
def _invert_factor(factor: Array) -> Array:
    """Return L^-T, row k holding column k of L^-1 (zero before k)."""
    n = factor.shape[0]
    out = np.zeros((n, n))
    for k in range(n):
        row = out[k]
        row[k] = 1.0 / factor[k, k]
        for i in range(k + 1, n):
            row[i] = -dot(factor[i, k:i], row[k:i]) / factor[i, i]
    return out


@kernel
def smooth_likelihood(
    x: Array, y: Array, parameters: Array, jitter: float, count: int, gradient: Array
) -> tuple[float, float]:
    """Return minus the log-likelihood and the mean squared error; fill the gradient.

    Parameters
    ----------
    x, y : array, shape (time,)
        Regressor and response.
    parameters : array, shape (3,)
        Logarithms of the constant, of the noise variance and of the length scale.
    jitter : float
        Added to the noise variance.
    count : int
        Number of features, see `feature_count`.
    gradient : array, shape (3,)
        By the parameters.
    """
    constant, white, length = exp(parameters[0]), exp(parameters[1]), exp(parameters[2])
    noise, n_times = white + jitter, x.size
    moments, ones, values = np.empty(2 * count), np.empty(count), np.empty(count)
    _sums(x, y, length, moments, ones, values)
    factor = _gram(moments, ones, constant, noise, n_times)
    log_determinant = factorise(factor)
    inverse = _invert_factor(factor)  # its rows multiply to the inverse of the gram matrix
    size = count + 1
    target = np.empty(size)
    target[0] = sqrt(constant) * y.sum()
    target[1:] = values
    weights = np.zeros(size)
    for k in range(size):  # L^-T L^-1 target
        half = 0.0
        for i in range(k + 1):
            half += inverse[i, k] * target[i]
        for i in range(k + 1):
            weights[i] += inverse[i, k] * half
    fit = (dot(y, y) - dot(weights, target)) / noise
    squares = (fit - dot(weights, weights)) / noise
    log_determinant += (n_times - size) * log(noise)
    trace = 0.0
    for k in range(size):
        trace += dot(inverse[k, k:], inverse[k, k:])
    gradient[0] = -0.5 * (weights[0] ** 2 - 1.0 + noise * dot(inverse[0], inverse[0]))
    gradient[1] = -0.5 * white * (squares - ((n_times - size) / noise + trace))
    gradient[2] = -_length_slope(weights, inverse, noise)
    value = 0.5 * (fit + log_determinant + n_times * log(2.0 * pi))
    return value, noise * noise * squares / n_times


@kernel
def _length_slope(weights: Array, inverse: Array, noise: float) -> float:
    """Return half the derivative of the log-likelihood by ln l."""
    total = 0.0
    size = weights.size
    for k in range(size - 1):
        own, place = weights[k + 1], k + 1
        total -= k * own * own
        total += k * (1.0 - noise * dot(inverse[place, place:], inverse[place, place:]))
        if place + 2 < size:
            step = sqrt((k + 1.0) * (k + 2.0))
            cross = dot(inverse[place, place + 2 :], inverse[place + 2, place + 2 :])
            total += step * (own * weights[place + 2] + noise * cross)
    return total


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
def local_likelihood(
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
def _fill(
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


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


JITTER = 1e-10
LARGEST_LOGARITHM = log(1e5)
_BOUNDS = np.full(3, LARGEST_LOGARITHM)


def linear_errors(rows: Array) -> Array:
    """Return mean squared errors with the kernel constant + noise + s^2 + x x'.

    The matrix has three eigenvalues: along 1, along x, and the noise, so its likelihood needs
    the correlation of the pair only.
    """
    n_regions, n_times = rows.shape
    # In a fixed order: BLAS rounds by the number of rows, a pair must not know who else is there.
    products = products_of_rows(rows)
    errors = np.empty(n_regions * n_regions)

    def evaluate(points: Array, active: Integers, values: Array, gradients: Array) -> None:
        _linear_likelihoods(products, n_times, points, active, values, gradients, errors)

    points = minimise(evaluate, errors.size, _BOUNDS)
    evaluate(points, np.arange(errors.size), np.empty(errors.size), np.empty_like(points))
    return errors.reshape(n_regions, n_regions)


@kernel
def _linear_likelihoods(
    products: Array,
    n_times: int,
    points: Array,
    active: Integers,
    values: Array,
    gradients: Array,
    errors: Array,
) -> None:
    for pair in active:
        i, j = pair // products.shape[0], pair % products.shape[0]
        constant, white = exp(points[pair, 0]), exp(points[pair, 1])
        offset = exp(2.0 * points[pair, 2])
        noise = white + JITTER
        along_one, along_x = n_times * (constant + offset) + noise, products[i, i] + noise
        explained = products[i, j] ** 2 / products[i, i]
        rest = products[j, j] - explained
        size = explained / along_x**2 + rest / noise**2
        log_determinant = log(along_one) + log(along_x) + (n_times - 2) * log(noise)
        trace = 1.0 / along_one + 1.0 / along_x + (n_times - 2) / noise
        fit = explained / along_x + rest / noise
        values[pair] = 0.5 * (fit + log_determinant + n_times * log(2.0 * pi))
        gradients[pair, 0] = 0.5 * n_times * constant / along_one
        gradients[pair, 1] = 0.5 * white * (trace - size)
        gradients[pair, 2] = n_times * offset / along_one
        errors[pair] = noise * noise * size / n_times


def squared_exponential_errors(rows: Array) -> Array:
    """Return mean squared errors with the kernel constant + noise + exp(-d^2 / 2 l^2)."""
    n_regions = rows.shape[0]
    errors = np.empty((n_regions, n_regions))
    everyone = np.arange(n_regions)
    for region, row in enumerate(rows):
        order = np.argsort(row)
        sorted_rows = np.ascontiguousarray(rows[:, order])
        targets = np.delete(everyone, region)

        def evaluate(
            points: Array,
            active: Integers,
            values: Array,
            gradients: Array,
            x: Array = sorted_rows[region],
            others: Array = sorted_rows[targets],
            out: Array = errors[region],
            places: Integers = targets,
        ) -> None:
            _smooth_or_local(x, others, points, active, values, gradients, out, places)

        points = minimise(evaluate, targets.size, _BOUNDS)
        last = np.arange(targets.size)
        evaluate(points, last, np.empty(targets.size), np.empty_like(points))
    return errors


@kernel
def _smooth_or_local(
    x: Array,
    others: Array,
    points: Array,
    active: Integers,
    values: Array,
    gradients: Array,
    errors: Array,
    places: Integers,
) -> None:
    reach = max(abs(x[0]), abs(x[-1]))
    work = local_work(x.size)
    for pair in active:
        count = feature_count(reach / exp(points[pair, 2]))
        y, point, gradient = others[pair], points[pair], gradients[pair]
        if count <= min(MOST_FEATURES, x.size):
            value, error = smooth_likelihood(x, y, point, JITTER, count, gradient)
        else:
            value, error = _local(x, y, point, work, gradient)
        values[pair], errors[places[pair]] = value, error


@kernel
def _local(
    x: Array, y: Array, parameters: Array, work: LocalWork, gradient: Array
) -> tuple[float, float]:
    constant, white, length = exp(parameters[0]), exp(parameters[1]), exp(parameters[2])
    noise = white + JITTER
    weights, parts = np.empty(x.size), np.empty(7)
    if not local_likelihood(x, y, (1.0, length, noise, constant), work, weights, parts):
        gradient[:] = 0.0
        return np.inf, np.nan
    gradient[0] = -0.5 * constant * (parts[SUM] ** 2 - parts[ONES])
    gradient[1] = -0.5 * white * (parts[SQUARES] - parts[TRACE])
    gradient[2] = -0.5 * parts[LENGTH_SLOPE]
    return parts[VALUE], noise * noise * parts[SQUARES] / x.size
