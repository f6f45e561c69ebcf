"""Multiscale graph correlation (Vogelstein et al. 2019; Shen et al. 2020).

Distances are centred by column, and ranked by column: rank k means "the k-th neighbour". The
local correlation of scale (k, l) uses only the pairs of points that are within k neighbours in
one series and within l in the other. The statistic is the correlation at full scale or, where a
large enough connected region of scales exceeds both it and a threshold, the maximum there.

The local correlations of all scales are the running sums, along both axes, of one table that
collects each product of distances at its pair of ranks. A row of it is made at a time, from the
distances of this rank in the first series, for eight second series in lock step: what is added to
at random is small, and what is read at random is a whole line of the cache. Rows are kept only
where correlations may exceed the one at full scale, which a matrix product tells well enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.lanes import (
    WIDTH,
    add,
    add_at,
    aligned_empty,
    load,
    minimum,
    multiply,
    not_above,
    prefetch,
    spread,
    store,
    subtract,
    zeros,
)
from sclcs.spi.families.dependence.connected import Runs, largest_region
from sclcs.spi.families.dependence.series_distances import Ranks, column_ranks

__all__ = ["Neighbourhoods", "multiscale_correlations", "neighbourhoods"]

_SMALL_SHARE = 0.02  # of the scales: a smaller region of large correlations is chance
_ROUNDING = 1e-9  # of a correlation, far above that of any order of its sums
_AHEAD = 12  # distances whose partners are asked for before they are needed
_ALL_LANES = (1 << WIDTH) - 1


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
    threshold = _threshold(first.ranks.shape[-1] - 1)  # of one point fewer, as scipy takes it
    limits = np.maximum(threshold, _least_at_full_scale(first, second))
    _fill(_sorted(first), _in_lanes(second), limits, threshold, only_upper, out)
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


class _Sorted(NamedTuple):
    """Distances of the first series by rank, then by place in their matrix.

    Of those with rank k, ``starts[region, k]`` is the first; ``places`` (region, number) are
    those in the matrix as one row. ``expected``, divided by the number of distances, and
    ``precision`` are those of `Neighbourhoods`.
    """

    places: NDArray[np.uint32]
    distances: Array
    starts: NDArray[np.int64]
    expected: Array
    precision: Array
    n_scales: NDArray[np.int64]


class _InLanes(NamedTuple):
    """Transposed matrices of the second series, (block, place, lane), eight series to a block.

    ``expected`` and ``precision`` are (block, scale, lane); the latter is 0 beyond the scales.
    """

    ranks: Ranks
    distances: Array
    expected: Array
    precision: Array
    n_scales: NDArray[np.int64]


class _Scales(NamedTuple):
    """Working memory for eight pairs, rows by scale of the second series.

    ``cells`` are one row of the table, ``down`` the sums of the rows so far, ``values`` the
    correlations of a row; those that may count are kept by pair in ``kept``, and the bits of
    ``loud`` tell for which pairs a row is. ``limits`` is what correlations have to exceed.
    """

    cells: Array
    down: Array
    values: Array
    limits: Array
    kept: Array
    loud: NDArray[np.int64]


def _least_at_full_scale(first: Neighbourhoods, second: Neighbourhoods) -> Array:
    """Return a little less than the correlations at full scale: more than they may be rounded."""
    transposed = np.swapaxes(second.distances, 1, 2)
    x, y = (a.reshape(len(a), -1) for a in (first.distances, transposed))
    means, precisions = zip(*(_at_full_scale(n) for n in (first, second)), strict=True)
    covariances = x @ y.T - np.outer(*means) / x.shape[-1]
    squares = (np.einsum("ij,ij->i", a, a) for a in (x, y))
    lengths = (np.sqrt(a) * p for a, p in zip(squares, precisions, strict=True))
    least: Array = covariances * np.outer(*precisions) - _ROUNDING * (1.0 + np.outer(*lengths))
    return least


def _at_full_scale(series: Neighbourhoods) -> tuple[Array, Array]:
    regions, last = np.arange(len(series.ranks)), series.n_scales - 1
    return series.expected[regions, last], series.precision[regions, last]


def _sorted(series: Neighbourhoods) -> _Sorted:
    n_regions, n, _ = series.ranks.shape
    found = _Sorted(
        np.empty((n_regions, n * n), dtype=np.uint32),
        np.empty((n_regions, n * n)),
        np.zeros((n_regions, n + 1), dtype=np.int64),
        series.expected / n**2,
        series.precision,
        series.n_scales,
    )
    flat = (n_regions, n * n)
    _sort(series.ranks.reshape(flat), series.distances.reshape(flat), found)
    return found


@kernel
def _sort(ranks: Ranks, distances: Array, out: _Sorted) -> None:
    """Sort by counting; distances of one rank stay in their order."""
    n_regions, size = ranks.shape
    for region in range(n_regions):
        starts, rank = out.starts[region], ranks[region]
        for place in range(size):
            starts[rank[place] + 1] += 1
        for k in range(1, starts.size):
            starts[k] += starts[k - 1]
        ends = starts.copy()
        for place in range(size):
            number = ends[rank[place]]
            ends[rank[place]] += 1
            out.places[region, number] = place
            out.distances[region, number] = distances[region, place]


def _in_lanes(series: Neighbourhoods) -> _InLanes:
    n_regions, n, _ = series.ranks.shape
    n_blocks = -(-n_regions // WIDTH)
    found = _InLanes(
        np.zeros((n_blocks, n * n, WIDTH), dtype=series.ranks.dtype),
        aligned_empty((n_blocks, n * n, WIDTH)),
        aligned_empty((n_blocks, n, WIDTH)),
        aligned_empty((n_blocks, n, WIDTH)),
        series.n_scales,
    )
    for table in (found.distances, found.expected, found.precision):
        table[-1] = 0.0  # lanes without a series
    _spread_over_lanes(series, found)
    return found


@kernel
def _spread_over_lanes(series: Neighbourhoods, out: _InLanes) -> None:
    n_regions, n, _ = series.ranks.shape
    for region in range(n_regions):
        block, lane = region // WIDTH, region % WIDTH
        for s in range(n):
            for t in range(n):
                out.ranks[block, s * n + t, lane] = series.ranks[region, t, s]
                out.distances[block, s * n + t, lane] = series.distances[region, t, s]
        for m in range(n):
            is_scale = m < series.n_scales[region]
            out.expected[block, m, lane] = series.expected[region, m]
            out.precision[block, m, lane] = series.precision[region, m] if is_scale else 0.0


@kernel
def _fill(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    first: _Sorted,
    second: _InLanes,
    limits: Array,
    threshold: float,
    only_upper: bool,
    out: Array,
) -> None:
    n = second.expected.shape[1]
    lanes = np.zeros((3 * n + 1, WIDTH))
    scales = _Scales(
        lanes[:n],
        lanes[n : 2 * n],
        lanes[2 * n : 3 * n],
        lanes[3 * n :],
        np.empty((WIDTH, n, n)),
        np.empty(n, dtype=np.int64),
    )
    runs = Runs(np.empty((4, n * (n + 1) // 2 + 1), dtype=np.int64), np.empty(n * (n + 1) // 2 + 1))
    for block in range(second.ranks.shape[0]):
        start = block * WIDTH
        end = min(start + WIDTH, out.shape[1])
        for i in range(min(out.shape[0], end - 1) if only_upper else out.shape[0]):
            begin = max(start, i + 1) if only_upper else start
            scales.limits[:] = np.inf  # nothing of a lane without a pair is kept
            for j in range(begin, end):
                scales.limits[0, j - start] = limits[i, j]
            _correlate(first, i, second, block, scales)
            for j in range(begin, end):
                n_rows, n_columns = first.n_scales[i], second.n_scales[j]
                everything = scales.values[n_columns - 1, j - start]
                out[i, j] = _smoothed_maximum(
                    scales, j - start, n_rows, n_columns, everything, threshold, runs
                )
                if only_upper:
                    out[j, i] = out[i, j]


@kernel
def _correlate(first: _Sorted, i: int, second: _InLanes, block: int, scales: _Scales) -> None:
    """Leave the correlations of the last row in ``values``, and keep those that may count."""
    places, distances = first.places[i], first.distances[i]
    ranks, others = second.ranks[block], second.distances[block]
    scales.down[:] = 0.0
    for k in range(first.n_scales[i]):
        for number in range(first.starts[i, k], first.starts[i, k + 1]):
            soon = places[min(number + _AHEAD, places.size - 1)]
            prefetch(others, soon)
            prefetch(ranks, soon)
            place = places[number]
            product = multiply(spread(distances[number]), load(others, place))
            add_at(scales.cells, ranks, place, product)
        quiet = _finish_row(
            first.expected[i, k], first.precision[i, k], second.expected[block],
            second.precision[block], scales,
        )  # fmt: skip
        scales.loud[k] = ~quiet
        for lane in range(WIDTH):
            if scales.loud[k] >> lane & 1:
                for m in range(scales.values.shape[0]):
                    scales.kept[lane, k, m] = scales.values[m, lane]


@kernel
def _finish_row(
    expected: float, precision: float, means: Array, precisions: Array, scales: _Scales
) -> int:
    """Turn a row of the table into correlations; return in which lanes none exceeds its limit."""
    cells, down, values = scales.cells, scales.down, scales.values
    limit, one = load(scales.limits, 0), spread(1.0)
    mean, precise = spread(expected), spread(precision)
    total, quiet = zeros(), _ALL_LANES
    for m in range(values.shape[0]):
        sums = add(load(cells, m), load(down, m))
        store(down, m, sums)
        store(cells, m, zeros())
        total = add(total, sums)
        covariance = subtract(total, multiply(mean, load(means, m)))
        value = multiply(multiply(covariance, precise), load(precisions, m))
        value = minimum(value, one)
        store(values, m, value)
        quiet &= not_above(value, limit)
    return quiet


@kernel
def _smoothed_maximum(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    scales: _Scales,
    lane: int,
    n_rows: int,
    n_columns: int,
    everything: float,
    threshold: float,
    runs: Runs,
) -> float:
    """Return the maximum over the largest region of large correlations, or that of all scales."""
    limit = max(threshold, everything)
    table = scales.kept[lane, :n_rows, :n_columns]
    count, top = 0, n_rows
    for k in range(n_rows - 1, -1, -1):
        if scales.loud[k] >> lane & 1:
            in_row = _count_above(table[k], limit)
            count += in_row
            top = k if in_row > 0 else top
    smallest = np.ceil(_SMALL_SHARE * max(n_rows, n_columns)) * min(n_rows, n_columns)
    if count < smallest:
        return everything
    for k in range(top, n_rows):
        if not scales.loud[k] >> lane & 1:
            table[k] = -1.0  # was not kept
    area, highest = largest_region(table[top:], limit, runs)
    return max(highest, everything) if area >= smallest else everything


@kernel
def _count_above(row: Array, limit: float) -> int:
    count = 0
    for m in range(row.size):
        if row[m] > limit:
            count += 1
    return count
