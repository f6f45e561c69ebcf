"""Additive noise models: how much the residual of a regression depends on its regressor.

The column is regressed on the row by a Gaussian process with kernel c exp(-d^2 / 2 l^2) and no
noise term (jitter 1e-10), c and l optimised; the dependence is Gretton's HSIC with Gaussian
kernels of median width, both variables standardised, on at most 200 evenly spaced time points.

Without a noise term the process interpolates: the optimum has l far below the distances between
values, the residual is proportional to the response, and the result is nearly the HSIC of the two
regions themselves. Only points whose regressors almost coincide are treated differently.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import exp, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics import gaussian_process as local
from sclcs.spi.numerics.bounded_minimiser import minimise
from sclcs.spi.numerics.compiling import Array, kernel, reducing_kernel
from sclcs.spi.numerics.gaussian_process import JITTER, LARGEST_LOGARITHM
from sclcs.spi.numerics.vector import exp_of_negative
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "additive_noise_scores", "compute", "conditional_spreads"]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


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


BINS_PER_DEVIATION = 2
MOST_DEVIATIONS = 3
EDGE = BINS_PER_DEVIATION * MOST_DEVIATIONS
N_BINS = 2 * EDGE + 1
FEWEST_POINTS = 12


def conditional_spreads(rows: Array) -> Array:
    """Return the scores of one sample, shape (region, region)."""
    codes = np.empty(rows.shape, dtype=np.int64)
    n_values = np.zeros(len(rows), dtype=np.int64)
    for region, row in enumerate(rows):
        values, places = np.unique(row, return_inverse=True)
        if len(values) <= N_BINS:
            codes[region], n_values[region] = places, len(values)
        else:
            codes[region] = _binned(row) + EDGE
    scaled = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    return _scores(scaled, codes, n_values)


def _binned(row: Array) -> Integers:
    """Cut standardised values into bins; mean and deviation leave out the far values."""
    scaled = (row - row.mean()) / row.std()
    near = scaled[np.abs(scaled) < MOST_DEVIATIONS]
    scaled = (scaled - near.mean()) / near.std()
    bins: Integers = np.clip(np.rint(scaled * BINS_PER_DEVIATION), -EDGE, EDGE).astype(np.int64)
    return bins


@kernel
def _scores(scaled: Array, codes: Integers, n_values: Integers) -> Array:
    n_regions = scaled.shape[0]
    out = np.full((n_regions, n_regions), np.nan)
    for i in range(n_regions):
        counts = np.zeros(N_BINS, dtype=np.int64)
        for code in codes[i]:
            counts[code] += 1
        full = np.flatnonzero(counts > FEWEST_POINTS)
        for j in range(n_regions):
            if i != j:
                out[i, j] = _score(codes[i], full, counts, scaled[j], codes[j], n_values[j])
    return out


@kernel
def _score(
    bins: Integers, full: Integers, counts: Integers, values: Array, codes: Integers, n_values: int
) -> float:
    if full.size == 0:
        return 0.0
    width = 3 * n_values - 2 if n_values > 0 else N_BINS
    shares = np.zeros((full.size, width))
    for place in range(full.size):
        inside = bins == full[place]
        if n_values > 0:
            _shifted_histogram(codes, inside, n_values, shares[place])
        else:
            _centred_histogram(values, inside, shares[place])
        shares[place] /= counts[full[place]]
    total = 0.0
    for column in range(width):
        mean = shares[:, column].mean()
        for place in range(full.size):
            total += (shares[place, column] - mean) ** 2
    return sqrt(total / shares.size)


@kernel
def _centred_histogram(values: Array, inside: NDArray[np.bool_], out: Array) -> None:
    mean = values[inside].mean()
    for t in range(values.size):
        if inside[t]:
            place = np.rint((values[t] - mean) * BINS_PER_DEVIATION)
            out[int(min(max(place, -EDGE), EDGE)) + EDGE] += 1.0


@kernel
def _shifted_histogram(
    codes: Integers, inside: NDArray[np.bool_], n_values: int, out: Array
) -> None:
    marginal, counts = np.zeros(n_values), np.zeros(n_values)
    for t in range(codes.size):
        marginal[codes[t]] += 1.0
        if inside[t]:
            counts[codes[t]] += 1.0
    best, shift = -1.0, 0
    for candidate in range(2 * n_values - 1):
        overlap = 0.0
        for k in range(n_values):
            other = k + candidate - (n_values - 1)
            if 0 <= other < n_values:
                overlap += marginal[k] * counts[other]
        if overlap > best:
            best, shift = overlap, candidate
    for k in range(n_values):
        out[2 * n_values - 2 - shift + k] = counts[k]


def _cubic_errors(rows: Array) -> Array:
    """Return the mean squared errors; linear and square terms of the cubic fit are left out."""
    lowest = rows.min(axis=1, keepdims=True)
    scaled = (rows - lowest) / (rows.max(axis=1, keepdims=True) - lowest)
    cubes = scaled**3
    cubes -= cubes.mean(axis=1, keepdims=True)
    scaled -= scaled.mean(axis=1, keepdims=True)
    explained = (cubes @ scaled.T) ** 2 / (cubes**2).sum(axis=1, keepdims=True)
    errors: Array = ((scaled**2).sum(axis=1) - explained) / rows.shape[1]
    return errors


def _entropy_differences(rows: Array) -> Array:
    entropies = np.array([_spacing_entropy(row / row.std()) for row in rows])
    differences: Array = entropies[:, np.newaxis] - entropies
    return differences


def _spacing_entropy(row: Array) -> float:
    """Return the mean logarithm of the gaps between sorted values; ties have no gap.

    A constant that depends on the number of time points alone cancels in the difference.
    """
    gaps = np.diff(np.sort(row))
    return float(np.log(gaps[gaps > 0.0]).sum() / len(gaps))


MEMBERS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "anm": additive_noise_scores,
        "cds": conditional_spreads,
        "reci": _cubic_errors,
        "igci": _entropy_differences,
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute causal scores, row -> column.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: pairs are taken one after the other.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    return {name: np.stack([MEMBERS[name](rows) for rows in signals]) for name in members}
