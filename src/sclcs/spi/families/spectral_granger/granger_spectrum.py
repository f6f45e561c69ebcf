"""Spectral Granger causality of pairs from autoregressions of any order.

With A(f) = sum_k a_k e^{-2 pi i f k}, s, u, g = Sigma00, Sigma01, Sigma11 and
c = A11 - (u/s) A01 the causality of j on i is ln(1 + (g - u^2/s) |A01|^2 / (s |c|^2)); the
determinant of A cancels. A fit of high order may have a negative variance: then the logarithm is
NaN at some frequencies, which are skipped, or at most of them, which makes the pair NaN.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import log

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.spi.families.spectral_granger.autoregression import (
    AUTOMATIC,
    HIGHEST_ORDER,
    SINGULAR,
    fit_pair,
    own_lags,
)

__all__ = ["N_FREQUENCIES", "band_statistics", "ratio_statistics"]

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
    stopped = True
    for pair in range(n_pairs):
        i, j = pairs[pair]
        product = 0.0
        for t in range(rows.shape[1]):
            product += rows[i, t] * rows[j, t]
        product /= rows.shape[1]
        if own[i, 0] * own[j, 0] - product * product > SINGULAR * own[i, 0] * own[j, 0]:
            both = np.stack((own[i], own[j]))
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
