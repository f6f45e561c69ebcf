"""Compiled C-steps ("concentration" steps) of FastMCD.

A C-step fits location and covariance to the points of a support, and takes the points closest to
that fit (in Mahalanobis distance) as the next support; the determinant of the covariance cannot
grow. Distances come from a Cholesky factor; only a singular covariance, where the step sequence
ends, needs a pseudo-inverse.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, reducing_kernel
from sclcs.spi.numerics.ordered import products_of_rows
from sclcs.spi.numerics.vector import add_four_rows, dot, factorise, four_dots

__all__ = [
    "Mask",
    "best_of_starts",
    "concentrate_from",
    "distances_from",
    "minimum_covariance_determinant",
]


Mask = NDArray[np.bool_]

_EPS = np.finfo(np.float64).eps


@reducing_kernel
def best_of_starts(rows: Array, starts: Mask, n_steps: int, n_best: int) -> Mask:
    """Concentrate every start and return the `n_best` supports of smallest determinant.

    Parameters
    ----------
    rows : array, shape (region, time)
    starts : array of bool, shape (start, time)
        Overwritten.
    n_steps : int
        C-steps per start.
    n_best : int

    Returns
    -------
    array of bool, shape (n_best, time)
    """
    size = starts[0].sum()
    log_determinants = np.empty(starts.shape[0])
    for index in range(starts.shape[0]):
        log_determinants[index] = _concentrate(rows, starts[index], size, n_steps)
    order = np.argsort(log_determinants, kind="mergesort")
    return starts[order[:n_best]]


@reducing_kernel
def concentrate_from(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    rows: Array, candidates: Mask, target: Array, size: int, n_steps: int, n_best: int
) -> Mask:
    """Concentrate the fits of candidate supports on another set of points.

    Parameters
    ----------
    rows : array, shape (region, time)
    candidates : array of bool, shape (candidate, time)
        Supports in `rows`; each gives a location and a covariance to start from.
    target : array, shape (region, point)
        The points among which the supports are looked for.
    size : int
        Points in a support.
    n_steps : int
        C-steps after the first selection.
    n_best : int

    Returns
    -------
    array of bool, shape (n_best, point)
    """
    n_candidates = candidates.shape[0]
    supports = np.zeros((n_candidates, target.shape[1]), dtype=np.bool_)
    log_determinants = np.empty(n_candidates)
    distances = np.empty(target.shape[1])
    for index in range(n_candidates):
        location, covariance = _fit(rows, candidates[index])
        _distances(target, location, covariance, distances)
        _select_closest(distances, size, supports[index])
        log_determinants[index] = _concentrate(target, supports[index], size, n_steps)
    order = np.argsort(log_determinants, kind="mergesort")
    return supports[order[:n_best]]


@reducing_kernel
def distances_from(rows: Array, support: Mask) -> Array:
    """Return the squared Mahalanobis distances of all points to the fit of a support."""
    location, covariance = _fit(rows, support)
    distances = np.empty(rows.shape[1])
    _distances(rows, location, covariance, distances)
    return distances


@reducing_kernel
def _concentrate(rows: Array, support: Mask, size: int, n_steps: int) -> float:
    """Take C-steps in place until nothing changes; return the last log-determinant."""
    if size <= rows.shape[0]:
        return -np.inf  # fewer points than dimensions: singular whatever the support
    distances = np.empty(rows.shape[1])
    location, factor = _fit(rows, support)
    log_determinant = factorise(factor)
    for _ in range(n_steps):
        if log_determinant == -np.inf:
            break
        _whitened_distances(rows, location, factor, distances)
        if not _select_closest(distances, size, support):
            break
        location, factor = _fit(rows, support)
        log_determinant = factorise(factor)
    return log_determinant


@reducing_kernel
def _fit(rows: Array, support: Mask) -> tuple[Array, Array]:
    """Return mean and covariance (divisor: count) of the supported points.

    Only the lower triangle of the covariance is filled.
    """
    n_regions, n_times = rows.shape
    size = support.sum()
    points = np.empty((n_regions, size))
    location = np.empty(n_regions)
    covariance = np.zeros((n_regions, n_regions))
    for i in range(n_regions):
        count = 0
        total = 0.0
        for t in range(n_times):
            if support[t]:
                points[i, count] = rows[i, t]
                total += rows[i, t]
                count += 1
        location[i] = total / size
        for k in range(size):
            points[i, k] -= location[i]
        _products_with_earlier(points, i, covariance)
    return location, covariance


@reducing_kernel
def _products_with_earlier(points: Array, i: int, covariance: Array) -> None:
    size = points.shape[1]
    j = 0
    while j + 4 <= i + 1:
        a, b, c, d = four_dots(points[i], points, j)
        row = covariance[i, j : j + 4]
        row[0], row[1], row[2], row[3] = a / size, b / size, c / size, d / size
        j += 4
    while j <= i:
        covariance[i, j] = dot(points[i], points[j]) / size
        j += 1


@reducing_kernel
def _whitened_distances(rows: Array, location: Array, factor: Array, distances: Array) -> None:
    """Solve factor · y = x - location for all points at once; the distance is ‖y‖²."""
    n_regions, n_times = rows.shape
    white = np.empty((n_regions, n_times))
    distances[:] = 0.0
    for i in range(n_regions):
        y = white[i]
        for t in range(n_times):
            y[t] = rows[i, t] - location[i]
        j = 0
        while j + 4 <= i:
            f = factor[i, j : j + 4]
            add_four_rows(y, white, j, -f[0], -f[1], -f[2], -f[3])
            j += 4
        while j < i:
            for t in range(n_times):
                y[t] -= factor[i, j] * white[j, t]
            j += 1
        scale = 1.0 / factor[i, i]
        for t in range(n_times):
            y[t] *= scale
            distances[t] += y[t] * y[t]


@reducing_kernel
def _distances(rows: Array, location: Array, covariance: Array, distances: Array) -> None:
    """Compute distances to a fit that may be singular (pseudo-inverse then)."""
    factor = covariance.copy()
    if factorise(factor) > -np.inf:
        _whitened_distances(rows, location, factor, distances)
        return
    # eigh reads the lower triangle only, which is the one that is filled.
    values, vectors = np.linalg.eigh(covariance)
    smallest = np.abs(values).max() * values.size * _EPS
    scores = np.dot(np.ascontiguousarray(vectors.T), rows - location.reshape(-1, 1))
    distances[:] = 0.0
    for k in range(values.size):
        if abs(values[k]) > smallest:
            for t in range(distances.size):
                distances[t] += scores[k, t] ** 2 / values[k]


@reducing_kernel
def _select_closest(distances: Array, size: int, support: Mask) -> bool:
    """Set the support to the `size` closest points; tell whether it changed."""
    limit = np.partition(distances, size - 1)[size - 1]
    n_closer = (distances < limit).sum()
    n_at_limit = size - n_closer
    changed = False
    for t in range(distances.size):
        chosen = distances[t] < limit
        if distances[t] == limit and n_at_limit > 0:
            chosen = True
            n_at_limit -= 1
        if chosen != support[t]:
            changed = True
            support[t] = chosen
    return changed


_KEPT_SHARE = 0.975
_FEW_STEPS, _MANY_STEPS = 2, 30
_N_BEST = 10
_LONGEST_WHOLE = 500  # time points; longer records start from subsets of about 300
_SUBSET = 300
_LONGEST_MERGED = 1500
_N_STARTS, _N_STARTS_SPLIT = 30, 500


def minimum_covariance_determinant(rows: Array, seed: int) -> Array:
    """Estimate a robust covariance.

    Parameters
    ----------
    rows : array, shape (region, time)
        C-contiguous. Time points are the observations.
    seed : int
        Of the random starts.

    Returns
    -------
    array, shape (region, region)
        NaN if no time point is close to the raw fit.
    """
    n_regions, n_times = rows.shape
    size = min(math.ceil((n_times + n_regions + 1) / 2), n_times)
    support = _smallest_support(rows, size, np.random.Generator(np.random.PCG64(seed)))
    distances = distances_from(rows, support) / _consistency(n_regions, size / n_times)
    kept = distances < 2.0 * scipy.special.gammaincinv(n_regions / 2, _KEPT_SHARE)
    if not kept.any():
        return np.full((n_regions, n_regions), np.nan)
    points = rows[:, kept]
    points -= points.mean(axis=-1, keepdims=True)
    factor = _consistency(n_regions, _KEPT_SHARE) / points.shape[-1]
    covariance: Array = products_of_rows(points) * factor
    return covariance


def _consistency(n_regions: int, share: float) -> float:
    """Return what makes the covariance of the innermost share of Gaussian points unbiased."""
    quantile = float(scipy.special.gammaincinv(n_regions / 2, share))  # half of chi-square's
    return float(share / scipy.special.gammainc(n_regions / 2 + 1, quantile))


def _smallest_support(rows: Array, size: int, rng: np.random.Generator) -> Mask:
    n_times = rows.shape[-1]
    if size == n_times:
        return np.ones(n_times, dtype=np.bool_)
    if n_times > _LONGEST_WHOLE:
        return _smallest_support_split(rows, size, rng)
    starts = _random_starts(n_times, size, _N_STARTS, rng)
    candidates = best_of_starts(rows, starts, _FEW_STEPS, _N_BEST)
    best: Mask = concentrate_from(rows, candidates, rows, size, _MANY_STEPS, 1)[0]
    return best


def _smallest_support_split(rows: Array, size: int, rng: np.random.Generator) -> Mask:
    """Find candidates on subsets, then concentrate them on a larger set, then on all points."""
    n_times = rows.shape[-1]
    candidates = _candidates_of_subsets(rows, size, rng)
    n_merged = min(_LONGEST_MERGED, n_times)
    merged = np.sort(rng.permutation(n_times)[:n_merged])
    merged_size = math.ceil(n_merged * (size / n_times))
    n_best = _N_BEST if n_times > _LONGEST_MERGED else 1
    supports = concentrate_from(
        rows, candidates, np.ascontiguousarray(rows[:, merged]), merged_size, _MANY_STEPS, n_best
    )
    candidates = np.zeros((n_best, n_times), dtype=np.bool_)
    candidates[:, merged] = supports
    if n_times >= _LONGEST_MERGED:
        candidates = concentrate_from(rows, candidates, rows, size, _MANY_STEPS, 1)
    best: Mask = candidates[0]
    return best


def _candidates_of_subsets(rows: Array, size: int, rng: np.random.Generator) -> Mask:
    n_times = rows.shape[-1]
    n_subsets = n_times // _SUBSET
    length = n_times // n_subsets
    subset_size = math.ceil(length * (size / n_times))
    n_starts = max(_N_BEST, _N_STARTS_SPLIT // n_subsets)
    order = rng.permutation(n_times)
    candidates = np.zeros((n_subsets * _N_BEST, n_times), dtype=np.bool_)
    for index in range(n_subsets):
        times = order[index * length : (index + 1) * length]
        starts = _random_starts(length, subset_size, n_starts, rng)
        found = best_of_starts(np.ascontiguousarray(rows[:, times]), starts, _FEW_STEPS, _N_BEST)
        block = slice(index * _N_BEST, (index + 1) * _N_BEST)
        candidates[block, times] = found
    return candidates


def _random_starts(n_times: int, size: int, n_starts: int, rng: np.random.Generator) -> Mask:
    starts = np.zeros((n_starts, n_times), dtype=np.bool_)
    starts[:, :size] = True
    mixed: Mask = rng.permuted(starts, axis=1)
    return mixed
