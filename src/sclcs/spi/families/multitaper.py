"""The pass over pairs of the multitaper family: per-frequency values, then band statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import atan2, pi, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.spectra import (
    band_bins,
    coherency,
    cross_spectrum,
    decimation,
    frequency_grid,
    spectra,
    tapers,
)
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "N_MEASURES", "BandStatistic", "all_pairs", "compute"]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


COHMAG, ICOH, PHASE, PLV, PPC, PLI, WPLI, DSPLI, DSWPLI, PSI = range(10)
N_MEASURES = 10
REVERSED_PHASE = PSI  # psi has no values per frequency, so its row holds the phase of (j, i)
MEAN, MAX = 0, 1  # psi, which has no statistic, is kept as a mean
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
    asked: Flags,
    out: Array,
) -> None:
    """Fill ``out[operator, i, j]`` and ``out[operator, j, i]`` for every pair i < j."""
    n_regions, n_tapers, n_bins = real.shape
    coherence = asked[COHMAG] or asked[ICOH] or asked[PHASE] or asked[PSI]
    locking = asked[PLV] or asked[PPC]
    lag = asked[PLI] or asked[WPLI] or asked[DSPLI] or asked[DSWPLI]
    unit_real, unit_imag, scale = _normalise(real, imag, locking)
    values = np.empty((N_MEASURES, n_bins))
    scratch = np.empty((5, n_bins))
    reduced = np.empty((N_MEASURES, 2, bins.shape[0], 2))
    re, im = np.empty(n_bins), np.empty(n_bins)
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            if locking:
                cross_spectrum(unit_real[i], unit_imag[i], unit_real[j], unit_imag[j], re, im)
                _locking_values(re, im, n_tapers, values)
            if lag:
                _lag_sums(real[i], imag[i], real[j], imag[j], scratch)
                _lag_values(scratch, n_tapers, values)
            if coherence:
                coherency(real, imag, scale, i, j, re, im)
                _coherence_values(re, im, asked[PHASE], values)
            _reduce(values, re, im, bins, slopes, needed, reduced)
            for operator in range(codes.shape[0]):
                measure, statistic, band = codes[operator]
                out[operator, i, j] = reduced[measure, statistic, band, FORWARD]
                out[operator, j, i] = reduced[measure, statistic, band, BACKWARD]


@kernel
def _normalise(real: Array, imag: Array, locking: bool) -> tuple[Array, Array, Array]:
    """Return the unit phasors of every coefficient and 1/sqrt(K P) of every region and bin.

    The phasors make the phase locking of a pair free of roots: G/abs(G) = u_i conj(u_j).
    """
    n_regions, n_tapers, n_bins = real.shape
    scale = np.zeros((n_regions, n_bins))
    shape = real.shape if locking else (0, 0, 0)
    unit_real, unit_imag = np.empty(shape), np.empty(shape)
    for i in range(n_regions):
        for k in range(n_tapers):
            for f in range(n_bins):
                power = real[i, k, f] ** 2 + imag[i, k, f] ** 2
                scale[i, f] += power
                if locking:
                    inverse = 1.0 / sqrt(power) if power > 0.0 else np.nan
                    unit_real[i, k, f] = real[i, k, f] * inverse
                    unit_imag[i, k, f] = imag[i, k, f] * inverse
        for f in range(n_bins):
            scale[i, f] = 1.0 / sqrt(scale[i, f]) if scale[i, f] > 0.0 else np.nan
    return unit_real, unit_imag, scale


@kernel
def _coherence_values(re: Array, im: Array, with_phase: bool, values: Array) -> None:
    for f in range(re.size):
        values[COHMAG, f] = re[f] * re[f] + im[f] * im[f]
        values[ICOH, f] = abs(im[f])
    if with_phase:
        for f in range(re.size):
            if im[f] == 0.0:
                # A real coherency has phase 0 or +pi in both directions.
                values[PHASE, f] = pi if re[f] < 0.0 else 0.0
                values[REVERSED_PHASE, f] = values[PHASE, f]
            else:
                values[PHASE, f] = atan2(im[f], re[f])
                values[REVERSED_PHASE, f] = -values[PHASE, f]


@kernel
def _locking_values(re: Array, im: Array, n_tapers: int, values: Array) -> None:
    for f in range(re.size):
        power = re[f] * re[f] + im[f] * im[f]
        values[PLV, f] = sqrt(power) / n_tapers
        values[PPC, f] = (power - n_tapers) / (n_tapers * n_tapers - n_tapers)


@kernel
def _lag_sums(real_i: Array, imag_i: Array, real_j: Array, imag_j: Array, sums: Array) -> None:
    """Write, over tapers, the sums of Im G, abs(Im G), (Im G)^2 and sign(Im G)."""
    total, weight, squares, signs, row = sums[0], sums[1], sums[2], sums[3], sums[4]
    n_tapers, n_bins = real_i.shape
    for f in range(n_bins):
        total[f] = weight[f] = squares[f] = signs[f] = 0.0
    for k in range(n_tapers):  # short loops over few arrays: each one is vectorised
        for f in range(n_bins):
            row[f] = imag_i[k, f] * real_j[k, f] - real_i[k, f] * imag_j[k, f]
        for f in range(n_bins):
            total[f] += row[f]
            weight[f] += abs(row[f])
        for f in range(n_bins):
            squares[f] += row[f] * row[f]
            signs[f] += (1.0 if row[f] > 0.0 else 0.0) - (1.0 if row[f] < 0.0 else 0.0)


@kernel
def _lag_values(sums: Array, n_tapers: int, values: Array) -> None:
    for f in range(sums.shape[1]):
        total, weight, squares = sums[0, f], sums[1, f], sums[2, f]
        index = sums[3, f] / n_tapers
        values[PLI, f] = index
        values[DSPLI, f] = (n_tapers * index * index - 1.0) / (n_tapers - 1.0)
        values[WPLI, f] = total / (weight if weight >= n_tapers * SMALLEST_WEIGHT else n_tapers)
        rest = weight * weight - squares
        values[DSWPLI, f] = (total * total - squares) / rest if rest != 0.0 else np.nan


@kernel
def _reduce(
    values: Array,
    re: Array,
    im: Array,
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
                back_mean, back_highest = mean, highest
                if measure in (PLI, WPLI):
                    back_mean, back_highest = -mean, -lowest
                elif measure == PHASE:
                    row = values[REVERSED_PHASE, first:end]
                    back_mean, back_highest, _ = _statistics(row)
                reduced[measure, MEAN, band, FORWARD] = mean
                reduced[measure, MEAN, band, BACKWARD] = back_mean
                reduced[measure, MAX, band, FORWARD] = highest
                reduced[measure, MAX, band, BACKWARD] = back_highest
        if needed[PSI, band]:
            start, stop, step = slopes[band]
            slope = _phase_slope(re[start:stop:step], im[start:stop:step])
            reduced[PSI, MEAN, band, FORWARD] = slope
            reduced[PSI, MEAN, band, BACKWARD] = -slope


@kernel
def _statistics(row: Array) -> tuple[float, float, float]:
    """Return mean, maximum and minimum of the entries that are not NaN."""
    total = 0.0
    count = 0
    highest = -np.inf
    lowest = np.inf
    for value in row:
        if not np.isnan(value):
            highest = max(highest, value)
            lowest = min(lowest, value)
            total += value
            count += 1
    if count == 0:
        return np.nan, np.nan, np.nan
    return total / count, highest, lowest


@kernel
def _phase_slope(re: Array, im: Array) -> float:
    """Return Im sum_{a<b} conj(C_a) C_b, with the sum over a carried along."""
    if re.size < 2:
        return np.nan
    slope = 0.0
    before_re = 0.0
    before_im = 0.0
    for f in range(re.size):
        slope += before_re * im[f] - before_im * re[f]
        before_re += re[f]
        before_im += im[f]
    return slope


MEASURES = {
    "cohmag": COHMAG,
    "icoh": ICOH,
    "phase": PHASE,
    "plv": PLV,
    "ppc": PPC,
    "pli": PLI,
    "wpli": WPLI,
    "dspli": DSPLI,
    "dswpli": DSWPLI,
    "psi": PSI,
}
STATISTICS = {"mean": MEAN, "max": MAX}
BANDS = {
    "fmin-0_fmax-0-5": (0.0, 0.5),
    "fmin-0_fmax-0-25": (0.0, 0.25),
    "fmin-0-25_fmax-0-5": (0.25, 0.5),
}


@dataclass(frozen=True)
class BandStatistic:
    """One operator: a measure, how it is reduced over frequency, and the band.

    Parameters
    ----------
    measure : str
        A key of the table above, or ``"psi"``.
    statistic : {"mean", "max"}
        Reduction over the band; psi has none, its name only says "mean".
    lowest, highest : float
        Band in cycles per sample.
    """

    measure: str
    statistic: str
    lowest: float
    highest: float


def _members() -> dict[str, BandStatistic]:
    return {
        f"{measure}_multitaper_{statistic}_fs-1_{label}": BandStatistic(measure, statistic, *band)
        for measure in MEASURES
        for statistic in (("mean",) if measure == "psi" else STATISTICS)
        for label, band in BANDS.items()
    }


MEMBERS: Mapping[str, BandStatistic] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute multitaper band statistics for every sample and pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: the pass over the pairs has no temporaries larger than its input.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
        Symmetric, antisymmetric or (for maxima of signed measures) neither.
    """
    del context
    names = list(members)
    n_samples, n_regions, n_times = signals.shape
    # Samples first: the kernel is given contiguous matrices, however many samples there are.
    result = np.full((n_samples, len(names), n_regions, n_regions), np.nan)
    if len(tapers(n_times)) > 1:  # one taper alone has no spread over tapers to average
        plan = _plan([MEMBERS[name] for name in names], n_times)
        for sample in range(n_samples):
            transform = spectra(signals[sample])
            all_pairs(transform.real, transform.imag, *plan, result[sample])
    return {name: result[:, place] for place, name in enumerate(names)}


