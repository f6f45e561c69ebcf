"""Box neighbourhoods of delay vectors, and how many points two of them share.

A box holds the points whose values at some lags all lie within a width of those at t. The
boxes of every region are bit matrices made once; the joint box of two regions is an AND.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.neighbours import Words, log2_table, n_words, neighbours, population

__all__ = ["Boxes", "own_counts", "shared_counts", "shared_counts_of_two", "tiles"]


@dataclass(frozen=True)
class Boxes:
    """Boxes of the values at some lags, for the times t = start .. T-1.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    width : float
        Half of the boxes' sides, in standard deviations (ddof = 1) of the values used.
    lags : sequence of int
        Which values; none makes a box that holds everything.
    start : int
        First time; at least the largest lag.
    """

    x: Array
    width: float
    lags: Sequence[int] = (0,)
    start: int = 0

    @property
    def n(self) -> int:
        """Return the number of points."""
        return int(self.x.shape[1]) - self.start

    @cached_property
    def _values(self) -> list[Array]:
        return [np.ascontiguousarray(self.x[:, self.start - k :][:, : self.n]) for k in self.lags]

    @cached_property
    def _widths(self) -> list[Array]:
        return [self.width * values.std(axis=1, ddof=1) for values in self._values]

    @property
    def volume(self) -> Array:
        """Return log2 of the volume of each region's box."""
        logs = [np.log2(2.0 * widths) for widths in self._widths]
        return np.sum(logs, axis=0) if logs else np.zeros(self.x.shape[0])

    def near(self, first: int, end: int) -> Words:
        """Return the rows first .. end-1 of the bit matrices, (region, row, word)."""
        out = np.full(
            (self.x.shape[0], end - first, n_words(self.n)), ~np.uint64(0), dtype=np.uint64
        )
        for values, widths in zip(self._values, self._widths, strict=True):
            out &= neighbours(values, widths, first, end)
        return out


def tiles(n_times: int, n_series: int, memory_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges whose bit matrices fit in the budget.

    Sums over rows run in the same order however the rows are cut, so the cut never shows.
    """
    step = max(1, memory_bytes // (8 * n_words(n_times) * n_series))
    for first in range(0, n_times, step):
        yield first, min(first + step, n_times)


def shared_counts(boxes: Boxes, memory_bytes: int) -> Array:
    """Return the mean log2 of how many points lie in the boxes of both regions of a pair."""
    n_regions = boxes.x.shape[0]
    sums = np.zeros((n_regions, n_regions))
    for first, end in tiles(boxes.n, 2 * n_regions, memory_bytes):
        _add_shared_counts(boxes.near(first, end), log2_table(boxes.n), sums)
    return sums / boxes.n


def shared_counts_of_two(rows: Boxes, columns: Boxes, memory_bytes: int) -> Array:
    """Return the same of the row region's box among `rows` and the column's among `columns`."""
    n_regions = rows.x.shape[0]
    sums = np.zeros((n_regions, n_regions))
    for first, end in tiles(rows.n, 3 * n_regions, memory_bytes):
        near = rows.near(first, end), columns.near(first, end)
        _add_counts_of_two(*near, log2_table(rows.n), sums)
    return sums / rows.n


def own_counts(boxes: Boxes, memory_bytes: int) -> Array:
    """Return the mean log2 of how many points lie in each region's own box."""
    sums = np.zeros(boxes.x.shape[0])
    for first, end in tiles(boxes.n, 2 * sums.size, memory_bytes):
        _add_own_counts(boxes.near(first, end), log2_table(boxes.n), sums)
    return sums / boxes.n


@kernel
def _log_count(a: Words, b: Words, table: Array) -> float:
    """Return log2 of the number of points in both of two boxes."""
    count = np.uint64(0)
    for w in range(a.size):
        count += population(a[w] & b[w])
    return float(table[count])


@kernel
def _add_own_counts(near: Words, table: Array, sums: Array) -> None:
    for i in range(near.shape[0]):
        for t in range(near.shape[1]):
            sums[i] += _log_count(near[i, t], near[i, t], table)


@kernel
def _add_shared_counts(near: Words, table: Array, sums: Array) -> None:
    """Add log2 of the joint neighbour counts of every pair; the diagonal has each region's."""
    n_regions, n_rows, _ = near.shape
    for i in range(n_regions):
        for j in range(i, n_regions):
            total = sums[i, j]
            for t in range(n_rows):
                total += _log_count(near[i, t], near[j, t], table)
            sums[i, j] = sums[j, i] = total


@kernel
def _add_counts_of_two(rows: Words, columns: Words, table: Array, sums: Array) -> None:
    n_regions, n_rows, _ = rows.shape
    for i in range(n_regions):
        for j in range(n_regions):
            total = sums[i, j]
            for t in range(n_rows):
                total += _log_count(rows[i, t], columns[j, t], table)
            sums[i, j] = total
