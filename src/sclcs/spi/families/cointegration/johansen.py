"""Johansen's reduced-rank regression of a pair of regions (Johansen 1991).

With k lagged differences, the differences dx_t and the levels x_{t-k} are cleared of the means and
of dx_{t-1} .. dx_{t-k} of both regions; lambda_1 >= lambda_2 are the squared canonical
correlations of what is left, in n = T - 1 - k time points. The statistics for rank zero are
-n ln(1 - lambda_1) (max-eigenvalue) and -n sum ln(1 - lambda) (trace).

A trend (order 1) is removed from the levels first. It changes neither the differences nor their
lags, because both lose their mean anyway, so one pass serves both orders.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.vector import dot
from sclcs.spi.families.cointegration.orthogonal import centre, remove_rows

__all__ = ["N_STATISTICS", "johansen_pairs"]

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
    left, right = _adjugate(skk) @ s01.T, _adjugate(s00) @ s01
    matrix = left @ right / (det0 * detk)
    half = 0.5 * (matrix[0, 0] + matrix[1, 1])
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
