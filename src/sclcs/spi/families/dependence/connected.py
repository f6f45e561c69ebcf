"""The largest connected region of a table's large cells; neighbours share an edge.

Rows are read as runs of large cells. A run joins the runs of the row before that it touches, so
that a region costs little more than reading its cells once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["Runs", "largest_region"]

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
    n_runs, before = 0, 0
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
