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
from sclcs.spi.families.dependence.connected import Runs, largest_region
from sclcs.spi.families.dependence.series_distances import Ranks, column_ranks

__all__ = ["Neighbourhoods", "multiscale_correlations", "neighbourhoods"]

_SMALL_SHARE = 0.02  # of the scales: a smaller region of large correlations is chance
_TOGETHER = 4  # rows whose running sums are taken at a time, because each waits for its own last


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
    n_scales: NDArray[np.int64]


def neighbourhoods(distances: Array) -> Neighbourhoods:
    """Rank and centre distance matrices, (region, time, time)."""
    columns = np.ascontiguousarray(np.swapaxes(distances, 1, 2))
    n = columns.shape[-1]
    ranks = column_ranks(columns)
    columns -= columns.sum(axis=-1, keepdims=True) / (n - 1)
    columns[:, np.arange(n), np.arange(n)] = 0.0
    expected, precision = np.zeros((2, len(columns), n))
    _sum_by_scale(ranks, columns, expected, precision)
    return Neighbourhoods(ranks, columns, expected, precision, _n_scales(ranks))


def _n_scales(ranks: Ranks) -> NDArray[np.int64]:
    largest: NDArray[np.int64] = ranks.max(axis=(1, 2)).astype(np.int64)
    return largest + 1


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
    table, down = np.zeros((n + _TOGETHER, n)), np.empty(n)
    runs = Runs(np.empty((4, n * (n + 1) // 2 + 1), dtype=np.int64), np.empty(n * (n + 1) // 2 + 1))
    for i in range(out.shape[0]):
        for j in range(i + 1 if only_upper else 0, out.shape[1]):
            scales = table[: first.n_scales[i] + _TOGETHER, : second.n_scales[j]]
            _collect(first, i, second, j, scales)
            _add_along_both_axes(scales, down)
            out[i, j] = _smoothed_maximum(first, i, second, j, threshold, scales, runs)
            if only_upper:
                out[j, i] = out[i, j]


@kernel
def _collect(first: Neighbourhoods, i: int, second: Neighbourhoods, j: int, scales: Array) -> None:
    """Add every product of distances at its pair of ranks; the second series is transposed."""
    n = first.ranks.shape[-1]
    scales[:] = 0.0
    for s in range(n):
        row, column = first.ranks[i, s], second.ranks[j, s]
        x, y = first.distances[i, s], second.distances[j, s]
        for t in range(n):
            scales[row[t], column[t]] += x[t] * y[t]


@kernel
def _add_along_both_axes(scales: Array, down: Array) -> None:
    """Turn cells into sums over all rows and columns up to theirs; spare rows are zero."""
    down[:] = 0.0
    for k in range(0, scales.shape[0] - _TOGETHER, _TOGETHER):
        t0 = t1 = t2 = t3 = 0.0
        r0, r1, r2, r3 = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
        for m in range(scales.shape[1]):
            c0 = r0[m] + down[m]
            c1 = r1[m] + c0
            c2 = r2[m] + c1
            c3 = r3[m] + c2
            down[m] = c3
            t0, t1, t2, t3 = t0 + c0, t1 + c1, t2 + c2, t3 + c3
            r0[m], r1[m], r2[m], r3[m] = t0, t1, t2, t3


@kernel
def _smoothed_maximum(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    first: Neighbourhoods,
    i: int,
    second: Neighbourhoods,
    j: int,
    threshold: float,
    scales: Array,
    runs: Runs,
) -> float:
    """Turn sums into correlations; return the maximum over the largest region of large ones."""
    n_rows, n_columns = first.n_scales[i], second.n_scales[j]
    n_squared = first.ranks.shape[-1] ** 2
    means, precisions = second.expected[j], second.precision[j]
    everything = limit = 0.0
    count, top = 0, n_rows
    # The last row first: its last cell is everything.
    for k in range(n_rows - 1, -1, -1):
        expected, precision = first.expected[i, k] / n_squared, first.precision[i, k]
        row = scales[k]
        for m in range(n_columns):
            covariance = row[m] - expected * means[m]
            row[m] = min(covariance * precision * precisions[m], 1.0)
        if k == n_rows - 1:
            everything = row[n_columns - 1]
            limit = max(threshold, everything)
        in_row = 0
        for m in range(n_columns):
            in_row += row[m] > limit
        if in_row:
            top = k
        count += in_row
    smallest = np.ceil(_SMALL_SHARE * max(n_rows, n_columns)) * min(n_rows, n_columns)
    if count < smallest:
        return everything
    area, highest = largest_region(scales[top:n_rows], limit, runs)
    return max(highest, everything) if area >= smallest else everything
