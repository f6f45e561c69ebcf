"""Distance matrices of series, and of rows of distance matrices, as hyppo takes them.

Distances of a series come from squares and products, d(s, t)^2 = (-2 x_s x_t + x_s^2) + x_t^2, in
this order. Rounding makes them differ in the last digits from |x_s - x_t|, and from d(t, s). That
is part of the definition: where values are tied, these digits decide which of two equal
distances is the shorter one.

For distances of rows hyppo has the same formula, but its products are BLAS's, whose rounding
follows the processor: where values are tied, hyppo ranks neighbours by it. Ours are sums of
squared differences in a fixed order, in which rows that are equal are equal neighbours.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sclcs.spi.numerics.compiling import ZERO, Array, kernel
from sclcs.spi.numerics.lanes import (
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
from sclcs.spi.numerics.ordered import add_square_distances

__all__ = [
    "LaggedDistances",
    "Neighbourhoods",
    "Ranks",
    "Runs",
    "column_ranks",
    "largest_region",
    "multiscale_correlations",
    "neighbourhoods",
    "series_distances",
]


Ranks = NDArray[np.unsignedinteger[Any]]


@kernel
def series_distances(rows: Array) -> Array:
    """Return the distances between the time points of every row, (region, time, time)."""
    n_regions, n_times = rows.shape
    out = np.zeros((n_regions, n_times, n_times))
    for region in range(n_regions):
        x = rows[region]
        for s in range(n_times):
            for t in range(n_times):
                squared = (-2.0 * (x[s] * x[t]) + x[s] * x[s]) + x[t] * x[t]
                out[region, s, t] = np.sqrt(max(squared, 0.0))
            out[region, s, s] = 0.0
    return out


class LaggedDistances:
    """Distances between rows of distance matrices that lose a row and a column with every lag.

    A smaller lag adds one term to every sum of squares, so lags are asked for from the largest
    to the smallest, and all of them together cost little more than the largest.

    Parameters
    ----------
    distances : array, shape (region, time, time)
        Distance matrices of the series.
    largest : int
        The largest lag. If it is 1, nothing is kept for another one.
    later : bool
        Whether the first rows and columns are lost (the series is the later one), or the last.
    """

    def __init__(self, distances: Array, largest: int, *, later: bool) -> None:
        self._later = later
        n_regions, n_times, _ = distances.shape
        # Seen from the end, the later series loses its last rows and columns, too.
        columns = np.swapaxes(distances, 1, 2)
        self._columns = columns[:, ::-1, ::-1] if later else columns
        if largest > 1:
            self._columns = np.ascontiguousarray(self._columns)
        self._squares = np.zeros((n_regions if largest > 1 else 1, n_times, n_times))
        self._added = 0

    def at(self, lag: int) -> Array:
        """Return the distances at a lag that is smaller than those before, (region, row, row)."""
        kept = self._columns.shape[-1] - lag
        out = np.empty((len(self._columns), kept, kept))
        for region, columns in enumerate(self._columns):
            squares = self._squares[region % len(self._squares)]
            if self._added == 0:
                squares[:] = 0.0  # of the region before
            add_square_distances(np.ascontiguousarray(columns), self._added, kept, squares)
            _take_roots(squares, self._later, out[region])
        self._added = kept
        return out


@kernel
def _take_roots(squares: Array, later: bool, out: Array) -> None:
    kept = out.shape[0]
    for i in range(kept):
        row = kept - 1 - i if later else i
        out[row, row] = 0.0
        for j in range(i):
            column = kept - 1 - j if later else j
            distance = sqrt(squares[i, j])
            out[row, column] = out[column, row] = distance


def column_ranks(columns: Array) -> Ranks:
    """Rank the last axis from 0; equal values share a rank and the next one follows directly."""
    fits = columns.shape[-1] <= 2**16  # half the memory to read, for every pair
    ranks = np.empty(columns.shape, dtype=np.uint16 if fits else np.uint32)
    for values, found in zip(columns, ranks, strict=True):  # an order stays in the cache
        _rank_densely(values, np.argsort(values, axis=-1), found)
    return ranks


@kernel
def _rank_densely(columns: Array, order: NDArray[np.intp], ranks: Ranks) -> None:
    n_columns, n_values = columns.shape
    for column in range(n_columns):
        values, places = columns[column], order[column]
        rank = 0
        for k in range(n_values):
            if k > 0 and values[places[k]] > values[places[k - 1]]:
                rank += 1
            ranks[column, places[k]] = rank


_FIRST, _LAST, _PARENT, _AREA = range(4)


class Runs(NamedTuple):
    """Working memory, one column per run: where it lies, which region it joined, cells, maximum.

    A table of n by n cells has at most n (n + 1) / 2 runs.
    """

    places: NDArray[np.int64]
    highest: Array


@kernel
def largest_region(table: Array, limit: float, runs: Runs) -> tuple[int, float]:
    """Return the number of cells above the limit and their maximum in the largest region.

    Of regions of one size it is the one whose first cell, row by row, comes first.
    """
    n_runs = before = ZERO
    for k in range(table.shape[0]):
        begin = n_runs
        n_runs = _read_row(table[k], limit, n_runs, runs)
        _join_rows(before, begin, n_runs, runs)
        before = begin
    size, best = 0, 0.0
    for run in range(n_runs):
        if runs.places[_PARENT, run] == run and runs.places[_AREA, run] > size:
            size, best = runs.places[_AREA, run], runs.highest[run]
    return size, best


@kernel
def _read_row(row: Array, limit: float, n_runs: int, runs: Runs) -> int:
    """Append the runs of a row; return how many there are now."""
    places, highest = runs.places, runs.highest
    m = 0
    while m < row.size:
        if not row[m] > limit:
            m += 1
            continue
        start, best = m, row[m]
        while m < row.size and row[m] > limit:
            best = max(best, row[m])
            m += 1
        places[_FIRST, n_runs], places[_LAST, n_runs] = start, m - 1
        places[_PARENT, n_runs], places[_AREA, n_runs] = n_runs, m - start
        highest[n_runs] = best
        n_runs += 1
    return n_runs


@kernel
def _join_rows(before: int, begin: int, end: int, runs: Runs) -> None:
    """Join the runs of a row with those of the row before that lie beside them."""
    places, highest = runs.places, runs.highest
    upper, lower = before, begin
    while upper < begin and lower < end:
        if (
            places[_FIRST, upper] <= places[_LAST, lower]
            and places[_FIRST, lower] <= places[_LAST, upper]
        ):
            a, b = _root(places[_PARENT], upper), _root(places[_PARENT], lower)
            kept, joined = min(a, b), max(a, b)
            if kept != joined:
                places[_PARENT, joined] = kept
                places[_AREA, kept] += places[_AREA, joined]
                highest[kept] = max(highest[kept], highest[joined])
        if places[_LAST, upper] < places[_LAST, lower]:
            upper += 1
        else:
            lower += 1


@kernel
def _root(parents: NDArray[np.int64], run: int) -> int:
    while parents[run] != run:
        run = parents[run]
    return run


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
