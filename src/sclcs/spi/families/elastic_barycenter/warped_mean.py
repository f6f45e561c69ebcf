"""Barycenters of pairs of series under dynamic time warping, from their average on.

*DBA* (Petitjean et al. 2011): align both series with the barycenter, and replace each of its
points by the mean of all points aligned with it, until the cost no longer falls.

*Stochastic subgradient* (Schultz & Jain 2018): align one series at a time, in random order, and
take a small step towards the points aligned with it.

A barycenter moves little between two alignments with a series, so the path of the one before is
nearly the best again: what it costs now is the limit up to which costs are filled in. Eight pairs
are aligned in lock step; a pair that is done gives its lane to the next one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel, reducing_kernel
from sclcs.numerics.lanes import WIDTH, aligned_empty
from sclcs.numerics.lockstep_alignment import Moves, align_below, came_from, no_moves

__all__ = ["MAX_EPOCHS", "averaged_means", "descended_means"]

MAX_EPOCHS = 30
_TOLERANCE = 1e-5
_MARGIN = 1e-6  # of a limit, far above its rounding
_FIRST_STEP, _FINAL_STEP = 0.05, 0.005
_NO_PAIR = -1
_PAIR, _EPOCH, _TURN = range(3)
_COST, _PREVIOUS = range(2)


class _Lanes(NamedTuple):
    """Eight pairs in lock step.

    What is aligned next, by time and lane: ``centers`` with ``targets``, no further than
    ``limits``, with room for a ``row`` of costs and the ``moves`` of the last two alignments. By
    lane and series: ``counts`` and ``sums`` of the points aligned with every point of the
    barycenter, and ``squares``, the sum of the squares of all of them. By lane: ``places``, the
    pair, epoch and turn it is at, and ``costs`` of this and of the last epoch.
    """

    centers: Array
    targets: Array
    limits: Array
    row: Array
    moves: Moves
    counts: Array
    sums: Array
    squares: Array
    places: NDArray[np.int64]
    costs: Array


def _lanes(n_times: int) -> _Lanes:
    centers, targets = aligned_empty((2, n_times, WIDTH))
    centers[:] = targets[:] = 0.0  # lanes that are never used
    counts, sums = np.zeros((2, WIDTH, 2, n_times))
    return _Lanes(
        centers=centers,
        targets=targets,
        limits=aligned_empty((1, WIDTH)),
        row=aligned_empty((n_times + 1, WIDTH)),
        moves=np.stack([no_moves(n_times)] * 2),
        counts=counts,
        sums=sums,
        squares=np.zeros((WIDTH, 2)),
        places=np.zeros((WIDTH, 3), dtype=np.int64),
        costs=np.zeros((WIDTH, 2)),
    )


def averaged_means(first: Array, second: Array) -> Array:
    """Return the barycenters of pairs of rows by averaging, (pair, time)."""
    return _found(first, second, np.zeros((len(first), 0), dtype=np.bool_))


def descended_means(first: Array, second: Array, second_leads: NDArray[np.bool_]) -> Array:
    """Return the barycenters of pairs of rows by subgradient steps, (pair, time).

    ``second_leads`` (pair, epoch) tells which row the first step of an epoch goes to.
    """
    return _found(first, second, second_leads)


def _found(first: Array, second: Array, second_leads: NDArray[np.bool_]) -> Array:
    pairs = np.stack([first, second], axis=1)
    out = 0.5 * (first + second)
    _search(pairs, second_leads, _lanes(first.shape[-1]), out)
    return out


@kernel
def _search(pairs: Array, second_leads: NDArray[np.bool_], lanes: _Lanes, out: Array) -> None:
    """Move every barycenter from the average on; without leads, by averaging."""
    averages = second_leads.shape[1] == 0
    for lane in range(WIDTH):
        _free(lanes, lane)
    n_started, slot = 0, 0
    while True:
        n_busy = 0
        for lane in range(WIDTH):
            place = lanes.places[lane]
            if place[_PAIR] == _NO_PAIR and n_started < out.shape[0]:
                _start(lanes, lane, n_started, pairs[n_started])
                n_started += 1
            pair = place[_PAIR]
            if pair != _NO_PAIR:
                n_busy += 1
                series = place[_TURN] if averages else _series_at(second_leads[pair], place)
                _prepare(lanes, lane, out[pair], pairs[pair, series], series)
        if n_busy == 0:
            return
        align_below(lanes.centers, lanes.targets, lanes.limits, lanes.row, lanes.moves[slot])
        for lane in range(WIDTH):
            pair = lanes.places[lane, _PAIR]
            if pair != _NO_PAIR:
                _take(lanes, lane, slot, pairs[pair], second_leads[pair], out[pair])
        slot = 1 - slot


@kernel
def _free(lanes: _Lanes, lane: int) -> None:
    """Leave a lane without a pair: no cell is below its limit."""
    lanes.places[lane, _PAIR] = _NO_PAIR
    lanes.limits[0, lane] = -1.0


@kernel
def _start(lanes: _Lanes, lane: int, number: int, pair: Array) -> None:
    lanes.places[lane, _PAIR] = number
    lanes.places[lane, _EPOCH] = lanes.places[lane, _TURN] = 0
    lanes.costs[lane, _COST], lanes.costs[lane, _PREVIOUS] = 0.0, np.inf
    # A path to begin with: the diagonal.
    for series in range(2):
        squares = 0.0
        for t in range(pair.shape[1]):
            lanes.counts[lane, series, t] = 1.0
            lanes.sums[lane, series, t] = pair[series, t]
            squares += pair[series, t] * pair[series, t]
        lanes.squares[lane, series] = squares


@kernel
def _prepare(lanes: _Lanes, lane: int, center: Array, target: Array, series: int) -> None:
    """Copy what is aligned into its lane; the path before tells how far costs are needed."""
    counts, sums = lanes.counts[lane, series], lanes.sums[lane, series]
    limit = lanes.squares[lane, series] + _rest_of_cost(center, counts, sums)
    # The sum above cancels: a little more than any rounding is added.
    lanes.limits[0, lane] = limit + _MARGIN * (1.0 + abs(limit))
    for t in range(center.size):
        lanes.centers[t, lane] = center[t]
        lanes.targets[t, lane] = target[t]


@reducing_kernel
def _rest_of_cost(center: Array, counts: Array, sums: Array) -> float:
    """Return the cost of a path minus the squares of the points aligned."""
    cost = 0.0
    for s in range(center.size):
        cost += (counts[s] * center[s] - 2.0 * sums[s]) * center[s]
    return cost


@kernel
def _take(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    lanes: _Lanes,
    lane: int,
    slot: int,
    pair: Array,
    second_leads: NDArray[np.bool_],
    center: Array,
) -> None:
    """Take the alignment of a lane, and free the lane at the end of its search."""
    if second_leads.size == 0:
        is_last = _average(lanes, lane, slot, pair, center)
    else:
        is_last = _descend(lanes, lane, slot, pair, second_leads, center)
    if is_last:
        _free(lanes, lane)


@kernel
def _average(lanes: _Lanes, lane: int, slot: int, pair: Array, center: Array) -> bool:
    """Take one of two alignments; after both, average; return True at the end of the search."""
    place, costs = lanes.places[lane], lanes.costs[lane]
    costs[_COST] += 0.5 * lanes.row[center.size, lane]
    place[_TURN] = 1 - place[_TURN]
    if place[_TURN] == 1:
        return False
    if costs[_PREVIOUS] - costs[_COST] < _TOLERANCE:
        return True
    costs[_PREVIOUS], costs[_COST] = costs[_COST], 0.0
    _trace(lanes, lane, 1 - slot, 0, pair[0])
    _trace(lanes, lane, slot, 1, pair[1])
    counts, sums = lanes.counts[lane], lanes.sums[lane]
    for s in range(center.size):
        center[s] = (sums[0, s] + sums[1, s]) / (counts[0, s] + counts[1, s])
    place[_EPOCH] += 1
    return bool(place[_EPOCH] == MAX_EPOCHS)


@kernel
def _series_at(second_leads: NDArray[np.bool_], place: NDArray[np.int64]) -> int:
    """Return which series an epoch comes to at a turn: the leader, the other one, both again."""
    return int(place[_TURN] + second_leads[place[_EPOCH]]) % 2


@kernel
def _descend(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    lanes: _Lanes,
    lane: int,
    slot: int,
    pair: Array,
    second_leads: NDArray[np.bool_],
    center: Array,
) -> bool:
    """Take the alignment of a turn; return True at the end of the search.

    An epoch is two steps, then two alignments for the cost; the next one starts from these.
    """
    place, costs = lanes.places[lane], lanes.costs[lane]
    series = _series_at(second_leads, place)
    if place[_TURN] > 1:
        costs[_COST] += 0.5 * lanes.row[center.size, lane]
        place[_TURN] += 1
        if place[_TURN] < 4:
            return False
        if abs(costs[_PREVIOUS] - costs[_COST]) < _TOLERANCE or place[_EPOCH] == MAX_EPOCHS - 1:
            return True
        costs[_PREVIOUS], costs[_COST] = costs[_COST], 0.0
        place[_EPOCH] += 1
        place[_TURN] = 0
        leader = _series_at(second_leads, place)
        slot = slot if leader == series else 1 - slot
        series = leader
    _trace(lanes, lane, slot, series, pair[series])
    # The steps shrink evenly over the first epoch, which has two of them.
    step = _FINAL_STEP
    if place[_EPOCH] == 0:
        step = _FIRST_STEP if place[_TURN] == 0 else 0.5 * (_FIRST_STEP + _FINAL_STEP)
    counts, sums = lanes.counts[lane, series], lanes.sums[lane, series]
    for s in range(center.size):
        center[s] -= 2.0 * step * (counts[s] * center[s] - sums[s])
    place[_TURN] += 1
    return False


@kernel
def _trace(lanes: _Lanes, lane: int, slot: int, series: int, target: Array) -> None:
    """Walk the best path backwards; of equally good steps, a diagonal one is taken first."""
    moves, counts, sums = lanes.moves[slot], lanes.counts[lane, series], lanes.sums[lane, series]
    counts[:] = 0.0
    sums[:] = 0.0
    squares = 0.0
    s = t = target.size - 1
    while s >= 0 and t >= 0:
        value = target[t]
        counts[s] += 1.0
        sums[s] += value
        squares += value * value
        s, t = came_from(moves, lane, s, t)
    lanes.squares[lane, series] = squares
