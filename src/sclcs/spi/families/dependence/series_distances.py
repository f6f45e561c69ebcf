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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.ordered import add_square_distances

__all__ = ["LaggedDistances", "Ranks", "column_ranks", "series_distances"]

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
