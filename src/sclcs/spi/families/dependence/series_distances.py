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

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.ordered import square_distances

__all__ = ["Ranks", "column_ranks", "distances_of_rows", "series_distances"]

Ranks = NDArray[np.int32]


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


def distances_of_rows(matrices: Array) -> Array:
    """Return the Euclidean distances between the rows of every matrix, (region, row, row)."""
    return np.stack(
        [np.sqrt(square_distances(np.ascontiguousarray(points))) for points in matrices]
    )


def column_ranks(columns: Array) -> Ranks:
    """Rank the last axis from 0; equal values share a rank and the next one follows directly."""
    order = np.argsort(columns, axis=-1)
    ranks = np.empty(columns.shape, dtype=np.int32)
    _rank_densely(columns, order, ranks)
    return ranks


@kernel
def _rank_densely(columns: Array, order: NDArray[np.intp], ranks: Ranks) -> None:
    n_regions, n_columns, n_values = columns.shape
    for region in range(n_regions):
        for column in range(n_columns):
            values, places = columns[region, column], order[region, column]
            rank = 0
            for k in range(n_values):
                if k > 0 and values[places[k]] > values[places[k - 1]]:
                    rank += 1
                ranks[region, column, places[k]] = rank
