"""Multitaper Fourier transform shared by the non-parametric spectral families."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sclcs.numerics.arrays import Array

__all__ = ["Spectra", "band_bins", "decimation", "frequency_grid", "smooth_length", "spectra"]

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
