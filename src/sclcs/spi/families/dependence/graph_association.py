"""Heller, Heller and Gorfine's statistic from bit sets.

For two points i and j, every other point is nearer to i than j is, or not, in either series:
a 2 x 2 table, whose chi-square is summed over all i and j. The sets of nearer points are bit
sets, so that the one cell which depends on both series is a population count, and all that
depends on one series is made once per series.
"""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.neighbours import WORD, Words, n_words, population

__all__ = ["association_statistics"]


def association_statistics(rows: Array, memory_bytes: int) -> Array:
    """Return the statistic of all pairs of rows, (region, region)."""
    n_regions, n_times = rows.shape
    rows = np.ascontiguousarray(rows)
    out = np.zeros((n_regions, n_regions))
    bytes_per_centre = n_regions * n_times * (8 * n_words(n_times) + 16)
    block = max(1, int(memory_bytes // bytes_per_centre))
    for start in range(0, n_times, block):
        stop = min(start + block, n_times)
        _add_chi_squares(*_nearer_points(rows, start, stop), n_times - 2, out)
    return out


@kernel
def _nearer_points(rows: Array, start: int, stop: int) -> tuple[Words, Array, Array]:
    """Return, by region, centre i and point j, the points nearer to i than j is.

    As bit sets, as their number without i and j, and as the factor of one series in the
    denominator of the chi-square (zero where it is not defined).
    """
    n_regions, n_times = rows.shape
    words = (n_times + WORD - 1) // WORD
    nearer = np.zeros((n_regions, stop - start, n_times, words), dtype=np.uint64)
    counts, weights = np.zeros((2, n_regions, stop - start, n_times))
    distance = np.empty(n_times)
    for region in range(n_regions):
        x = rows[region]
        for i in range(start, stop):
            for k in range(n_times):
                squared = (-2.0 * (x[i] * x[k]) + x[i] * x[i]) + x[k] * x[k]
                distance[k] = np.sqrt(max(squared, 0.0))
            distance[i] = 0.0
            for j in range(n_times):
                number = -2
                for k in range(n_times):
                    near = distance[k] <= distance[j]
                    bit = np.uint64(near) << np.uint64(k % WORD)
                    nearer[region, i - start, j, k // WORD] |= bit
                    number += near
                # Point i is no partner of itself: it keeps the weight zero.
                if i != j and 0 < number < n_times - 2:
                    counts[region, i - start, j] = number
                    weights[region, i - start, j] = 1.0 / (number * (n_times - 2 - number))
    return nearer, counts, weights


@kernel
def _add_chi_squares(
    nearer: Words, counts: Array, weights: Array, n_others: int, out: Array
) -> None:
    n_regions, n_centres, n_times, words = nearer.shape
    for a in range(n_regions):
        for b in range(a):
            total = 0.0
            for i in range(n_centres):
                for j in range(n_times):
                    both = np.uint64(0)
                    for w in range(words):
                        both += population(nearer[a, i, j, w] & nearer[b, i, j, w])
                    # Points i and j are in both sets.
                    excess = counts[a, i, j] * counts[b, i, j] - n_others * (float(both) - 2.0)
                    total += excess * excess * weights[a, i, j] * weights[b, i, j]
            out[a, b] += n_others * total
            out[b, a] = out[a, b]
