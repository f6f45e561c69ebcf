"""Multiscale graph correlation (Vogelstein et al. 2019; Shen et al. 2020).

Distances are centred by column, and ranked by column: rank k means "the k-th neighbour". The
local correlation of scale (k, l) uses only the pairs of points that are within k neighbours in
one series and within l in the other. The statistic is the correlation at full scale or, where a
large enough connected region of scales exceeds both it and a threshold, the maximum there.

The local correlations of all scales are the running sums, along both axes, of one table that
collects each product of distances at its pair of ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.spi.families.dependence.series_distances import Ranks, column_ranks

__all__ = ["Neighbourhoods", "multiscale_correlations", "neighbourhoods"]

_SMALL_SHARE = 0.02  # of the scales: a smaller region of large correlations is chance


class Neighbourhoods(NamedTuple):
    """What multiscale correlations need of each series.

    ``ranks`` and ``distances`` (centred) have the shape (region, point, neighbour); ``expected``
    holds the running sums of the centred distances by rank and ``precision`` one over the local
    standard deviations, (region, scale); ``n_scales`` is the number of distinct ranks.
    """

    ranks: Ranks
    distances: Array
    expected: Array
    precision: Array
    n_scales: NDArray[np.int32]


def neighbourhoods(distances: Array) -> Neighbourhoods:
    """Rank and centre distance matrices, (region, time, time)."""
    columns = np.ascontiguousarray(np.swapaxes(distances, 1, 2))
    n = columns.shape[-1]
    ranks = column_ranks(columns)
    columns -= columns.sum(axis=-1, keepdims=True) / (n - 1)
    columns[:, np.arange(n), np.arange(n)] = 0.0
    expected, precision = np.zeros((2, len(columns), n))
    _sum_by_scale(ranks, columns, expected, precision)
    return Neighbourhoods(ranks, columns, expected, precision, ranks.max(axis=(1, 2)) + 1)


def multiscale_correlations(
    first: Neighbourhoods, second: Neighbourhoods, *, only_upper: bool
) -> Array:
    """Return the statistic of all pairs, (region of first, region of second).

    With ``only_upper`` both are the same regions, and the pairs i < j are computed and mirrored.
    """
    out = np.zeros((len(first.ranks), len(second.ranks)))
    n = first.ranks.shape[-1]
    threshold = _threshold(n - 1)  # the threshold of one point fewer, as scipy takes it
    transposed = second._replace(
        ranks=np.ascontiguousarray(np.swapaxes(second.ranks, 1, 2)),
        distances=np.ascontiguousarray(np.swapaxes(second.distances, 1, 2)),
    )
    _fill(first, transposed, threshold, only_upper, out)
    return out


def _threshold(n: int) -> float:
    """Return a quantile of correlations of n independent points, nearly beta on (-1, 1)."""
    shape = n * (n - 3) / 4 - 0.5
    return 2.0 * float(betaincinv(shape, shape, 1.0 - _SMALL_SHARE / n)) - 1.0


@kernel
def _sum_by_scale(ranks: Ranks, distances: Array, expected: Array, precision: Array) -> None:
    n_regions, n, _ = ranks.shape
    for region in range(n_regions):
        rank, distance = ranks[region], distances[region]
        sums, products = expected[region], precision[region]
        for s in range(n):
            for t in range(n):
                sums[rank[s, t]] += distance[s, t]
                products[max(rank[s, t], rank[t, s])] += distance[s, t] * distance[t, s]
        for k in range(1, n):
            sums[k] += sums[k - 1]
            products[k] += products[k - 1]
        for k in range(n):
            variance = products[k] - sums[k] * sums[k] / n**2
            precision[region, k] = 1.0 / np.sqrt(variance) if variance > 0.0 else 0.0


@kernel
def _fill(
    first: Neighbourhoods, second: Neighbourhoods, threshold: float, only_upper: bool, out: Array
) -> None:
    n = first.ranks.shape[-1]
    table = np.empty((n, n))
    labels = np.empty((n, n), dtype=np.int32)
    stack = np.empty(n * n, dtype=np.int32)
    for i in range(out.shape[0]):
        for j in range(i + 1 if only_upper else 0, out.shape[1]):
            scales = table[: first.n_scales[i], : second.n_scales[j]]
            _local_correlations(first, i, second, j, scales)
            out[i, j] = _smoothed_maximum(scales, threshold, labels, stack)
            if only_upper:
                out[j, i] = out[i, j]


@kernel
def _local_correlations(
    first: Neighbourhoods, i: int, second: Neighbourhoods, j: int, scales: Array
) -> None:
    """Fill the correlations of all scales; the second series is given transposed."""
    n = first.ranks.shape[-1]
    scales[:] = 0.0
    for s in range(n):
        row, column = first.ranks[i, s], second.ranks[j, s]
        x, y = first.distances[i, s], second.distances[j, s]
        for t in range(n):
            scales[row[t], column[t]] += x[t] * y[t]
    for k in range(1, scales.shape[0]):
        for m in range(scales.shape[1]):
            scales[k, m] += scales[k - 1, m]
    for k in range(scales.shape[0]):
        expected = first.expected[i, k] / n**2
        precision = first.precision[i, k]
        total = 0.0
        for m in range(scales.shape[1]):
            total += scales[k, m]
            covariance = total - expected * second.expected[j, m]
            scales[k, m] = min(covariance * precision * second.precision[j, m], 1.0)


@kernel
def _smoothed_maximum(
    scales: Array, threshold: float, labels: NDArray[np.int32], stack: NDArray[np.int32]
) -> float:
    """Return the maximum over the largest connected region of large correlations."""
    n_rows, n_columns = scales.shape
    everything = float(scales[n_rows - 1, n_columns - 1])
    smallest = np.ceil(_SMALL_SHARE * max(n_rows, n_columns)) * min(n_rows, n_columns)
    if _mark_large(scales, max(threshold, everything), labels) < smallest:
        return everything
    label, area = _largest_region(labels, n_rows, n_columns, stack)
    if area < smallest:
        return everything
    best = everything
    for k in range(n_rows):
        for m in range(n_columns):
            if labels[k, m] == label:
                best = max(best, scales[k, m])
    return best


@kernel
def _mark_large(scales: Array, threshold: float, labels: NDArray[np.int32]) -> int:
    """Label cells -1 (large, and not in a region yet) or 0; return how many are large."""
    count = 0
    for k in range(scales.shape[0]):
        for m in range(scales.shape[1]):
            large = scales[k, m] > threshold
            labels[k, m] = -1 if large else 0
            count += large
    return count


@kernel
def _largest_region(
    labels: NDArray[np.int32], n_rows: int, n_columns: int, stack: NDArray[np.int32]
) -> tuple[int, int]:
    """Label the connected regions of -1; return the label and the size of the largest."""
    largest = size = n_labels = 0
    for k in range(n_rows):
        for m in range(n_columns):
            if labels[k, m] == -1:
                n_labels += 1
                area = _flood(labels[:n_rows, :n_columns], k, m, n_labels, stack)
                if area > size:
                    largest, size = n_labels, area
    return largest, size


@kernel
def _flood(
    labels: NDArray[np.int32], row: int, column: int, label: int, stack: NDArray[np.int32]
) -> int:
    """Label the region around a cell; neighbours share an edge. Return its number of cells."""
    n_rows, n_columns = labels.shape
    labels[row, column] = label
    stack[0] = row * n_columns + column
    height, area = 1, 0
    while height > 0:
        height -= 1
        area += 1
        k, m = divmod(stack[height], n_columns)
        for a, b in ((k - 1, m), (k + 1, m), (k, m - 1), (k, m + 1)):
            if 0 <= a < n_rows and 0 <= b < n_columns and labels[a, b] == -1:
                labels[a, b] = label
                stack[height] = a * n_columns + b
                height += 1
    return area
