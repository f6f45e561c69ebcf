"""Compiled loops of the group delay family."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import atan2, pi
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.spectra import (
    Spectra,
    band_bins,
    coherency,
    decimation,
    frequency_grid,
    spectra,
    tapers,
)
from sclcs.spi.own import FamilyContext

__all__ = [
    "FEWEST_BINS",
    "MEMBERS",
    "N_CLASSES",
    "DelayBand",
    "classify_coherences",
    "classify_kept",
    "coherence_class",
    "coherences",
    "collect_coherences",
    "collect_kept",
    "compute",
    "delays",
]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


FEWEST_BINS = 3
N_CLASSES = 2**16  # of squared coherences by size


@kernel
def coherences(real: Array, imag: Array, scale: Array) -> Array:
    """Return the squared coherences of all pairs i < j, shape (pair, frequency)."""
    n_regions, _, n_bins = real.shape
    out = np.empty((n_regions * (n_regions - 1) // 2, n_bins))
    re, im = np.empty(n_bins), np.empty(n_bins)
    place = 0
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            coherency(real, imag, scale, i, j, re, im)
            row = out[place]
            for f in range(n_bins):
                row[f] = re[f] * re[f] + im[f] * im[f]
            place += 1
    return out


@kernel
def coherence_class(value: float) -> int:
    """Return the class of a squared coherence; a larger one is never in a lower class."""
    return min(int(value * N_CLASSES), N_CLASSES - 1)


@kernel
def classify_coherences(real: Array, imag: Array, scale: Array, classes: NDArray[np.int64]) -> None:
    """Count the squared coherences of pairs i < j by class."""
    n_regions, _, n_bins = real.shape
    re, im = np.empty(n_bins), np.empty(n_bins)
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            coherency(real, imag, scale, i, j, re, im)
            for f in range(n_bins):
                value = re[f] * re[f] + im[f] * im[f]
                if value >= 0.0:  # not NaN
                    classes[coherence_class(value)] += 1


@kernel
def collect_coherences(
    real: Array, imag: Array, scale: Array, lowest: int, highest: int, out: Array
) -> None:
    """Write the squared coherences of pairs i < j whose class is at least `lowest` and below."""
    n_regions, _, n_bins = real.shape
    re, im = np.empty(n_bins), np.empty(n_bins)
    place = 0
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            coherency(real, imag, scale, i, j, re, im)
            for f in range(n_bins):
                value = re[f] * re[f] + im[f] * im[f]
                if value >= 0.0 and lowest <= coherence_class(value) < highest:
                    out[place] = value
                    place += 1


@kernel
def classify_kept(values: Array, first: int, end: int, classes: NDArray[np.int64]) -> None:
    """Count the squared coherences (pair, frequency) of some bins by class."""
    for pair in range(values.shape[0]):
        row = values[pair]
        for f in range(first, end):
            if row[f] >= 0.0:  # not NaN
                classes[coherence_class(row[f])] += 1


@kernel
def collect_kept(
    values: Array, first: int, end: int, lowest: int, highest: int, out: Array
) -> None:
    """Write the squared coherences of some bins whose class is at least `lowest` and below."""
    place = 0
    for pair in range(values.shape[0]):
        row = values[pair]
        for f in range(first, end):
            if row[f] >= 0.0 and lowest <= coherence_class(row[f]) < highest:
                out[place] = row[f]
                place += 1


@kernel
def delays(
    real: Array,
    imag: Array,
    scale: Array,
    frequencies: Array,
    bands: NDArray[np.int64],
    thresholds: Array,
    out: Array,
) -> None:
    """Write the delay of every pair and band that has a long enough significant run.

    Bands are rows of start, end, step and the place in `out` (operator, region, region).
    """
    n_regions, _, n_bins = real.shape
    re, im = np.empty(n_bins), np.empty(n_bins)
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            coherency(real, imag, scale, i, j, re, im)
            for band in range(bands.shape[0]):
                first, end, step, place = bands[band]
                start, length = _longest_run(re[first:end], im[first:end], thresholds[band])
                if (length + step - 1) // step >= FEWEST_BINS:
                    begin = first + start
                    stop = begin + length
                    phase = _unwrapped_phase(re[begin:stop], im[begin:stop])
                    slope = _slope(frequencies[begin:stop:step], phase[::step])
                    out[place, i, j] = slope / (2 * pi)
                    out[place, j, i] = -out[place, i, j]


@kernel
def _longest_run(re: Array, im: Array, threshold: float) -> tuple[int, int]:
    """Return start and length of the first longest run of significant bins."""
    best_start = 0
    best = 0
    length = 0
    for f in range(re.size):
        if re[f] * re[f] + im[f] * im[f] >= threshold:
            length += 1
            if length > best:
                best = length
                best_start = f - length + 1
        else:
            length = 0
    return best_start, best


@kernel
def _unwrapped_phase(re: Array, im: Array) -> Array:
    """Return the phase of a run, unwrapped from its first bin (a constant does not matter)."""
    phase = np.empty(re.size)
    turns = 0.0
    previous = 0.0
    for f in range(re.size):
        angle = atan2(im[f], re[f])
        if f > 0:
            if angle - previous > pi:
                turns -= 1.0
            elif angle - previous < -pi:
                turns += 1.0
        previous = angle
        phase[f] = angle + 2 * pi * turns
    return phase


@kernel
def _slope(abscissa: Array, ordinate: Array) -> float:
    """Return the ordinary least-squares slope."""
    mean_x = abscissa.mean()
    mean_y = ordinate.mean()
    covariance = 0.0
    variance = 0.0
    for x, y in zip(abscissa, ordinate):  # noqa: B905 - numba's zip has no `strict`
        covariance += (x - mean_x) * (y - mean_y)
        variance += (x - mean_x) ** 2
    return covariance / variance


SIGNIFICANCE = 0.05
CLASSES_AT_ONCE = 4


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
    names = list(members)
    n_samples, n_regions, n_times = signals.shape
    result = np.full((n_samples, len(names), n_regions, n_regions), np.nan)
    plan = _plan([MEMBERS[name] for name in names], n_times)
    if len(tapers(n_times)) > 1 and len(plan.bins):
        for sample in range(n_samples):
            _delays(spectra(signals[sample]), plan, context.memory_bytes, result[sample])
    return {name: result[:, place] for place, name in enumerate(names)}


@dataclass(frozen=True)
class _Grid:
    """The bands of operators among the bins of all of them together.

    Parameters
    ----------
    first : int
        The lowest bin.
    frequencies : array
        From there to the highest bin.
    bins : array of int, shape (band, 4)
        Of every band that is wide enough: start and end from `first` on, step, operator.
    """

    first: int
    frequencies: Array
    bins: NDArray[np.int64]


def _plan(bands: Sequence[DelayBand], n_times: int) -> _Grid:
    frequencies = frequency_grid(n_times)
    found = []
    for place, band in enumerate(bands):
        first, end = band_bins(frequencies, band.lowest, band.highest, strict=True)
        if end - first >= FEWEST_BINS:
            step = decimation(frequencies, band.lowest, band.highest)
            found.append((first, end, step, place))
    bins = np.array(found, dtype=np.int64).reshape(-1, 4)
    if not found:
        return _Grid(0, frequencies[:0], bins)
    first, end = int(bins[:, 0].min()), int(bins[:, 1].max())
    bins[:, :2] -= first
    return _Grid(first, frequencies[first:end], bins)


def _delays(transform: Spectra, plan: _Grid, memory_bytes: int, out: Array) -> None:
    bins = slice(plan.first, plan.first + len(plan.frequencies))
    real = np.ascontiguousarray(transform.real[..., bins])
    imag = np.ascontiguousarray(transform.imag[..., bins])
    scale = 1.0 / np.sqrt((real**2 + imag**2).sum(axis=1))
    n_pairs = len(real) * (len(real) - 1) // 2
    if 8 * n_pairs * len(plan.frequencies) <= memory_bytes:
        kept = coherences(real, imag, scale)  # once for all bands and passes
        thresholds = [
            _significant_coherence(_KeptCoherences(kept, *band[:2]), real.shape[1])
            for band in plan.bins.tolist()
        ]
    else:
        thresholds = [
            _significant_coherence(_Coherences(real, imag, scale, *band[:2]), real.shape[1])
            for band in plan.bins.tolist()
        ]
    delays(real, imag, scale, plan.frequencies, plan.bins, np.array(thresholds), out)


class _KeptCoherences:
    """The squared coherences of a band, in memory."""

    def __init__(self, values: Array, first: int, end: int) -> None:
        self._values, self._first, self._end = values, first, end
        self.size = len(values) * (end - first)

    def count_by_class(self, classes: NDArray[np.int64]) -> None:
        """Add how many are in every class of sizes."""
        classify_kept(self._values, self._first, self._end, classes)

    def between(self, lowest: int, highest: int, out: Array) -> None:
        """Write those of some classes."""
        collect_kept(self._values, self._first, self._end, lowest, highest, out)


class _Coherences:
    """The squared coherences of a band, computed whenever they are asked for."""

    def __init__(self, real: Array, imag: Array, scale: Array, first: int, end: int) -> None:
        self._real = np.ascontiguousarray(real[..., first:end])
        self._imag = np.ascontiguousarray(imag[..., first:end])
        self._scale = np.ascontiguousarray(scale[..., first:end])
        self.size = len(real) * (len(real) - 1) // 2 * (end - first)

    def count_by_class(self, classes: NDArray[np.int64]) -> None:
        """Add how many are in every class of sizes."""
        classify_coherences(self._real, self._imag, self._scale, classes)

    def between(self, lowest: int, highest: int, out: Array) -> None:
        """Write those of some classes."""
        collect_coherences(self._real, self._imag, self._scale, lowest, highest, out)


def _significant_coherence(values: _KeptCoherences | _Coherences, n_tapers: int) -> float:
    """Return the smallest squared coherence that is significant; infinity if none is.

    With r(t) the number of p-values <= t among m, the Benjamini-Hochberg cut is the
    largest solution of t = 0.05 r(t)/m. Iterating from t = 0.05, or from any larger solution
    of a bound of r, falls onto it, and needs counts only: no list of all p-values
    (region x region x frequency) is ever sorted. One pass counts by class of sizes, a second
    collects the few of the classes in which the cut is.
    """
    classes = np.zeros(N_CLASSES, dtype=np.int64)
    values.count_by_class(classes)
    reached = np.append(classes[::-1].cumsum()[::-1], 0)

    def threshold_at(count: int) -> float:
        return _coherence_at(SIGNIFICANCE * count / values.size, n_tapers)

    def class_at(count: int) -> int:
        return coherence_class(threshold_at(count))

    count = values.size
    while count and reached[class_at(count)] < count:  # a coherence that passes is there or above
        count = int(reached[class_at(count)])
    lowest = highest = 0
    collected = np.empty(0)
    while count:
        if not lowest <= class_at(count) < highest:
            lowest = class_at(count)
            highest = min(lowest + CLASSES_AT_ONCE, N_CLASSES)
            collected = np.empty(reached[lowest] - reached[highest])
            values.between(lowest, highest, collected)
        threshold = threshold_at(count)
        passed = int(reached[highest]) + int(np.count_nonzero(collected >= threshold))
        if passed == count:
            return threshold
        count = passed
    return np.inf


def _coherence_at(p_value: float, n_tapers: int) -> float:
    """Return the squared coherence whose p-value is `p_value`."""
    from scipy.special import ndtri

    bias = 1.0 / (2 * n_tapers - 2)
    magnitude = np.tanh(bias - ndtri(p_value) * np.sqrt(bias))
    return float(magnitude) ** 2
