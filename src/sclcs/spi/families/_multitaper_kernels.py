"""The pass over pairs of the multitaper family: per-frequency values, then band statistics."""

from __future__ import annotations

from math import atan2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.context import Array
from sclcs.spi.families._jit import kernel

__all__ = ["N_MEASURES", "all_pairs"]

COHMAG, ICOH, PHASE, PLV, PPC, PLI, WPLI, DSPLI, DSWPLI, PSI = range(10)
N_MEASURES = 10
REVERSED_PHASE = PSI  # psi has no values per frequency, so its row holds the phase of (j, i)
MEAN, MAX = 0, 1
# psi is stored like the others, as a "mean"
FORWARD, BACKWARD = 0, 1
SMALLEST_WEIGHT = float(np.finfo(np.float64).eps)

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@kernel
def all_pairs(
    real: Array,
    imag: Array,
    codes: Integers,
    bins: Integers,
    slopes: Integers,
    needed: Flags,
    out: Array,
) -> None:
    """Fill ``out[operator, i, j]`` and ``out[operator, j, i]`` for every pair i < j."""
    n_regions, n_bins, _ = real.shape
    coherence = needed[COHMAG].any() or needed[ICOH].any() or needed[PHASE].any()
    coherence = coherence or needed[PSI].any()
    locking = needed[PLV].any() or needed[PPC].any()
    lag = needed[PLI].any() or needed[WPLI].any() or needed[DSPLI].any() or needed[DSWPLI].any()
    unit_real, unit_imag, scale = _normalise(real, imag, locking)
    values = np.empty((N_MEASURES, n_bins))
    coherency = np.empty((2, n_bins))
    reduced = np.empty((N_MEASURES, 2, bins.shape[0], 2))
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            if coherence:
                _coherency(real[i], imag[i], real[j], imag[j], scale[i], scale[j], coherency)
                _coherence_values(coherency, needed[PHASE].any(), values)
            if locking:
                _locking_values(unit_real[i], unit_imag[i], unit_real[j], unit_imag[j], values)
            if lag:
                _lag_values(real[i], imag[i], real[j], imag[j], values)
            _reduce(values, coherency, bins, slopes, needed, reduced)
            for operator in range(codes.shape[0]):
                measure, statistic, band = codes[operator]
                out[operator, i, j] = reduced[measure, statistic, band, FORWARD]
                out[operator, j, i] = reduced[measure, statistic, band, BACKWARD]


@kernel
def _normalise(real: Array, imag: Array, locking: bool) -> tuple[Array, Array, Array]:
    """Return the unit phasors of every coefficient and 1/sqrt(K P) of every region and bin."""
    n_regions, n_bins, n_tapers = real.shape
    scale = np.empty((n_regions, n_bins))
    shape = real.shape if locking else (0, 0, 0)
    unit_real, unit_imag = np.empty(shape), np.empty(shape)
    for i in range(n_regions):
        for f in range(n_bins):
            total = 0.0
            for k in range(n_tapers):
                power = real[i, f, k] ** 2 + imag[i, f, k] ** 2
                total += power
                if locking:
                    modulus = np.float64(sqrt(power))
                    unit_real[i, f, k] = np.nan if modulus == 0.0 else real[i, f, k] / modulus
                    unit_imag[i, f, k] = np.nan if modulus == 0.0 else imag[i, f, k] / modulus
            scale[i, f] = np.nan if total == 0.0 else 1.0 / sqrt(total)
    return unit_real, unit_imag, scale


@kernel
def _coherency(
    real_i: Array,
    imag_i: Array,
    real_j: Array,
    imag_j: Array,
    scale_i: Array,
    scale_j: Array,
    coherency: Array,
) -> None:
    """Write C(f): real part in the first row, imaginary part in the second."""
    n_bins, n_tapers = real_i.shape
    for f in range(n_bins):
        re = 0.0
        im = 0.0
        for k in range(n_tapers):
            a, b, c, d = real_i[f, k], imag_i[f, k], real_j[f, k], imag_j[f, k]
            re += a * c + b * d
            im += b * c - a * d
        scale = scale_i[f] * scale_j[f]
        coherency[0, f] = re * scale
        coherency[1, f] = im * scale


