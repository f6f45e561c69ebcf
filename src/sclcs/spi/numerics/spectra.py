"""Multitaper Fourier transform shared by the non-parametric spectral families."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel

__all__ = [
    "Spectra",
    "band_bins",
    "coherency",
    "cross_spectrum",
    "decimation",
    "frequency_grid",
    "smooth_length",
    "spectra",
]


TIME_HALF_BANDWIDTH = 3.0
MOST_TAPERS = 5
LEAST_CONCENTRATION = 0.9


@dataclass(frozen=True)
class Spectra:
    """Tapered Fourier coefficients of one sample.

    Parameters
    ----------
    real, imag : array, shape (region, taper, frequency)
        Coefficients; frequencies are innermost because every loop runs along them.
    """

    real: Array
    imag: Array


def smooth_length(n_times: int) -> int:
    """Return the smallest integer >= `n_times` with no prime factor above 5."""
    length = n_times
    while True:
        rest = length
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1


def frequency_grid(n_times: int) -> Array:
    """Return the frequencies (sampling rate 1): zero is in, Nyquist is out."""
    length = smooth_length(n_times)
    return np.asarray(np.fft.fftfreq(length)[: (length + 1) // 2], dtype=np.float64)


@lru_cache(maxsize=16)
def tapers(n_times: int) -> Array:
    """Return the well concentrated Slepian tapers, shape (taper, time); none if too short."""
    if n_times <= 2 * TIME_HALF_BANDWIDTH:
        return np.empty((0, n_times))
    from scipy.signal.windows import dpss

    windows, ratios = dpss(n_times, TIME_HALF_BANDWIDTH, Kmax=MOST_TAPERS, return_ratios=True)
    kept: Array = np.ascontiguousarray(windows[ratios > LEAST_CONCENTRATION])
    kept.setflags(write=False)  # the cache hands out the same array to every caller
    return kept


def spectra(signals: Array, *, with_nyquist: bool = False) -> Spectra:
    """Transform one sample of signals, shape (region, time).

    The measures end below the Nyquist frequency; a factorisation of the spectrum
    (`with_nyquist`) needs the whole circle of frequencies.
    """
    n_times = signals.shape[-1]
    length = smooth_length(n_times)
    n_bins = length // 2 + 1 if with_nyquist else (length + 1) // 2
    tapered = signals[:, np.newaxis, :] * tapers(n_times)
    transform = np.fft.rfft(tapered, n=length, axis=-1)[..., :n_bins]
    return Spectra(
        np.ascontiguousarray(transform.real, dtype=np.float64),
        np.ascontiguousarray(transform.imag, dtype=np.float64),
    )


def band_bins(
    frequencies: Array, lowest: float, highest: float, *, strict: bool = False
) -> tuple[int, int]:
    """Return the half-open range of bins of a band, ends included unless `strict`."""
    if strict:
        inside = (frequencies > lowest) & (frequencies < highest)
    else:
        inside = (frequencies >= lowest) & (frequencies <= highest)
    bins = np.flatnonzero(inside)
    return (int(bins[0]), int(bins[-1]) + 1) if bins.size else (0, 0)


def decimation(frequencies: Array, lowest: float, highest: float) -> int:
    """Return the step in bins between the (nearly) independent frequencies of a band."""
    if frequencies.size < 2:
        return 1
    resolution = (highest - lowest) / 50
    return int(np.ceil(resolution / (frequencies[1] - frequencies[0])))


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


@kernel
def cross_spectrum(
    real_i: Array, imag_i: Array, real_j: Array, imag_j: Array, re: Array, im: Array
) -> None:
    """Write sum_k X_k,i conj(X_k,j) for every frequency; inputs are (taper, frequency)."""
    n_tapers, n_bins = real_i.shape
    re[:] = 0.0
    im[:] = 0.0
    for k in range(n_tapers):
        for f in range(n_bins):
            re[f] += real_i[k, f] * real_j[k, f] + imag_i[k, f] * imag_j[k, f]
            im[f] += imag_i[k, f] * real_j[k, f] - real_i[k, f] * imag_j[k, f]


@kernel
def coherency(real: Array, imag: Array, scale: Array, i: int, j: int, re: Array, im: Array) -> None:
    """Write C(f) of regions i and j; `scale` is 1/sqrt(sum_k |X_k|^2), (region, frequency)."""
    cross_spectrum(real[i], imag[i], real[j], imag[j], re, im)
    scale_i = scale[i]
    scale_j = scale[j]
    for f in range(re.size):
        weight = scale_i[f] * scale_j[f]
        re[f] *= weight
        im[f] *= weight
