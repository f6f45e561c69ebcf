"""Barycenters of pairs of series under soft dynamic time warping.

The mean soft-DTW value to both series is minimised from their average on. tslearn does so with
scipy's L-BFGS-B at a tolerance of 1e-3, which stops well before the minimum: the result is a
point on the way. The same way is taken here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs._core import generator
from sclcs.spi.numerics.alignment import Moves, align_below, came_from, no_moves
from sclcs.spi.numerics.compiling import ZERO, Array, kernel, reducing_kernel
from sclcs.spi.numerics.lanes import WIDTH, aligned_empty
from sclcs.spi.numerics.quasi_newton import Descent, advance, descent, restart
from sclcs.spi.numerics.soft_alignment import SoftTables, soft_alignment_in_band, soft_tables
from sclcs.spi.own import FamilyContext

__all__ = [
    "MAX_EPOCHS",
    "MEMBERS",
    "ElasticBarycenterParameters",
    "averaged_means",
    "compute",
    "descended_means",
    "soft_means",
]


def soft_means(first: Array, second: Array) -> Array:
    """Return the barycenters of pairs of rows, (pair, time)."""
    out = np.empty_like(first)
    n_times = first.shape[-1]
    reversals = np.empty((2, n_times))
    _minimise(first, second, reversals, descent(n_times), soft_tables(n_times), out)
    return out


@kernel
def _minimise(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    first: Array, second: Array, reversals: Array, state: Descent, tables: SoftTables, out: Array
) -> None:
    n_pairs, n_times = first.shape
    bands = np.empty((2, 2, 2 * n_times - 1), dtype=np.int64)
    for pair in range(n_pairs):
        point = out[pair]
        for t in range(n_times):
            x, y = first[pair, t], second[pair, t]
            point[t] = 0.5 * (x + y)
            reversals[0, n_times - 1 - t] = x
            reversals[1, n_times - 1 - t] = y
        restart(state)
        is_first, is_last = True, False
        while not is_last:
            value = 0.0
            for t in range(n_times):
                state.gradient[t] = 0.0
            for series in range(2):
                value += soft_alignment_in_band(
                    point, reversals[series], tables, bands[series], is_first, state.gradient
                )
            is_first = False
            for t in range(n_times):
                state.gradient[t] *= 0.5
            is_last = advance(state, 0.5 * value, point)


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
    n_started = slot = ZERO
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
    for series in range(2):
        _trace(lanes, lane, slot if series else 1 - slot, series, pair[series])
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
    for t in range(target.size):
        counts[t] = sums[t] = 0.0
    squares = 0.0
    s = t = target.size - 1
    while s >= 0 and t >= 0:
        value = target[t]
        counts[s] += 1.0
        sums[s] += value
        squares += value * value
        s, t = came_from(moves, lane, s, t)
    lanes.squares[lane, series] = squares


Method = Literal["dtw", "sgddtw", "softdtw"]
_METHODS: tuple[Method, ...] = ("dtw", "sgddtw", "softdtw")
_BYTES_PER_PAIR = 4 * 8  # and time point: two rows, the barycenter, its square
_STATISTICS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "mean": lambda centers: centers.mean(axis=1),
        "max": lambda centers: centers.max(axis=1),
        "mean of squares": lambda centers: (centers * centers).mean(axis=1),
        "max of squares": lambda centers: (centers * centers).max(axis=1),
    }
)


@dataclass(frozen=True)
class ElasticBarycenterParameters:
    """Which barycenter, and which statistic of it.

    Parameters
    ----------
    method : {"dtw", "sgddtw", "softdtw"}
        How the barycenter is defined and found.
    statistic : str
        Over time: ``mean``, ``max``, ``mean of squares`` or ``max of squares``.
    """

    method: Method
    statistic: str


MEMBERS: Mapping[str, ElasticBarycenterParameters] = MappingProxyType(
    {
        f"bary{form}_{method}_{statistic}": ElasticBarycenterParameters(
            method, f"{statistic} of squares" if form else statistic
        )
        for form in ("", "-sq")
        for method in _METHODS
        for statistic in ("mean", "max")
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested statistics of the barycenters of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Its seeds order the subgradient steps; pairs are worked off in blocks that fit in its
        memory budget.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, n_times = signals.shape
    out = {name: np.zeros((n_samples, n_regions, n_regions)) for name in members}
    later, earlier = np.tril_indices(n_regions, -1)
    # A pair needs its two rows and its barycenter.
    size = max(1, int(context.memory_bytes // (_BYTES_PER_PAIR * n_times)))
    for sample, rows in enumerate(signals):
        for method in {MEMBERS[name].method for name in members}:
            leads = _orders(int(context.sample_seeds[sample]), len(later))
            for start in range(0, len(later), size):
                i, j = later[start : start + size], earlier[start : start + size]
                centers = _barycenters(method, rows[i], rows[j], leads[start : start + size])
                for name in members:
                    if MEMBERS[name].method == method:
                        values = _STATISTICS[MEMBERS[name].statistic](centers)
                        out[name][sample, i, j] = out[name][sample, j, i] = values
    return out


def _barycenters(
    method: Method, first: Array, second: Array, second_leads: NDArray[np.bool_]
) -> Array:
    if method == "dtw":
        return averaged_means(first, second)
    if method == "sgddtw":
        return descended_means(first, second, second_leads)
    return soft_means(first, second)


def _orders(seed: int, n_pairs: int) -> NDArray[np.bool_]:
    """Draw, for every pair and epoch, whether its second series comes first."""
    draws = generator(seed, "subgradient order").random((n_pairs, MAX_EPOCHS), dtype=np.float32)
    return draws < 0.5