@kernel
def _coherence_values(coherency: Array, with_phase: bool, values: Array) -> None:
    for f in range(coherency.shape[1]):
        re, im = coherency[0, f], coherency[1, f]
        values[COHMAG, f] = re * re + im * im
        values[ICOH, f] = abs(im)
        if with_phase:
            if im == 0.0:
                # A real coherency has phase 0 or +pi in both directions.
                values[PHASE, f] = pi if re < 0.0 else 0.0
                values[REVERSED_PHASE, f] = values[PHASE, f]
            else:
                values[PHASE, f] = atan2(im, re)
                values[REVERSED_PHASE, f] = -values[PHASE, f]


@kernel
def _locking_values(
    real_i: Array, imag_i: Array, real_j: Array, imag_j: Array, values: Array
) -> None:
    """Write plv and ppc from unit phasors: G/abs(G) = u_i conj(u_j), no root per pair."""
    n_bins, n_tapers = real_i.shape
    for f in range(n_bins):
        re = 0.0
        im = 0.0
        for k in range(n_tapers):
            a, b, c, d = real_i[f, k], imag_i[f, k], real_j[f, k], imag_j[f, k]
            re += a * c + b * d
            im += b * c - a * d
        power = re * re + im * im
        values[PLV, f] = sqrt(power) / n_tapers
        values[PPC, f] = (power - n_tapers) / (n_tapers * n_tapers - n_tapers)


@kernel
def _lag_values(
    real_i: Array, imag_i: Array, real_j: Array, imag_j: Array, values: Array
) -> None:
    """Write the four phase-lag indices from the imaginary parts of the cross spectra."""
    n_bins, n_tapers = real_i.shape
    for f in range(n_bins):
        signs = 0
        total = 0.0
        weight = 0.0
        squares = 0.0
        for k in range(n_tapers):
            im = imag_i[f, k] * real_j[f, k] - real_i[f, k] * imag_j[f, k]
            signs += (im > 0.0) - (im < 0.0)
            total += im
            weight += abs(im)
            squares += im * im
        index = signs / n_tapers
        values[PLI, f] = index
        values[DSPLI, f] = (n_tapers * index * index - 1.0) / (n_tapers - 1.0)
        values[WPLI, f] = total / (weight if weight >= n_tapers * SMALLEST_WEIGHT else n_tapers)
        rest = weight * weight - squares
        values[DSWPLI, f] = np.nan if rest == 0.0 else (total * total - squares) / rest


@kernel
def _reduce(
    values: Array,
    coherency: Array,
    bins: Integers,
    slopes: Integers,
    needed: Flags,
    reduced: Array,
) -> None:
    """Reduce every needed measure over every needed band, in both directions of the pair."""
    for band in range(bins.shape[0]):
        first, end = bins[band]
        for measure in range(PSI):
            if needed[measure, band]:
                mean, highest, lowest = _statistics(values[measure, first:end])
                if measure == PLI or measure == WPLI:  # noqa: PLR1714 - numba
                    back_mean, back_highest = -mean, -lowest
                elif measure == PHASE:
                    row = values[REVERSED_PHASE, first:end]
                    back_mean, back_highest, _ = _statistics(row)
                else:
                    back_mean, back_highest = mean, highest
                reduced[measure, MEAN, band, FORWARD] = mean
                reduced[measure, MEAN, band, BACKWARD] = back_mean
                reduced[measure, MAX, band, FORWARD] = highest
                reduced[measure, MAX, band, BACKWARD] = back_highest
        if needed[PSI, band]:
            slope = _phase_slope(coherency, slopes[band, 0], slopes[band, 1], slopes[band, 2])
            reduced[PSI, MEAN, band, FORWARD] = slope
            reduced[PSI, MEAN, band, BACKWARD] = -slope


@kernel
def _statistics(row: Array) -> tuple[float, float, float]:
    """Return mean, maximum and minimum of the entries that are not NaN."""
    total = 0.0
    count = 0
    highest = np.nan
    lowest = np.nan
    for value in row:
        if value == value:  # noqa: PLR0124 - false for NaN only
            if count == 0:
                highest = value
                lowest = value
            highest = max(highest, value)
            lowest = min(lowest, value)
            total += value
            count += 1
    return (total / count if count else np.nan), highest, lowest


@kernel
def _phase_slope(coherency: Array, first: int, end: int, step: int) -> float:
    """Return Im sum_{a<b} conj(C_a) C_b, with the inner sum carried along."""
    slope = 0.0
    before_re = 0.0
    before_im = 0.0
    for f in range(first, end, step):
        re, im = coherency[0, f], coherency[1, f]
        slope += before_re * im - before_im * re
        before_re += re
        before_im += im
    return slope
