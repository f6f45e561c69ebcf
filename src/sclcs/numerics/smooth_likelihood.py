"""Likelihood of a Gaussian process whose kernel is smooth on the scale of the data.

exp(-(x - y)^2 / 2 l^2) = sum_k f_k(x) f_k(y) with f_k(x) = exp(-x^2 / 2 l^2) (x/l)^k / sqrt(k!):
a few dozen features f_k give the kernel matrix to the last digit unless l is small. Their products
are moments sum_t exp(-x_t^2/l^2) (x_t/l)^s, and their derivatives by ln l are features again,
sqrt((k+1)(k+2)) f_{k+2} - k f_k, so that a likelihood with its gradient costs one factorisation
of a matrix as large as the number of features.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import exp, log, pi, sqrt

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel, reducing_kernel
from sclcs.numerics.vector import dot, factorise

__all__ = ["MOST_FEATURES", "feature_count", "smooth_likelihood"]

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
