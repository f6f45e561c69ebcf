"""Additive noise models: how much the residual of a regression depends on its regressor.

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

from sclcs.numerics import local_likelihood as local
from sclcs.numerics.arrays import Array
from sclcs.numerics.bounded_minimiser import minimise
from sclcs.numerics.gaussian_process import JITTER, LARGEST_LOGARITHM
from sclcs.numerics.jit import kernel

__all__ = ["additive_noise_scores"]

MOST_POINTS = 200

Integers = NDArray[np.int64]


def additive_noise_scores(rows: Array) -> Array:
    """Return the dependence scores of one sample, shape (region, region)."""
    n_regions, n_times = rows.shape
    kept = np.arange(n_times)
    if n_times > MOST_POINTS:
        kept = np.floor(np.arange(0, n_times, (n_times - 1) / (MOST_POINTS - 1))).astype(np.int64)
    out = np.full((n_regions, n_regions), np.nan)
    for region in range(n_regions):
        targets = np.delete(np.arange(n_regions), region)
        # The residuals are jitter times these; standardising removes the factor.
        weights = _interpolations(rows[region], rows[targets])
        centred = _centre(_gram(_standardised(rows[region : region + 1])[0, kept]))
        residuals = np.ascontiguousarray(_standardised(weights)[:, kept])
        out[region, targets] = _dependences(residuals, centred)
    return np.where(np.isfinite(out), out, 0.0)


def _standardised(rows: Array) -> Array:
    centred = rows - rows.mean(axis=1, keepdims=True)
    scaled: Array = centred / centred.std(axis=1, keepdims=True)
    return scaled


def _interpolations(row: Array, others: Array) -> Array:
    """Return K^-1 y at the optimal parameters for every y of `others`, in order of time."""
    order = np.argsort(row)
    x, ys = row[order], np.ascontiguousarray(others[:, order])
    weights = np.empty_like(ys)

    def evaluate(points: Array, active: Integers, values: Array, gradients: Array) -> None:
        _likelihoods(x, ys, points, active, values, gradients, weights)

    points = minimise(evaluate, len(ys), np.full(2, LARGEST_LOGARITHM))
    evaluate(points, np.arange(len(ys)), np.empty(len(ys)), np.empty_like(points))
    return weights[:, np.argsort(order)]


@kernel
def _likelihoods(
    x: Array,
    ys: Array,
    points: Array,
    active: Integers,
    values: Array,
    gradients: Array,
    weights: Array,
) -> None:
    parts = np.empty(7)
    for pair in active:
        scales = exp(points[pair, 0]), exp(points[pair, 1]), JITTER, 0.0
        if local.local_likelihood(x, ys[pair], scales, weights[pair], parts):
            noise_share = JITTER * (parts[local.TRACE] - parts[local.SQUARES])
            gradients[pair, 0] = -0.5 * (parts[local.FIT] - x.size + noise_share)
            gradients[pair, 1] = -0.5 * parts[local.LENGTH_SLOPE]
            values[pair] = parts[local.VALUE]
        else:
            gradients[pair] = 0.0
            values[pair] = np.inf


def _dependences(residuals: Array, centred: Array) -> Array:
    scores = [float((_gram(row) * centred).sum()) / row.size for row in residuals]
    return np.array(scores)


def _gram(scaled: Array) -> Array:
    """Return exp(-d^2 / median d^2) of standardised values."""
    distances = np.subtract.outer(scaled, scaled) ** 2
    upper = distances[np.triu_indices(scaled.size, 1)]
    positive = upper[upper > 0.0]
    if not positive.size:
        return np.full_like(distances, np.nan)
    gram: Array = np.exp(-distances / np.median(positive))
    return gram


def _centre(gram: Array) -> Array:
    """Remove the means of rows and columns."""
    means = gram.mean(axis=0)
    centred: Array = gram - means - means[:, np.newaxis] + means.mean()
    return centred
