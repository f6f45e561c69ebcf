"""Least squares by modified Gram-Schmidt on the rows of a small array.

Removing each regressor from everything after it leaves the residuals in the last rows. Unlike
normal equations this loses no more digits than the problem itself (Björck 1967).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from math import log, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import ZERO, Array, kernel
from sclcs.spi.numerics.vector import dot
from sclcs.spi.own import FamilyContext

__all__ = [
    "AIC",
    "BIC",
    "MEMBERS",
    "N_STATISTICS",
    "EngleGrangerTest",
    "JohansenTest",
    "centre",
    "compute",
    "engle_granger_pairs",
    "johansen_pairs",
    "remove_row",
    "remove_rows",
    "squared_sizes",
]


_EPS = float(np.finfo(np.float64).eps)


@kernel
def squared_sizes(rows: Array) -> Array:
    """Return the squared norms of rows: what their pivots are compared with later."""
    out = np.empty(rows.shape[0])
    for k in range(rows.shape[0]):
        out[k] = dot(rows[k], rows[k])
    return out


@kernel
def remove_row(rows: Array, sizes: Array, k: int) -> None:
    """Scale row k to norm 1 and remove it from the later rows.

    A row that depends on the earlier ones (its squared norm fell below eps T times `sizes[k]`)
    is set to zero, as a pseudo-inverse would.
    """
    row = rows[k]
    pivot = dot(row, row)
    if not pivot > _EPS * _EPS * row.size * row.size * sizes[k]:
        row[:] = 0.0
        return
    row *= 1.0 / sqrt(pivot)
    for later in range(k + 1, rows.shape[0]):
        share = dot(row, rows[later])
        target = rows[later]
        for t in range(row.size):
            target[t] -= share * row[t]


@kernel
def remove_rows(rows: Array, count: int) -> None:
    """Remove the first `count` rows from the later ones, one after the other."""
    sizes = squared_sizes(rows)
    for k in range(count):
        remove_row(rows, sizes, k)


@kernel
def centre(row: Array) -> None:
    """Remove the mean in place."""
    row -= row.mean()


MAX_EIGENVALUE, TRACE = 0, 1
N_STATISTICS = 2
N_ORDERS = 2
SINGULAR = 1e-12  # of 1 - r^2 of the residuals: below, the pair is one series


@kernel
def johansen_pairs(rows: Array, n_lags: int, out: Array) -> None:
    """Fill ``out[order, statistic, i, j]`` for every pair, symmetrically."""
    n_regions, n_times = rows.shape
    n_used = n_times - 1 - n_lags
    levels, differences = _levels(rows, n_lags), _differences(rows, n_lags)
    work = np.empty((2 * n_lags + 2 + 2 * N_ORDERS, n_used))
    for i in range(n_regions):
        for j in range(i):
            for lag in range(n_lags):
                work[2 * lag] = differences[i, lag + 1]
                work[2 * lag + 1] = differences[j, lag + 1]
            rest = 2 * n_lags
            work[rest], work[rest + 1] = differences[i, 0], differences[j, 0]
            for order in range(N_ORDERS):
                work[rest + 2 + 2 * order] = levels[i, order]
                work[rest + 3 + 2 * order] = levels[j, order]
            remove_rows(work, 2 * n_lags)
            for order in range(N_ORDERS):
                first = rest + 2 + 2 * order
                values = _statistics(work[rest : rest + 2], work[first : first + 2])
                for statistic in range(N_STATISTICS):
                    out[order, statistic, i, j] = out[order, statistic, j, i] = values[statistic]


@kernel
def _levels(rows: Array, n_lags: int) -> Array:
    """Return the lagged levels without mean and, as order 1, without trend first."""
    n_regions, n_times = rows.shape
    n_used = n_times - 1 - n_lags
    out = np.empty((n_regions, N_ORDERS, n_used))
    time = np.arange(n_times) - (n_times - 1) / 2.0
    spread = dot(time, time)
    for i in range(n_regions):
        out[i, 0] = rows[i, 1 : n_used + 1]
        slope = dot(time, rows[i]) / spread
        out[i, 1] = rows[i, 1 : n_used + 1] - slope * time[1 : n_used + 1]
        for order in range(N_ORDERS):
            centre(out[i, order])
    return out


@kernel
def _differences(rows: Array, n_lags: int) -> Array:
    """Return dx_t, dx_{t-1}, ..., without their means, shape (region, lag, time)."""
    n_regions, n_times = rows.shape
    n_used = n_times - 1 - n_lags
    out = np.empty((n_regions, n_lags + 1, n_used))
    for i in range(n_regions):
        for lag in range(n_lags + 1):
            start = n_lags - lag
            out[i, lag] = rows[i, start + 1 : start + 1 + n_used] - rows[i, start : start + n_used]
            centre(out[i, lag])
    return out


@kernel
def _statistics(changes: Array, levels: Array) -> tuple[float, float]:
    """Return max-eigenvalue and trace statistic from the residuals of both regressions."""
    n_used = changes.shape[1]
    largest, smallest = _squared_correlations(changes, levels)
    if not largest < 1.0:
        return np.nan, np.nan
    first = -n_used * log(1.0 - largest)
    return first, first - n_used * log(1.0 - smallest)


@kernel
def _squared_correlations(changes: Array, levels: Array) -> tuple[float, float]:
    """Return the two squared canonical correlations, the larger one first."""
    s00, s01 = _moments(changes, changes), _moments(changes, levels)
    skk = _moments(levels, levels)
    det0 = s00[0, 0] * s00[1, 1] - s00[0, 1] ** 2
    detk = skk[0, 0] * skk[1, 1] - skk[0, 1] ** 2
    singular = det0 <= SINGULAR * s00[0, 0] * s00[1, 1]
    if singular or detk <= SINGULAR * skk[0, 0] * skk[1, 1]:
        return np.nan, np.nan
    # The product Skk^-1 Sk0 S00^-1 S0k through the adjugates of the two 2 x 2 matrices.
    a, b = _adjugate(skk), _adjugate(s00)
    trace = 0.0
    for i in range(2):
        for j in range(2):
            left = a[i, 0] * s01[j, 0] + a[i, 1] * s01[j, 1]
            trace += left * (b[j, 0] * s01[0, i] + b[j, 1] * s01[1, i])
    half = 0.5 * trace / (det0 * detk)
    cross = s01[0, 0] * s01[1, 1] - s01[0, 1] * s01[1, 0]
    product = cross * cross / (det0 * detk)
    largest = half + sqrt(max(half * half - product, 0.0))
    return largest, product / largest


@kernel
def _moments(a: Array, b: Array) -> Array:
    out = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            out[i, j] = dot(a[i], b[j])
    return out


@kernel
def _adjugate(a: Array) -> NDArray[np.float64]:
    out = np.empty((2, 2))
    out[0, 0], out[1, 1] = a[1, 1], a[0, 0]
    out[0, 1], out[1, 0] = -a[0, 1], -a[1, 0]
    return out


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
    for lag in range(MOST_LAGS + 1):
        _fill_difference(residual, lag, work[lag if lag > 0 else MOST_LAGS + 1])
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
    _fill_difference(residual, ZERO, changes)
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
    for t in range(out.size):
        out[t] = residual[start + t]


@kernel
def _fill_difference(residual: Array, lag: int, out: Array) -> None:
    """Write e_{t-lag} - e_{t-lag-1} for the last time points."""
    start = residual.size - lag - out.size
    for t in range(out.size):
        out[t] = residual[start + t] - residual[start + t - 1]


_STATISTICS = {"max_eig_stat": MAX_EIGENVALUE, "trace_stat": TRACE}
_CRITERIA = {"aic": AIC, "bic": BIC}


@dataclass(frozen=True)
class JohansenTest:
    """Which statistic, the order of the removed trend, and the number of lagged differences."""

    statistic: int
    order: int
    n_lags: int


@dataclass(frozen=True)
class EngleGrangerTest:
    """Whether a trend is removed, and how the number of lags is chosen."""

    with_trend: bool
    criterion: int


def _members() -> dict[str, JohansenTest | EngleGrangerTest]:
    members: dict[str, JohansenTest | EngleGrangerTest] = {
        f"coint_johansen_{name}_order-{order}_ardiff-{n_lags}": JohansenTest(code, order, n_lags)
        for (name, code), order, n_lags in product(_STATISTICS.items(), (0, 1), (1, 10))
    }
    for trend, criterion in (("c", "aic"), ("ct", "aic"), ("ct", "bic")):
        name = f"coint_aeg_tstat_trend-{trend}_autolag-{criterion}_maxlag-10"
        members[name] = EngleGrangerTest(trend == "ct", _CRITERIA[criterion])
    return members


MEMBERS: Mapping[str, JohansenTest | EngleGrangerTest] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute cointegration statistics of every pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: only the lags of one sample are held at a time.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
        Symmetric; for Engle and Granger the value of (later region, earlier region).
    """
    del context
    n_samples, n_regions, _ = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    for sample in range(n_samples):
        rows = np.ascontiguousarray(signals[sample])
        _run_johansen(rows, result, sample)
        _run_engle_granger(rows, result, sample)
    return result


def _run_johansen(rows: Array, result: Mapping[str, Array], sample: int) -> None:
    tests = {n: p for n in result if isinstance(p := MEMBERS[n], JohansenTest)}
    n_regions = len(rows)
    for n_lags in sorted({test.n_lags for test in tests.values()}):
        values = np.full((N_ORDERS, N_STATISTICS, n_regions, n_regions), np.nan)
        johansen_pairs(rows, n_lags, values)
        for name, test in tests.items():
            if test.n_lags == n_lags:
                result[name][sample] = values[test.order, test.statistic]


def _run_engle_granger(rows: Array, result: Mapping[str, Array], sample: int) -> None:
    tests = {n: p for n in result if isinstance(p := MEMBERS[n], EngleGrangerTest)}
    n_regions = len(rows)
    for with_trend in sorted({test.with_trend for test in tests.values()}):
        same = {n: test for n, test in tests.items() if test.with_trend == with_trend}
        wanted = np.zeros(N_CRITERIA)
        wanted[[test.criterion for test in same.values()]] = 1.0
        values = np.full((N_CRITERIA, n_regions, n_regions), np.nan)
        engle_granger_pairs(rows, with_trend, wanted, values)
        for name, test in same.items():
            result[name][sample] = values[test.criterion]
