"""Additive noise models: does the residual of a regression still depend on the regressor?

The column is regressed on the row by a Gaussian process with kernel c exp(-d^2 / 2 l^2) and no
noise term (jitter 1e-10), c and l optimised; the dependence is Gretton's HSIC with Gaussian
kernels of median width, both variables standardised, on at most 200 evenly spaced time points.

Without a noise term the process interpolates: the optimum has l far below the distances between
values, the residual is proportional to the response, and the result is nearly the HSIC of the two
regions themselves. Only points whose regressors almost coincide are treated differently.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.context import Array
from sclcs.spi.families import _local_likelihood as local
from sclcs.spi.families._bounded_minimiser import Minimiser, advance, new_minimiser, restart
from sclcs.spi.families._gaussian_process import JITTER, LARGEST_LOGARITHM
from sclcs.spi.families._jit import kernel, reducing_kernel

__all__ = ["additive_noise_scores"]

MOST_POINTS = 200


def additive_noise_scores(rows: Array) -> Array:
    """Return the dependence scores of one sample, shape (region, region)."""
    n_times = rows.shape[1]
    kept = np.arange(n_times)
    if n_times > MOST_POINTS:
        kept = np.floor(np.arange(0, n_times, (n_times - 1) / (MOST_POINTS - 1))).astype(np.int64)
    return _scores(np.ascontiguousarray(rows), kept)


@kernel
def _scores(rows: Array, kept: NDArray[np.int64]) -> Array:
    n_regions, n_times = rows.shape
    out = np.full((n_regions, n_regions), np.nan)
    bound = np.full(2, LARGEST_LOGARITHM)
    state = new_minimiser(-bound, bound)
    residual = np.empty(n_times)
    for i in range(n_regions):
        order = np.argsort(rows[i])
        x = rows[i][order]
        centred = _centre(_gram(rows[i], kept))
        for j in range(n_regions):
            if i != j:
                # The residual is jitter times these weights; standardising removes the factor.
                weights = _interpolate(x, rows[j][order], state)
                for t in range(n_times):
                    residual[order[t]] = weights[t]
                score = (_gram(residual, kept) * centred).sum() / kept.size
                out[i, j] = score if np.isfinite(score) else 0.0
    return out


@kernel
def _interpolate(x: Array, y: Array, state: Minimiser) -> Array:
    """Return K^-1 y at the optimal parameters."""
    point, gradient, weights = np.zeros(2), np.empty(2), np.empty(x.size)
    value = _likelihood(x, y, point, gradient, weights)
    done = restart(state, point, value, gradient)
    while not done:
        value = _likelihood(x, y, point, gradient, weights)
        done = advance(state, point, value, gradient)
    _likelihood(x, y, point, gradient, weights)
    return weights


@kernel
def _likelihood(x: Array, y: Array, parameters: Array, gradient: Array, weights: Array) -> float:
    parts = np.empty(7)
    scales = exp(parameters[0]), exp(parameters[1]), JITTER, 0.0
    if not local.local_likelihood(x, y, scales, weights, parts):
        gradient[:] = 0.0
        return np.inf
    noise_share = JITTER * (parts[local.TRACE] - parts[local.SQUARES])
    gradient[0] = -0.5 * (parts[local.FIT] - x.size + noise_share)
    gradient[1] = -0.5 * parts[local.LENGTH_SLOPE]
    return parts[local.VALUE]


@reducing_kernel
def _gram(values: Array, kept: NDArray[np.int64]) -> Array:
    """Return exp(-d^2 / median d^2) of standardised values at some time points."""
    scaled = ((values - values.mean()) / values.std())[kept]
    n = scaled.size
    distances = np.empty(n * (n - 1) // 2)
    count = 0
    for a in range(n):
        for b in range(a):
            square = (scaled[a] - scaled[b]) ** 2
            if square > 0.0:
                distances[count] = square
                count += 1
    width = np.median(distances[:count]) if count > 0 else np.nan
    out = np.empty((n, n))
    for a in range(n):
        out[a, a] = 1.0
        for b in range(a):
            out[a, b] = out[b, a] = exp(-((scaled[a] - scaled[b]) ** 2) / width)
    return out


@kernel
def _centre(gram: Array) -> Array:
    """Remove the means of rows and columns (the gram matrix is symmetric)."""
    n = gram.shape[0]
    means = np.empty(n)
    for a in range(n):
        means[a] = gram[a].mean()
    grand = means.mean()
    out = np.empty_like(gram)
    for a in range(n):
        for b in range(n):
            out[a, b] = gram[a, b] - means[a] - means[b] + grand
    return out
