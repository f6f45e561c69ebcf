"""Kendall's rank correlation with tie correction (``kendalltau``, ``kendalltau-sq``).

The sign of x[t] - x[s] over all s < t is packed into bits, once per row. The concordant minus
discordant count of two rows is then a population count of a few machine words: exact integers,
and for T = 70 only 38 words per pair. Records that are long for their number of regions are
ranked instead: a tree of counts by rank tells in T log T how many points before are lower.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.own import FamilyContext
from sclcs.spi.squared import Form, both_forms, in_forms

__all__ = ["MEMBERS", "compute"]

_Words = NDArray[np.uint64]
_Counts = NDArray[np.int64]
_WORD_BITS = 64
_RANKING = 1.75  # steps of packing that one of ranking takes


MEMBERS: Mapping[str, Form] = both_forms("kendalltau")


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute Kendall's tau-b of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Only the order within a row matters.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        The bit masks of one block fit in its memory budget.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    tau = np.stack([_tau_b(sample, context.memory_bytes) for sample in signals])
    return in_forms(tau, members, MEMBERS)


def _tau_b(rows: Array, memory_bytes: int) -> Array:
    n_regions, n_times = rows.shape
    rows = np.ascontiguousarray(rows)
    # To pack costs T²/2 steps per region, to compare T²/128 words per pair, to rank T log T.
    if n_times / 2 + n_regions * n_times / 256 > _RANKING * n_regions * np.log2(n_times):
        return _normalised(*_by_ranks(rows))
    score = np.zeros((n_regions, n_regions), dtype=np.int64)
    untied = np.zeros(n_regions, dtype=np.int64)
    block = _block_of_starts(n_regions, n_times, memory_bytes)
    for start in range(0, n_times - 1, block):
        stop = min(start + block, n_times - 1)
        n_pairs = sum(n_times - 1 - s for s in range(start, stop))
        rising, falling = _pack(rows, start, stop, n_pairs // _WORD_BITS + 1)
        _add_scores(rising, falling, n_pairs, score, untied)
    return _normalised(score, untied)


def _normalised(score: _Counts, untied: _Counts) -> Array:
    norm = np.sqrt(untied.astype(np.float64))
    tau: Array = np.clip(score / (norm[:, None] * norm[None, :]), -1.0, 1.0)
    return tau


def _block_of_starts(n_regions: int, n_times: int, memory_bytes: int) -> int:
    """Count the starts s whose two masks, T bits each at most, fit in half of the memory."""
    bytes_per_start = 2 * n_regions * n_times / 8
    return max(1, int(memory_bytes / 2 / bytes_per_start))


def _by_ranks(rows: Array) -> tuple[_Counts, _Counts]:
    """Return concordant minus discordant counts, and the untied counts."""
    n_regions, n_times = rows.shape
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    steps = np.ones((n_regions, n_times), dtype=np.int64)
    steps[:, 1:] = ordered[:, 1:] > ordered[:, :-1]
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps.cumsum(axis=1), axis=1)
    untied = np.full(n_regions, n_times * (n_times - 1) // 2)
    for region in range(n_regions):
        ties = np.bincount(ranks[region])
        untied[region] -= (ties * (ties - 1) // 2).sum()
    return _ranked_scores(order, ranks), untied


@kernel
def _ranked_scores(orders: _Counts, ranks: _Counts) -> _Counts:
    n_regions, n_times = ranks.shape
    score = np.zeros((n_regions, n_regions), dtype=np.int64)
    tree = np.empty(n_times + 1, dtype=np.int32)
    for i in range(n_regions):
        order, own = orders[i], ranks[i]
        for j in range(i):
            for k in range(n_times + 1):
                tree[k] = 0
            total = start = 0
            while start < n_times:
                stop = start
                while stop < n_times and own[order[stop]] == own[order[start]]:
                    rank = ranks[j, order[stop]]
                    # Twice those below, as many again that are equal, less all before.
                    place = rank - 1
                    while place > 0:
                        total += tree[place]
                        place &= place - 1
                    place = rank
                    while place > 0:
                        total += tree[place]
                        place &= place - 1
                    total -= start
                    stop += 1
                for k in range(start, stop):
                    place = ranks[j, order[k]]
                    while place <= n_times:
                        tree[place] += 1
                        place += place & -place
                start = stop
            score[i, j] = score[j, i] = total
    return score


@kernel
def _pack(rows: Array, start: int, stop: int, n_words: int) -> tuple[_Words, _Words]:
    """Pack x[t] > x[s] and x[t] < x[s], start <= s < stop, s < t."""
    n_regions, n_times = rows.shape
    rising = np.zeros((n_regions, n_words), dtype=np.uint64)
    falling = np.zeros((n_regions, n_words), dtype=np.uint64)
    for region in range(n_regions):
        x = rows[region]
        word, bit = 0, 0
        up, down = np.uint64(0), np.uint64(0)
        for s in range(start, stop):
            for t in range(s + 1, n_times):
                up |= np.uint64(x[t] > x[s]) << np.uint64(bit)
                down |= np.uint64(x[t] < x[s]) << np.uint64(bit)
                bit += 1
                if bit == _WORD_BITS:
                    rising[region, word], falling[region, word] = up, down
                    up, down = np.uint64(0), np.uint64(0)
                    bit = 0
                    word += 1
        rising[region, word], falling[region, word] = up, down
    return rising, falling


@kernel
def _add_scores(
    rising: _Words, falling: _Words, n_pairs: int, score: _Counts, untied: _Counts
) -> None:
    """Add this block's concordant minus discordant counts, and the untied counts."""
    n_regions, n_words = rising.shape
    tied = np.zeros(n_regions, dtype=np.bool_)
    for i in range(n_regions):
        count = np.int64(0)
        for w in range(n_words):
            count += _popcount(rising[i, w]) + _popcount(falling[i, w])
        untied[i] += count
        tied[i] = count < n_pairs
        for j in range(i):
            if tied[i] or tied[j]:
                value = _score_with_ties(rising[i], falling[i], rising[j], falling[j])
            else:
                value = n_pairs - 2 * _count_differing(rising[i], rising[j])
            score[i, j] += value
            score[j, i] += value


@kernel
def _count_differing(a: _Words, b: _Words) -> np.int64:
    count = np.int64(0)
    for w in range(a.size):
        count += _popcount(a[w] ^ b[w])
    return count


@kernel
def _score_with_ties(up_a: _Words, down_a: _Words, up_b: _Words, down_b: _Words) -> np.int64:
    count = np.int64(0)
    for w in range(up_a.size):
        count += _popcount((up_a[w] & up_b[w]) | (down_a[w] & down_b[w]))
        count -= _popcount((up_a[w] & down_b[w]) | (down_a[w] & up_b[w]))
    return count


@kernel
def _popcount(word: np.uint64) -> np.int64:
    """Count the set bits of a word; LLVM knows this pattern and emits one instruction."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    nibbles = (pairs & np.uint64(0x3333333333333333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    octets = (nibbles + (nibbles >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((octets * np.uint64(0x0101010101010101)) >> np.uint64(56))
