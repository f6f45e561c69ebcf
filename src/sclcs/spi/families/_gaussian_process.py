"""Gaussian-process regressions of every region on every other one, hyper-parameters optimised.

The kernel is constant + noise + (linear or squared-exponential); the logarithms of its three
parameters are optimised by L-BFGS-B from 0 inside ln 1e-5 .. ln 1e5, scikit-learn's defaults.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import exp, log, pi

import numpy as np

from sclcs.spi.context import Array
from sclcs.spi.families import _local_likelihood as local
from sclcs.spi.families._bounded_minimiser import Minimiser, advance, new_minimiser, restart
from sclcs.spi.families._jit import kernel
from sclcs.spi.families._smooth_likelihood import MOST_FEATURES, feature_count, smooth_likelihood

__all__ = ["JITTER", "LARGEST_LOGARITHM", "linear_errors", "squared_exponential_errors"]

JITTER = 1e-10
LARGEST_LOGARITHM = log(1e5)


@kernel
def linear_errors(rows: Array) -> Array:
    """Return mean squared errors with the kernel constant + noise + s^2 + x x'.

    The matrix has three eigenvalues: along 1, along x, and the noise, so its likelihood needs
    the correlation of the pair only.
    """
    n_regions, n_times = rows.shape
    out = np.full((n_regions, n_regions), np.nan)
    bound = np.full(3, LARGEST_LOGARITHM)
    state = new_minimiser(-bound, bound)
    products = rows @ rows.T
    for i in range(n_regions):
        for j in range(n_regions):
            if i != j:
                squares = products[i, i], products[j, j]
                out[i, j] = _linear_error(squares, products[i, j], n_times, state)
    return out


@kernel
def _linear_error(
    squares: tuple[float, float], product: float, n_times: int, state: Minimiser
) -> float:
    x, gradient = np.zeros(3), np.empty(3)
    value, error = _linear_likelihood(x, squares, product, n_times, gradient)
    done = restart(state, x, value, gradient)
    while not done:
        value, error = _linear_likelihood(x, squares, product, n_times, gradient)
        done = advance(state, x, value, gradient)
    return _linear_likelihood(x, squares, product, n_times, gradient)[1]


@kernel
def _linear_likelihood(
    parameters: Array, squares: tuple[float, float], product: float, n_times: int, gradient: Array
) -> tuple[float, float]:
    constant, white, offset = exp(parameters[0]), exp(parameters[1]), exp(2.0 * parameters[2])
    noise = white + JITTER
    along_one, along_x = n_times * (constant + offset) + noise, squares[0] + noise
    explained = product * product / squares[0]
    rest = squares[1] - explained
    fit = explained / along_x + rest / noise
    size = explained / along_x**2 + rest / noise**2
    log_determinant = log(along_one) + log(along_x) + (n_times - 2) * log(noise)
    trace = 1.0 / along_one + 1.0 / along_x + (n_times - 2) / noise
    gradient[0] = 0.5 * n_times * constant / along_one
    gradient[1] = 0.5 * white * (trace - size)
    gradient[2] = n_times * offset / along_one
    value = 0.5 * (fit + log_determinant + n_times * log(2.0 * pi))
    return value, noise * noise * size / n_times


@kernel
def squared_exponential_errors(rows: Array) -> Array:
    """Return mean squared errors with the kernel constant + noise + exp(-d^2 / 2 l^2)."""
    n_regions = rows.shape[0]
    out = np.full((n_regions, n_regions), np.nan)
    bound = np.full(3, LARGEST_LOGARITHM)
    state = new_minimiser(-bound, bound)
    for i in range(n_regions):
        order = np.argsort(rows[i])
        x = rows[i][order]
        for j in range(n_regions):
            if i != j:
                out[i, j] = _squared_exponential_error(x, rows[j][order], state)
    return out


@kernel
def _squared_exponential_error(x: Array, y: Array, state: Minimiser) -> float:
    point, gradient = np.zeros(3), np.empty(3)
    value, error = _squared_exponential_likelihood(x, y, point, gradient)
    done = restart(state, point, value, gradient)
    while not done:
        value, error = _squared_exponential_likelihood(x, y, point, gradient)
        done = advance(state, point, value, gradient)
    return _squared_exponential_likelihood(x, y, point, gradient)[1]


@kernel
def _squared_exponential_likelihood(
    x: Array, y: Array, parameters: Array, gradient: Array
) -> tuple[float, float]:
    constant, white, length = exp(parameters[0]), exp(parameters[1]), exp(parameters[2])
    count = feature_count(max(abs(x[0]), abs(x[-1])) / length)
    if count <= min(MOST_FEATURES, x.size):
        return smooth_likelihood(x, y, parameters, JITTER, count, gradient)
    noise = white + JITTER
    weights, parts = np.empty(x.size), np.empty(7)
    if not local.local_likelihood(x, y, (1.0, length, noise, constant), weights, parts):
        gradient[:] = 0.0
        return np.inf, np.nan
    gradient[0] = -0.5 * constant * (parts[local.SUM] ** 2 - parts[local.ONES])
    gradient[1] = -0.5 * white * (parts[local.SQUARES] - parts[local.TRACE])
    gradient[2] = -0.5 * parts[local.LENGTH_SLOPE]
    return parts[local.VALUE], noise * noise * parts[local.SQUARES] / x.size
