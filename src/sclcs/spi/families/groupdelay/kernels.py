"""Compiled loops of the group delay family."""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import atan2, pi

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.cross_spectrum import coherency
from sclcs.numerics.jit import kernel

__all__ = [
    "FEWEST_BINS",
    "N_CLASSES",
    "classify_coherences",
    "classify_kept",
    "coherence_class",
    "coherences",
    "collect_coherences",
    "collect_kept",
    "delays",
]

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
def coherence_class(value: float, n_classes: int) -> int:
    """Return the class of a squared coherence; a larger one is never in a lower class."""
    return min(int(value * n_classes), n_classes - 1)


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
                    classes[coherence_class(value, classes.size)] += 1


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
                if value >= 0.0 and lowest <= coherence_class(value, N_CLASSES) < highest:
                    out[place] = value
                    place += 1


@kernel
def classify_kept(values: Array, first: int, end: int, classes: NDArray[np.int64]) -> None:
    """Count the squared coherences (pair, frequency) of some bins by class."""
    for pair in range(values.shape[0]):
        row = values[pair]
        for f in range(first, end):
            if row[f] >= 0.0:  # not NaN
                classes[coherence_class(row[f], classes.size)] += 1


@kernel
def collect_kept(
    values: Array, first: int, end: int, lowest: int, highest: int, out: Array
) -> None:
    """Write the squared coherences of some bins whose class is at least `lowest` and below."""
    place = 0
    for pair in range(values.shape[0]):
        row = values[pair]
        for f in range(first, end):
            if row[f] >= 0.0 and lowest <= coherence_class(row[f], N_CLASSES) < highest:
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
