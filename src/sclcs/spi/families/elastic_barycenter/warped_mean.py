"""Barycenters of pairs of series under dynamic time warping, from their average on.

*DBA* (Petitjean et al. 2011): align both series with the barycenter, and replace each of its
points by the mean of all points aligned with it, until the cost no longer falls.

*Stochastic subgradient* (Schultz & Jain 2018): align one series at a time, in random order, and
take a small step towards the points aligned with it.

A barycenter moves little between two alignments with a series, so the path of the one before is
nearly the best again: what it costs now is the limit up to which the table is filled in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.alignment import fill_costs_below, table_shape
from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["MAX_EPOCHS", "averaged_means", "descended_means"]

MAX_EPOCHS = 30
_TOLERANCE = 1e-5
_MARGIN = 1e-6  # of a limit, far above its rounding
_FIRST_STEP, _FINAL_STEP = 0.05, 0.005


class _Tables(NamedTuple):
    """Working memory for two series: their reversals, their cost tables, and what is aligned.

    ``counts``, ``sums`` and ``squares`` are, by series and point of the barycenter, the number,
    the sum and the sum of squares of the points aligned with it.
    """

    reversals: Array
    costs: Array
    counts: Array
    sums: Array
    squares: Array


def _tables(n_times: int) -> _Tables:
    reversals, counts, sums, squares = np.zeros((4, 2, n_times))
    costs = np.zeros((2, *table_shape(n_times, whole=True)))
    return _Tables(reversals, costs, counts, sums, squares)


def averaged_means(first: Array, second: Array) -> Array:
    """Return the barycenters of pairs of rows by averaging, (pair, time)."""
    out = np.empty_like(first)
    _average(first, second, _tables(first.shape[-1]), out)
    return out


def descended_means(first: Array, second: Array, second_leads: NDArray[np.bool_]) -> Array:
    """Return the barycenters of pairs of rows by subgradient steps, (pair, time).

    ``second_leads`` (pair, epoch) tells which row the first step of an epoch goes to.
    """
    out = np.empty_like(first)
    _descend(first, second, second_leads, _tables(first.shape[-1]), out)
    return out


@kernel
def _average(first: Array, second: Array, tables: _Tables, out: Array) -> None:
    counts, sums = tables.counts, tables.sums
    for pair in range(out.shape[0]):
        center = out[pair]
        _start(first[pair], second[pair], tables, center)
        previous = np.inf
        for _ in range(MAX_EPOCHS):
            cost = 0.0
            for series in range(2):
                cost += 0.5 * _align(center, tables, series)
            if previous - cost < _TOLERANCE:
                break
            previous = cost
            for series in range(2):
                _trace(tables, series)
            for s in range(center.size):
                center[s] = (sums[0, s] + sums[1, s]) / (counts[0, s] + counts[1, s])


@kernel
def _descend(
    first: Array, second: Array, second_leads: NDArray[np.bool_], tables: _Tables, out: Array
) -> None:
    for pair in range(out.shape[0]):
        center = out[pair]
        _start(first[pair], second[pair], tables, center)
        previous = np.inf
        for epoch in range(MAX_EPOCHS):
            # The steps shrink evenly over the first epoch, which has two of them.
            step = _FIRST_STEP if epoch == 0 else _FINAL_STEP
            leader = 1 if second_leads[pair, epoch] else 0
            # Two steps, then two alignments for the cost; the next epoch starts from these.
            cost = distance = 0.0
            for turn in range(4):
                series = leader if turn % 2 == 0 else 1 - leader
                if turn > 0 or epoch == 0:
                    distance = _align(center, tables, series)
                if turn < 2:
                    _step_towards(tables, series, step, center)
                    step = 0.5 * (step + _FINAL_STEP)
                else:
                    cost += 0.5 * distance
            if abs(previous - cost) < _TOLERANCE:
                break
            previous = cost


@kernel
def _start(x: Array, y: Array, tables: _Tables, center: Array) -> None:
    end = x.size - 1
    for t in range(x.size):
        center[t] = 0.5 * (x[t] + y[t])
        for series in range(2):
            value = x[t] if series == 0 else y[t]
            tables.reversals[series, end - t] = value
            # A path to begin with: the diagonal.
            tables.counts[series, t], tables.sums[series, t] = 1.0, value
            tables.squares[series, t] = value * value


@kernel
def _align(center: Array, tables: _Tables, series: int) -> float:
    counts, sums, squares = tables.counts[series], tables.sums[series], tables.squares[series]
    limit = 0.0
    for s in range(center.size):
        limit += (counts[s] * center[s] - 2.0 * sums[s]) * center[s] + squares[s]
    # The sum above cancels: a little more than any rounding is added.
    limit += _MARGIN * (1.0 + abs(limit))
    return fill_costs_below(center, tables.reversals[series], limit, tables.costs[series])


@kernel
def _step_towards(tables: _Tables, series: int, step: float, center: Array) -> None:
    _trace(tables, series)
    counts, sums = tables.counts[series], tables.sums[series]
    for s in range(center.size):
        center[s] -= 2.0 * step * (counts[s] * center[s] - sums[s])


@kernel
def _trace(tables: _Tables, series: int) -> None:
    """Walk the best path backwards; of equally good steps, a diagonal one is taken first."""
    costs, reversal = tables.costs[series], tables.reversals[series]
    counts, sums = tables.counts[series], tables.sums[series]
    squares = tables.squares[series]
    for s in range(counts.size):
        counts[s] = sums[s] = squares[s] = 0.0
    end = counts.size - 1
    s = t = end
    while s >= 0 and t >= 0:
        value = reversal[end - t]
        counts[s] += 1.0
        sums[s] += value
        squares[s] += value * value
        # Outside of the table costs are infinite, and zero diagonally before the first cell.
        diagonal, up, left = costs[s + t, s], costs[s + t + 1, s], costs[s + t + 1, s + 1]
        if diagonal <= up and diagonal <= left:
            s -= 1
            t -= 1
        elif up <= left:
            s -= 1
        else:
            t -= 1
