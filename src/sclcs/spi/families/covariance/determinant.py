"""Compiled C-steps ("concentration" steps) of FastMCD.

A C-step fits location and covariance to the points of a support, and takes the points closest to
that fit (in Mahalanobis distance) as the next support; the determinant of the covariance cannot
grow. Distances come from a Cholesky factor; only a singular covariance, where the step sequence
ends, needs a pseudo-inverse.
"""

# ruff: noqa: C901, PLR0912, PLR0915, PLR0917 - compiled loops: parts are compiled anew in every caller

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
    "concentrate",
    "minimum_covariance_determinant",
]


Mask = NDArray[np.bool_]

_EPS = np.finfo(np.float64).eps


@reducing_kernel
def concentrate(
    rows: Array, starts: Mask, target: Array, supports: Mask, size: int, n_steps: int
) -> Array:
    """Take C-steps from every start until nothing changes; return the last log-determinants.

    Parameters
    ----------
    rows : array, shape (region, time)
    starts : array of bool, shape (start, time)
        Points of `rows`; their mean and covariance are what the first step starts from.
    target : array, shape (region, point)
        The points among which supports are looked for.
    supports : array of bool, shape (start, point)
        Overwritten; may be `starts`. Left as it is if the start has a singular covariance.
    size : int
        Points in a support.
    n_steps : int
        At most.

    Returns
    -------
    array, shape (start,)
        -inf if singular.
    """
    n_regions, n_points = target.shape
    points = np.empty((n_regions, max(rows.shape[1], n_points)))
    white = np.empty((n_regions, n_points))
    location, distances, ordered = np.empty(n_regions), np.empty(n_points), np.empty(n_points)
    factor = np.empty((n_regions, n_regions))
    log_determinants = np.empty(starts.shape[0])
    for index in range(starts.shape[0]):
        support = supports[index]
        log_determinants[index] = _fit(rows, starts[index], points, location, factor)
        for _ in range(n_steps):
            if log_determinants[index] == -np.inf:
                break
            # Solve factor · y = x - location for all points at once; the distance is ‖y‖².
            for t in range(n_points):
                distances[t] = 0.0
            for i in range(n_regions):
                y = white[i]
                for t in range(n_points):
                    y[t] = target[i, t] - location[i]
                whole = i - i % 4
                for j in range(0, whole, 4):
                    f = factor[i, j : j + 4]
                    add_four_rows(y, white, j, -f[0], -f[1], -f[2], -f[3])
                for j in range(whole, i):
                    for t in range(n_points):
                        y[t] -= factor[i, j] * white[j, t]
                scale = 1.0 / factor[i, i]
                for t in range(n_points):
                    y[t] *= scale
                    distances[t] += y[t] * y[t]
                    ordered[t] = distances[t]
            # The closest: quickselect finds the largest distance that is still in.
            low, high = 0, n_points - 1
            while low < high:
                pivot = ordered[(low + high) // 2]
                i, j = low, high
                while i <= j:
                    while ordered[i] < pivot:
                        i += 1
                    while pivot < ordered[j]:
                        j -= 1
                    if i <= j:
                        ordered[i], ordered[j] = ordered[j], ordered[i]
                        i += 1
                        j -= 1
                if size - 1 <= j:
                    high = j
                elif size - 1 >= i:
                    low = i
                else:
                    break
            limit = ordered[size - 1]
            left = size
            for t in range(n_points):
                left -= distances[t] < limit
            changed = False
            for t in range(n_points):
                chosen = distances[t] < limit
                if distances[t] == limit and left > 0:
                    chosen = True
                    left -= 1
                if chosen != support[t]:
                    changed = True
                    support[t] = chosen
            if not changed:
                break
            log_determinants[index] = _fit(target, support, points, location, factor)
    return log_determinants


@reducing_kernel
def _fit(rows: Array, support: Mask, points: Array, location: Array, factor: Array) -> float:
    """Fit mean and covariance (divisor: count) of the supported points; factorise that.

    Returns its log-determinant; -inf if it is singular.
    """
    n_regions, n_times = rows.shape
    size = 0
    for t in range(n_times):
        size += support[t]
    if size <= n_regions:
        return -np.inf  # fewer points than dimensions: singular whatever the support
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
        centred, whole = points[i, :size], i + 1 - (i + 1) % 4
        for j in range(0, whole, 4):
            a, b, c, d = four_dots(centred, points, j)
            row = factor[i, j : j + 4]
            row[0], row[1], row[2], row[3] = a / size, b / size, c / size, d / size
        for j in range(whole, i + 1):
            factor[i, j] = dot(centred, points[j]) / size
    return factorise(factor)


def _best(log_determinants: Array, supports: Mask, n_best: int) -> Mask:
    """Return the supports of smallest determinant, the first of equals first."""
    best: Mask = supports[np.argsort(log_determinants, kind="stable")[:n_best]]
    return best


def _concentrate_from(rows: Array, candidates: Mask, target: Array, size: int, n_best: int) -> Mask:
    """Concentrate the fits of candidate supports of `rows` among the points of `target`."""
    supports = np.zeros((len(candidates), target.shape[1]), dtype=np.bool_)
    log_determinants = concentrate(rows, candidates, target, supports, size, _MANY_STEPS + 1)
    for index in np.flatnonzero(~supports.any(axis=1)):  # singular from the start
        distances = _distances(rows, candidates[index], target)
        limit = np.partition(distances, size - 1)[size - 1]
        closer, at_limit = distances < limit, np.flatnonzero(distances == limit)
        supports[index] = closer
        supports[index, at_limit[: size - closer.sum()]] = True
        one = supports[index : index + 1]
        log_determinants[index] = concentrate(target, one, target, one, size, _MANY_STEPS)[0]
    return _best(log_determinants, supports, n_best)


def _distances(rows: Array, support: Mask, target: Array) -> Array:
    """Return the squared Mahalanobis distances of points to the fit of a support.

    A singular covariance has a pseudo-inverse.
    """
    points = rows[:, support]
    location = points.mean(axis=1, keepdims=True)
    points = points - location
    values, vectors = np.linalg.eigh(points @ points.T / points.shape[1])
    kept = np.abs(values) > np.abs(values).max() * values.size * _EPS
    scores = vectors[:, kept].T @ (target - location)
    distances: Array = (scores * scores / values[kept, None]).sum(axis=0)
    return distances


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
    distances = _distances(rows, support, rows) / _consistency(n_regions, size / n_times)
    kept = distances < 2.0 * scipy.special.gammaincinv(n_regions / 2, _KEPT_SHARE)
    if not kept.any():
        return np.full((n_regions, n_regions), np.nan)
    points = rows[:, kept]
    points -= points.mean(axis=-1, keepdims=True)
    factor = _consistency(n_regions, _KEPT_SHARE) / points.shape[-1]
    covariance: Array = products_of_rows(np.ascontiguousarray(points)) * factor
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
    found = _best(concentrate(rows, starts, rows, starts, size, _FEW_STEPS), starts, _N_BEST)
    best: Mask = _concentrate_from(rows, found, rows, size, 1)[0]
    return best


def _smallest_support_split(rows: Array, size: int, rng: np.random.Generator) -> Mask:
    """Find candidates on subsets, then concentrate them on a larger set, then on all points."""
    n_times = rows.shape[-1]
    candidates = _candidates_of_subsets(rows, size, rng)
    n_merged = min(_LONGEST_MERGED, n_times)
    merged = np.sort(rng.permutation(n_times)[:n_merged])
    merged_size = math.ceil(n_merged * (size / n_times))
    n_best = _N_BEST if n_times > _LONGEST_MERGED else 1
    among = np.ascontiguousarray(rows[:, merged])
    supports = _concentrate_from(rows, candidates, among, merged_size, n_best)
    candidates = np.zeros((n_best, n_times), dtype=np.bool_)
    candidates[:, merged] = supports
    if n_times >= _LONGEST_MERGED:
        candidates = _concentrate_from(rows, candidates, rows, size, 1)
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
        subset = np.ascontiguousarray(rows[:, times])
        ends = concentrate(subset, starts, subset, starts, subset_size, _FEW_STEPS)
        block = slice(index * _N_BEST, (index + 1) * _N_BEST)
        candidates[block, times] = _best(ends, starts, _N_BEST)
    return candidates


def _random_starts(n_times: int, size: int, n_starts: int, rng: np.random.Generator) -> Mask:
    starts = np.zeros((n_starts, n_times), dtype=np.bool_)
    starts[:, :size] = True
    mixed: Mask = rng.permuted(starts, axis=1)
    return mixed