def _plan(
    chosen: list[BandStatistic], n_times: int
) -> tuple[Integers, Integers, Integers, Flags, Flags]:
    """Translate operators to integers for the kernel.

    Returns
    -------
    codes : array, shape (operator, 3)
        Measure, statistic, band.
    bins : array, shape (band, 2)
        Half-open bin ranges, ends of the band included.
    slopes : array, shape (band, 3)
        First bin, end and step for the phase slope index.
    needed : array, shape (measure, band)
        What has to be computed at all.
    asked : array, shape (measure,)
        What of it in some band.
    """
    frequencies = frequency_grid(n_times)
    bands = list(BANDS.values())
    codes = np.array(
        [
            (MEASURES[c.measure], STATISTICS[c.statistic], bands.index((c.lowest, c.highest)))
            for c in chosen
        ],
        dtype=np.int64,
    ).reshape(-1, 3)
    bins = np.array([band_bins(frequencies, *band) for band in bands], dtype=np.int64)
    slopes = np.array(
        [
            (*band_bins(frequencies, *band, strict=True), decimation(frequencies, *band))
            for band in bands
        ],
        dtype=np.int64,
    )
    needed = np.zeros((N_MEASURES, len(bands)), dtype=np.bool_)
    needed[codes[:, 0], codes[:, 2]] = True
    return codes, bins, slopes, needed, needed.max(axis=1)
