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
from sclcs.numerics.exponential import exp_of_negative
from sclcs.numerics.gaussian_process import JITTER, LARGEST_LOGARITHM
from sclcs.numerics.jit import kernel, reducing_kernel

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
        centred = _centre(_standardised(rows[region : region + 1])[0, kept])
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
    # In one piece: numpy would sum the rows of a transposed array in an order that depends on how
    # many there are.
    return np.ascontiguousarray(weights[:, np.argsort(order)])


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
    parts, work = np.empty(7), local.local_work(x.size)
    for pair in active:
        scales = exp(points[pair, 0]), exp(points[pair, 1]), JITTER, 0.0
        if local.local_likelihood(x, ys[pair], scales, work, weights[pair], parts):
            noise_share = JITTER * (parts[local.TRACE] - parts[local.SQUARES])
            gradients[pair, 0] = -0.5 * (parts[local.FIT] - x.size + noise_share)
            gradients[pair, 1] = -0.5 * parts[local.LENGTH_SLOPE]
            values[pair] = parts[local.VALUE]
        else:
            gradients[pair] = 0.0
            values[pair] = np.inf


def _dependences(residuals: Array, centred: Array) -> Array:
    """Return the dependence of every residual on a regressor with this centred gram matrix."""
    n = residuals.shape[1]
    distances = np.empty(n * (n - 1) // 2)
    scores = []
    for row in residuals:
        _square_distances(row, distances)
        scores.append(_sum_of_products(distances, _width(distances), centred) / n)
    return np.array(scores)


@kernel
def _square_distances(values: Array, out: Array) -> None:
    """Write the squared distances of all pairs of points, row by row below the diagonal."""
    place = 0
    for i in range(values.size):
        for j in range(i):
            out[place + j] = (values[i] - values[j]) ** 2
        place += i


def _width(squares: Array) -> float:
    """Return the median squared distance of points that differ; NaN if none do."""
    positive = squares if squares.min() > 0.0 else squares[squares > 0.0]
    return float(np.median(positive)) if positive.size else np.nan


@reducing_kernel
def _sum_of_products(distances: Array, width: float, centred: Array) -> float:
    """Sum the products of exp(-d^2 / width) and a symmetric matrix over all pairs of points."""
    total = 0.0
    scale, place = -1.0 / width, 0
    for i in range(centred.shape[0]):
        row, squares = centred[i], distances[place : place + i]
        for j in range(i):
            total += 2.0 * row[j] * exp_of_negative(scale * squares[j])
        total += row[i]
        place += i
    return total


def _centre(scaled: Array) -> Array:
    """Return exp(-d^2 / median d^2) of standardised values without the means of its rows."""
    squares = np.subtract.outer(scaled, scaled) ** 2
    gram = np.exp(-squares / _width(squares[np.tril_indices(scaled.size, -1)]))
    means = gram.mean(axis=0)
    centred: Array = gram - means - means[:, np.newaxis] + means.mean()
    return centred
