"""How much the distribution of one region changes with the value of another (Fonollosa 2019).

The row is cut into bins half a standard deviation wide, within three of them. In every bin with
more than 12 time points the column's values are binned in the same way after removing their mean
in that bin; the score is the standard deviation of these histograms around their average, 0 if no
bin is full enough. A region with no more distinct values than bins (13) is not cut: its values
are the bins, and instead of removing means a histogram is shifted to where it correlates most
with the column's own.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["conditional_spreads"]

BINS_PER_DEVIATION = 2
MOST_DEVIATIONS = 3
EDGE = BINS_PER_DEVIATION * MOST_DEVIATIONS
N_BINS = 2 * EDGE + 1
FEWEST_POINTS = 12

Integers = NDArray[np.int64]


def conditional_spreads(rows: Array) -> Array:
    """Return the scores of one sample, shape (region, region)."""
    codes = np.empty(rows.shape, dtype=np.int64)
    n_values = np.zeros(len(rows), dtype=np.int64)
    for region, row in enumerate(rows):
        values, places = np.unique(row, return_inverse=True)
        if len(values) <= N_BINS:
            codes[region], n_values[region] = places, len(values)
        else:
            codes[region] = _binned(row) + EDGE
    scaled = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    return _scores(scaled, codes, n_values)


def _binned(row: Array) -> Integers:
    """Cut standardised values into bins; mean and deviation leave out the far values."""
    scaled = (row - row.mean()) / row.std()
    near = scaled[np.abs(scaled) < MOST_DEVIATIONS]
    scaled = (scaled - near.mean()) / near.std()
    bins: Integers = np.clip(np.rint(scaled * BINS_PER_DEVIATION), -EDGE, EDGE).astype(np.int64)
    return bins


@kernel
def _scores(scaled: Array, codes: Integers, n_values: Integers) -> Array:
    n_regions = scaled.shape[0]
    out = np.full((n_regions, n_regions), np.nan)
    for i in range(n_regions):
        counts = np.zeros(N_BINS, dtype=np.int64)
        for code in codes[i]:
            counts[code] += 1
        full = np.flatnonzero(counts > FEWEST_POINTS)
        for j in range(n_regions):
            if i != j:
                out[i, j] = _score(codes[i], full, counts, scaled[j], codes[j], n_values[j])
    return out


@kernel
def _score(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    bins: Integers, full: Integers, counts: Integers, values: Array, codes: Integers, n_values: int
) -> float:
    if full.size == 0:
        return 0.0
    width = 3 * n_values - 2 if n_values > 0 else N_BINS
    shares = np.zeros((full.size, width))
    for place in range(full.size):
        inside = bins == full[place]
        if n_values > 0:
            _shifted_histogram(codes, inside, n_values, shares[place])
        else:
            _centred_histogram(values, inside, shares[place])
        shares[place] /= counts[full[place]]
    total = 0.0
    for column in range(width):
        mean = shares[:, column].mean()
        for place in range(full.size):
            total += (shares[place, column] - mean) ** 2
    return sqrt(total / shares.size)


@kernel
def _centred_histogram(values: Array, inside: NDArray[np.bool_], out: Array) -> None:
    mean = values[inside].mean()
    for t in range(values.size):
        if inside[t]:
            place = np.rint((values[t] - mean) * BINS_PER_DEVIATION)
            out[int(min(max(place, -EDGE), EDGE)) + EDGE] += 1.0


@kernel
def _shifted_histogram(
    codes: Integers, inside: NDArray[np.bool_], n_values: int, out: Array
) -> None:
    marginal, counts = np.zeros(n_values), np.zeros(n_values)
    for t in range(codes.size):
        marginal[codes[t]] += 1.0
        if inside[t]:
            counts[codes[t]] += 1.0
    best, shift = -1.0, 0
    for candidate in range(2 * n_values - 1):
        overlap = 0.0
        for k in range(n_values):
            other = k + candidate - (n_values - 1)
            if 0 <= other < n_values:
                overlap += marginal[k] * counts[other]
        if overlap > best:
            best, shift = overlap, candidate
    for k in range(n_values):
        out[2 * n_values - 2 - shift + k] = counts[k]
