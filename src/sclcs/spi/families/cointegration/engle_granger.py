"""Engle and Granger's test of a pair: whether the residual of their regression is stationary.

The residual e of the later region on the earlier one, a constant and perhaps a trend goes into
an augmented Dickey-Fuller regression without constant,

    e_t - e_{t-1} = b e_{t-1} + sum_{k=1..p} c_k (e_{t-k} - e_{t-k-1}) + noise,

with p in 0..10 the best by an information criterion on the time points that all p share, and then
the t statistic of b with that p on all time points it allows.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.vector import dot
from sclcs.spi.families.cointegration.orthogonal import remove_row, remove_rows, squared_sizes

__all__ = ["AIC", "BIC", "engle_granger_pairs"]

MOST_LAGS = 10
AIC, BIC = 0, 1
N_CRITERIA = 2
# Above this share of explained variance the two regions are one (statsmodels returns -inf).
PERFECT = 1.0 - 100.0 * sqrt(float(np.finfo(np.float64).eps))


@kernel
def engle_granger_pairs(rows: Array, with_trend: bool, wanted: Array, out: Array) -> None:
    """Fill ``out[criterion, i, j]`` symmetrically with the value of (later, earlier) region."""
    n_regions, n_times = rows.shape
    n_fixed = 2 if with_trend else 1
    work = np.empty((n_fixed + 2, n_times))
    lags = np.empty(N_CRITERIA, dtype=np.int64)
    for later in range(n_regions):
        for earlier in range(later):
            work[0] = 1.0
            if with_trend:
                work[1] = np.arange(1, n_times + 1)
            work[n_fixed], work[n_fixed + 1] = rows[earlier], rows[later]
            remove_rows(work, n_fixed + 1)
            residual = work[n_fixed + 1]
            explained = 1.0 - dot(residual, residual) / dot(rows[later], rows[later])
            if explained < PERFECT:
                _best_lags(residual, lags)
            for criterion in range(N_CRITERIA):
                if wanted[criterion] == 0.0:
                    continue
                value = -np.inf
                if explained < PERFECT:
                    value = _statistic(residual, lags[criterion])
                out[criterion, later, earlier] = out[criterion, earlier, later] = value


@kernel
def _best_lags(residual: Array, lags: NDArray[np.int64]) -> None:
    """Write the number of lagged differences that each criterion prefers."""
    n_used = residual.size - 1 - MOST_LAGS
    work = np.empty((MOST_LAGS + 2, n_used))
    _fill_level(residual, work[0])
    for lag in range(1, MOST_LAGS + 1):
        _fill_difference(residual, lag, work[lag])
    _fill_difference(residual, 0, work[MOST_LAGS + 1])
    best = np.full(N_CRITERIA, np.inf)
    sizes = squared_sizes(work)
    for lag in range(MOST_LAGS + 1):
        remove_row(work, sizes, lag)
        errors = work[MOST_LAGS + 1]
        fit = n_used * log(dot(errors, errors) / n_used)
        for criterion in range(N_CRITERIA):
            price = 2.0 if criterion == AIC else log(float(n_used))
            score = fit + price * (lag + 1)
            if score < best[criterion]:
                best[criterion] = score
                lags[criterion] = lag


@kernel
def _statistic(residual: Array, n_lags: int) -> float:
    """Return the t statistic of the level, which is the last regressor here."""
    n_used = residual.size - 1 - n_lags
    work = np.empty((n_lags + 2, n_used))
    for lag in range(1, n_lags + 1):
        _fill_difference(residual, lag, work[lag - 1])
    _fill_level(residual, work[n_lags])
    changes = work[n_lags + 1]
    _fill_difference(residual, 0, changes)
    sizes = squared_sizes(work)
    for k in range(n_lags):
        remove_row(work, sizes, k)
    before = changes.copy()
    remove_row(work, sizes, n_lags)
    share = dot(work[n_lags], before)
    return share / sqrt(dot(changes, changes) / (n_used - n_lags - 1))


@kernel
def _fill_level(residual: Array, out: Array) -> None:
    """Write e_{t-1} for the last time points."""
    start = residual.size - 1 - out.size
    out[:] = residual[start : residual.size - 1]


@kernel
def _fill_difference(residual: Array, lag: int, out: Array) -> None:
    """Write e_{t-lag} - e_{t-lag-1} for the last time points."""
    end = residual.size - lag
    start = end - out.size
    out[:] = residual[start:end] - residual[start - 1 : end - 1]
