"""Group delay: slope of the cross-spectral phase over the longest significant run of bins.

A coherency C (see `multitaper`) is significant when z = (atanh|C| - b)/sqrt(b), with
b = 1/(2K - 2) for K tapers, passes a one-sided normal test under Benjamini-Hochberg
control at 0.05 **jointly over all pairs and bins of the band**. In the longest run of
significant bins of a pair, thinned to nearly independent frequencies, the delay is the
least-squares slope of the unwrapped phase over frequency, divided by 2 pi; NaN if fewer
than three bins remain.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.tapers import (
    Spectra,
    band_bins,
    decimation,
    frequency_grid,
    spectra,
    tapers,
)
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.groupdelay import kernels

__all__ = ["MEMBERS", "DelayBand", "compute"]

SIGNIFICANCE = 0.05
COHERENCE_CLASSES = 2**16


@dataclass(frozen=True)
class DelayBand:
    """Band of a group delay, in cycles per sample, both ends excluded."""

    lowest: float
    highest: float


MEMBERS: Mapping[str, DelayBand] = MappingProxyType(
    {
        "gd_multitaper_delay_fs-1_fmin-0_fmax-0-5": DelayBand(0.0, 0.5),
        "gd_multitaper_delay_fs-1_fmin-0_fmax-0-25": DelayBand(0.0, 0.25),
        "gd_multitaper_delay_fs-1_fmin-0-25_fmax-0-5": DelayBand(0.25, 0.5),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute group delays for every sample and pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget decides whether coherences are kept between the passes of the
        significance search or computed again.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
        Antisymmetric; NaN for pairs without a long enough significant run.
    """
    n_samples, n_regions, n_times = signals.shape
    shape = (n_samples, n_regions, n_regions)
    result = {name: np.full(shape, np.nan) for name in members}
    if len(tapers(n_times)) > 1:
        for sample in range(n_samples):
            transform = spectra(signals[sample])
            for name, delays in result.items():
                _delays(transform, MEMBERS[name], n_times, context.memory_bytes, delays[sample])
    return result


def _delays(
    transform: Spectra, band: DelayBand, n_times: int, memory_bytes: int, out: Array
) -> None:
    frequencies = frequency_grid(n_times)
    first, end = band_bins(frequencies, band.lowest, band.highest, strict=True)
    if end - first < kernels.FEWEST_BINS:
        return
    step = decimation(frequencies, band.lowest, band.highest)
    real = np.ascontiguousarray(transform.real[..., first:end])
    imag = np.ascontiguousarray(transform.imag[..., first:end])
    scale = 1.0 / np.sqrt((real**2 + imag**2).sum(axis=1))
    threshold = _significant_coherence(real, imag, scale, memory_bytes)
    kernels.delays(real, imag, scale, frequencies[first:end], step, threshold, out)


def _significant_coherence(real: Array, imag: Array, scale: Array, memory_bytes: int) -> float:
    """Return the smallest squared coherence that is significant; infinity if none is.

    With r(t) the number of p-values <= t among m, the Benjamini-Hochberg cut is the
    largest solution of t = 0.05 r(t)/m. Iterating from t = 0.05, or from any larger solution
    of a bound of r, falls onto it, and needs counts only: no list of all p-values
    (region x region x frequency) is ever sorted.
    """
    n_regions, n_tapers, n_bins = real.shape
    n_tests = n_regions * (n_regions - 1) // 2 * n_bins
    keep = 3 * 8 * n_tests <= memory_bytes  # the list, a mask and the shorter list
    kept = kernels.coherences(real, imag, scale) if keep else np.empty(0)
    count = n_tests if keep else _most_significant(real, imag, scale, n_tests)
    while count:
        threshold = _coherence_at(SIGNIFICANCE * count / n_tests, n_tapers)
        if keep:
            kept = kept[kept >= threshold]
            passed = kept.size
        else:
            passed = kernels.count_coherences(real, imag, scale, threshold)
        if passed == count:
            return threshold
        count = passed
    return np.inf


def _most_significant(real: Array, imag: Array, scale: Array, n_tests: int) -> int:
    """Return how many coherences are significant at most, from one pass that counts by size.

    A coherence that reaches a threshold is in the threshold's class or above. What is left to
    find out is one class wide, a pass or two over all pairs instead of a dozen.
    """
    classes = np.zeros(COHERENCE_CLASSES, dtype=np.int64)
    kernels.classify_coherences(real, imag, scale, classes)
    reached = classes[::-1].cumsum()[::-1]
    count = n_tests
    while count:
        threshold = _coherence_at(SIGNIFICANCE * count / n_tests, real.shape[1])
        passed = int(reached[kernels.coherence_class(threshold, COHERENCE_CLASSES)])
        if passed >= count:
            break
        count = passed
    return count


def _coherence_at(p_value: float, n_tapers: int) -> float:
    """Return the squared coherence whose p-value is `p_value`."""
    from scipy.special import ndtri

    bias = 1.0 / (2 * n_tapers - 2)
    magnitude = np.tanh(bias - ndtri(p_value) * np.sqrt(bias))
    return float(magnitude) ** 2
