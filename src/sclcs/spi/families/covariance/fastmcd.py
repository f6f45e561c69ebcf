"""The minimum covariance determinant by FastMCD (Rousseeuw and Van Driessen 1999).

Of T time points, the h whose covariance has the smallest determinant are looked for by C-steps
from random starts; the covariance of the points close to that fit is the estimate. Numbers of
starts and steps, the split of long records and the two consistency factors are those of
scikit-learn 1.9, so the estimate has the same distribution over seeds; the kernels
(`concentration`) and the random stream are our own.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from sclcs.numerics.arrays import Array
from sclcs.numerics.ordered import products_of_rows
from sclcs.spi.families.covariance.concentration import (
    Mask,
    best_of_starts,
    concentrate_from,
    distances_from,
)

__all__ = ["minimum_covariance_determinant"]

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
