"""Gaussian-process regressions of every region on every other one, hyper-parameters optimised.

The kernel is constant + noise + (linear or squared-exponential); the logarithms of its three
parameters are optimised by L-BFGS-B from 0 inside ln 1e-5 .. ln 1e5, scikit-learn's defaults.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import exp, log, pi

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics import local_likelihood as local
from sclcs.numerics.arrays import Array
from sclcs.numerics.bounded_minimiser import minimise
from sclcs.numerics.jit import kernel
from sclcs.numerics.smooth_likelihood import MOST_FEATURES, feature_count, smooth_likelihood

__all__ = ["JITTER", "LARGEST_LOGARITHM", "linear_errors", "squared_exponential_errors"]

JITTER = 1e-10
LARGEST_LOGARITHM = log(1e5)
_BOUNDS = np.full(3, LARGEST_LOGARITHM)

Integers = NDArray[np.int64]


def linear_errors(rows: Array) -> Array:
    """Return mean squared errors with the kernel constant + noise + s^2 + x x'.

    The matrix has three eigenvalues: along 1, along x, and the noise, so its likelihood needs
    the correlation of the pair only.
    """
    n_regions, n_times = rows.shape
    products = rows @ rows.T
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
    work = local.local_work(x.size)
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
    x: Array, y: Array, parameters: Array, work: local.LocalWork, gradient: Array
) -> tuple[float, float]:
    constant, white, length = exp(parameters[0]), exp(parameters[1]), exp(parameters[2])
    noise = white + JITTER
    weights, parts = np.empty(x.size), np.empty(7)
    if not local.local_likelihood(x, y, (1.0, length, noise, constant), work, weights, parts):
        gradient[:] = 0.0
        return np.inf, np.nan
    gradient[0] = -0.5 * constant * (parts[local.SUM] ** 2 - parts[local.ONES])
    gradient[1] = -0.5 * white * (parts[local.SQUARES] - parts[local.TRACE])
    gradient[2] = -0.5 * parts[local.LENGTH_SLOPE]
    return parts[local.VALUE], noise * noise * parts[local.SQUARES] / x.size
