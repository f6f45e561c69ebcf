"""Compiled loops of the Gaussian transfer entropy.

All variables of a pair use the same observations t = start .. T-2, where `start` is the longer
span of the two histories. Per `start`, centred delay vectors of all regions are rows of a
matrix, and the covariance of each target's history is factored once for all its sources.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import log, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.small_linalg import (
    SMALLEST_PIVOT,
    append_if_independent,
    dot,
    is_positive_definite,
    total,
)
from sclcs.spi.own import FamilyContext

__all__ = [
    "MEMBERS",
    "GaussianTransfer",
    "compute",
    "delay_vectors",
    "onto_targets",
    "search_histories",
]


# ruff: noqa: C901, PLR0912, PLR0917 - compiled loops: parts are compiled anew in every caller


Integers = NDArray[np.int64]


@kernel
def delay_vectors(
    x: Array, start: int, regions: Integers, shapes: Integers, with_next: bool
) -> tuple[Array, Integers, Array, Array]:
    """Return centred delay vectors as rows, scaled so that products are covariances.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    start : int
        First observation.
    regions : array of int
        Whose vectors.
    shapes : array of int, shape (region, 2)
        Length and delay of the history of every region.
    with_next : bool
        The next value, too, after the history.

    Returns
    -------
    vectors : array, shape (row, observation)
    offsets : array of int
        Rows offsets[r] .. offsets[r + 1] belong to regions[r]: lags 0, delay, 2 delay, ...,
        and last, if asked for, the next value.
    blocks : array, shape (region, row, row)
        Covariance of each region's rows.
    determinants : array, shape (region,)
        Determinants of these; 0 if there are dependent values.
    """
    n = x.shape[1] - 1 - start
    offsets = np.zeros(regions.size + 1, dtype=np.int64)
    largest = 0
    for r in range(regions.size):
        length = shapes[regions[r], 0] + with_next
        offsets[r + 1] = offsets[r] + length
        largest = max(largest, length)
    out = np.empty((offsets[-1], n))
    blocks = np.empty((regions.size, largest, largest))
    determinants = np.ones(regions.size)
    factor = np.empty((largest, largest))
    scale = 1.0 / sqrt(n - 1.0)
    for r in range(regions.size):
        length, delay, end = shapes[regions[r], 0], shapes[regions[r], 1], offsets[r + 1]
        for a in range(end - offsets[r]):
            first = start - a * delay if a < length else start + 1
            values = x[regions[r], first : first + n]
            row = out[offsets[r] + a]
            mean = total(values) / n
            for t in range(n):
                row[t] = (values[t] - mean) * scale
            for b in range(a + 1):
                blocks[r, a, b] = blocks[r, b, a] = dot(row, out[offsets[r] + b])
            pivot = append_if_independent(factor, a, blocks[r, a], blocks[r, a, a])
            determinants[r] *= pivot if pivot >= SMALLEST_PIVOT else 0.0
    return out, offsets, blocks, determinants


@kernel
def onto_targets(
    own: Array,
    cross: Array,
    targets: Integers,
    target_offsets: Integers,
    sources: Integers,
    source_offsets: Integers,
    within: Array,
    determinants: Array,
    out: Array,
) -> None:
    """Write the transfer entropies of some sources onto some targets, all with one start.

    Parameters
    ----------
    own : array, shape (target, value, value)
        Covariance of each target's history and, last, its next value.
    cross : array, shape (value of any target, value of any source)
        Covariance of these with the histories of the sources.
    targets, sources : array of int
        Regions.
    target_offsets, source_offsets : array of int
        First row or column of each region in `cross`, and the end.
    within : array, shape (source, value, value)
        Covariance of each source's history.
    determinants : array, shape (source,)
        Determinants of these.
    out : array, shape (region, region)
        Result, row -> column; the diagonal is left alone.
    """
    # Scratch, made once: an allocation costs more than a small product.
    longest, most = within.shape[1], own.shape[1]
    factor, source_factor = np.empty((most, most)), np.empty((longest + 1, longest + 1))
    row = np.empty(max(most, longest))
    kept, independent = np.empty(most, dtype=np.int64), np.empty(longest, dtype=np.int64)
    solved = np.empty((most, cross.shape[1]))
    rest = np.empty((longest + 1, longest + 1))
    for g in range(targets.size):
        rows, covariance = cross[target_offsets[g] : target_offsets[g + 1]], own[g]
        after = rows.shape[0] - 1
        n_kept = _independent(covariance, after, factor, row, kept)
        for b in range(n_kept):
            row[b] = covariance[after, kept[b]]
        left = append_if_independent(factor, n_kept, row, covariance[after, after])
        # L^-1 cross: what the target's history explains of every source value.
        smallest = np.inf
        for a in range(n_kept):
            inverse = 1.0 / factor[a, a]
            smallest = min(smallest, factor[a, a] * factor[a, a])
            for c in range(rows.shape[1]):
                solved[a, c] = rows[kept[a], c]
            for b in range(a):
                weight = factor[a, b]
                for c in range(rows.shape[1]):
                    solved[a, c] -= weight * solved[b, c]
            for c in range(rows.shape[1]):
                solved[a, c] *= inverse
        for s in range(sources.size):
            if sources[s] == targets[g]:
                continue
            value = 0.0
            if left >= SMALLEST_PIVOT:  # else the target's past leaves nothing to explain
                first, length = source_offsets[s], source_offsets[s + 1] - source_offsets[s]
                # Covariance of the source's history and, last, the target's next value, both
                # conditioned on the target's history; only the lower triangle is written.
                for a in range(length):
                    for b in range(a + 1):
                        rest[a, b] = within[s, a, b]
                    rest[length, a] = rows[after, first + a]
                for c in range(n_kept):
                    for a in range(length):
                        known = solved[c, first + a]
                        rest[length, a] -= factor[n_kept, c] * known
                        for b in range(a + 1):
                            rest[a, b] -= known * solved[c, first + b]
                size = _independent(rest, length, source_factor, row, independent)
                if size > 0:  # else the source is part of the target's history
                    for b in range(size):
                        row[b] = rest[length, independent[b]]
                    pivot = append_if_independent(source_factor, size, row, left)
                    # It is infinite if the joint covariance has a pivot below the cut in JIDT's
                    # order: source, next value, history of the target. There the pivot of a
                    # history value is the determinant over the other pivots, which are at most
                    # those of the target's own factor, of the source's own factor, and the
                    # variance of the next value. Hence this bound.
                    bound = smallest * pivot / (covariance[after, after] * determinants[s])
                    for a in range(size):
                        bound *= source_factor[a, a] * source_factor[a, a]
                    value = 0.5 * log(left / pivot)
                    if size < length or not min(bound, pivot) >= SMALLEST_PIVOT:
                        joint = _joint_covariance(
                            covariance,
                            after,
                            kept[:n_kept],
                            rows,
                            first,
                            within[s],
                            independent[:size],
                        )
                        value = value if is_positive_definite(joint) else np.inf
            out[sources[s], targets[g]] = value


@kernel
def _independent(covariance: Array, count: int, factor: Array, row: Array, kept: Integers) -> int:
    """Factor the first variables without the dependent ones; return how many are kept."""
    size = int(np.int64(0))  # a literal would be compiled apart
    for a in range(count):
        for b in range(size):
            row[b] = covariance[a, kept[b]]
        if append_if_independent(factor, size, row, covariance[a, a]) >= SMALLEST_PIVOT:
            kept[size] = a
            size += 1
    return size


@kernel
def _joint_covariance(
    own: Array,
    after: int,
    kept: Integers,
    cross: Array,
    first: int,
    within: Array,
    independent: Integers,
) -> Array:
    """Return the covariance in the order JIDT factors it: source, next, history of target."""
    count, size = independent.size, kept.size + 1
    out = np.empty((count + size, count + size))
    for a in range(count):
        for b in range(count):
            out[a, b] = within[independent[a], independent[b]]
    for a in range(size):
        # Places in `own`, the next value first.
        place = kept[a - 1] if a > 0 else after
        for b in range(count):
            out[count + a, b] = cross[place, first + independent[b]]
        for b in range(a + 1):
            other = kept[b - 1] if b > 0 else after
            out[count + a, count + b] = own[place, other]
    return out


@kernel
def search_histories(x: Array, longest: int, widest: int) -> NDArray[np.int64]:
    """Return (length, delay) per region that maximise the bias-corrected information storage.

    Candidates are compared in the order of growing length, then delay; the first largest
    wins. A region that is perfectly predicted stores infinite information.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    longest, widest : int
        Largest length and delay tried; with one value there is no delay.
    """
    n_regions, n_times = x.shape
    shapes = np.ones((n_regions, 2), dtype=np.int64)
    storage = np.empty((longest, widest))
    # Variable 0 is the next value and variable p > 0 the value at lag (p - 1) delay. A longer
    # history starts later: products and sums lose the first terms instead of being computed again.
    products, sums = np.empty((longest + 1, longest + 1)), np.empty(longest + 1)
    covariance = np.empty((longest + 1, longest + 1))
    factor, row = np.empty((longest + 1, longest + 1)), np.empty(longest)
    kept = np.empty(longest, dtype=np.int64)
    for i in range(n_regions):
        series = x[i]
        for delay in range(1, widest + 1):
            for place in range(longest + 1):
                start = max(place - 1, 0) * delay
                n = n_times - 1 - start
                if place > 1:
                    for t in range(start - delay, start):
                        for a in range(place):
                            value = series[t + 1] if a == 0 else series[t - (a - 1) * delay]
                            sums[a] -= value
                            for b in range(a + 1):
                                other = t + 1 if b == 0 else t - (b - 1) * delay
                                products[a, b] -= value * series[other]
                first = start + 1 if place == 0 else start - (place - 1) * delay
                values = series[first : first + n]
                sums[place] = total(values)
                for a in range(place + 1):
                    other = start + 1 if a == 0 else start - (a - 1) * delay
                    products[place, a] = dot(values, series[other : other + n])
                if place == 0:
                    continue
                # The history first, the next value last.
                for a in range(place + 1):
                    for b in range(a + 1):
                        shared = (products[a, b] - sums[a] * sums[b] / n) / (n - 1)
                        covariance[(a - 1) % (place + 1), (b - 1) % (place + 1)] = shared
                        covariance[(b - 1) % (place + 1), (a - 1) % (place + 1)] = shared
                size = _independent(covariance, place, factor, row, kept)
                for b in range(size):
                    row[b] = covariance[place, kept[b]]
                rest = append_if_independent(factor, size, row, covariance[place, place])
                found = np.inf
                if rest >= SMALLEST_PIVOT:
                    found = 0.5 * log(covariance[place, place] / rest)
                storage[place - 1, delay - 1] = found - place / (2.0 * n)
        best = -np.inf
        for length in range(1, longest + 1):
            for delay in range(1, widest + 1):
                if (length > 1 or delay == 1) and storage[length - 1, delay - 1] > best:
                    best = storage[length - 1, delay - 1]
                    shapes[i, 0], shapes[i, 1] = length, delay
    return shapes


FEWEST_OBSERVATIONS = 2

Shapes = NDArray[np.int64]


@dataclass(frozen=True)
class GaussianTransfer:
    """Histories of one operator.

    Parameters
    ----------
    target_length, source_length : int
        Number of values in the history of the target and of the source; an upper limit
        if `search` is set.
    delay : int
        Time steps between the values of a history; an upper limit if `search` is set.
    search : bool
        Choose length and delay for each region.
    """

    target_length: int
    source_length: int = 1
    delay: int = 1
    search: bool = False


MEMBERS: Mapping[str, GaussianTransfer] = MappingProxyType(
    {
        "gc_gaussian_k-1_kt-1_l-1_lt-1": GaussianTransfer(1),
        "gc_gaussian_k-max-10_tau-max-2": GaussianTransfer(10, 10, 2, search=True),
        "te_symbolic_k-1_kt-1_l-1_lt-1": GaussianTransfer(1),
        "te_symbolic_k-10_kt-1_l-1_lt-1": GaussianTransfer(10),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute Gaussian transfer entropies, row -> column, for every sample.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget sets how many targets are treated at once.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    by_parameters: dict[GaussianTransfer, Array] = {}
    for name in members:
        parameters = MEMBERS[name]
        if parameters not in by_parameters:  # two names may mean the same operator
            by_parameters[parameters] = _transfer_entropies(
                signals, parameters, context.memory_bytes
            )
    return {name: by_parameters[MEMBERS[name]].copy() for name in members}


def _transfer_entropies(signals: Array, parameters: GaussianTransfer, memory_bytes: int) -> Array:
    n_samples, n_regions, n_times = signals.shape
    out = np.full((n_samples, n_regions, n_regions), np.nan)
    longest = max(parameters.target_length, parameters.source_length)
    if n_times - 1 - (longest - 1) * parameters.delay < FEWEST_OBSERVATIONS:
        return out
    per_target = 16 * (parameters.target_length + 1) * parameters.source_length * n_regions
    most_targets = max(1, memory_bytes // per_target)
    targets = np.tile((parameters.target_length, parameters.delay), (n_regions, 1))
    sources = np.tile((parameters.source_length, parameters.delay), (n_regions, 1))
    for sample in range(n_samples):
        x = np.ascontiguousarray(signals[sample])
        if parameters.search:
            targets = sources = search_histories(x, longest, parameters.delay)
        _all_pairs(x, targets, sources, most_targets, out[sample])
    return out


def _all_pairs(x: Array, targets: Shapes, sources: Shapes, most_targets: int, out: Array) -> None:
    """Write the transfer entropy of every pair; shapes are (length, delay) per region."""
    target_spans = (targets[:, 0] - 1) * targets[:, 1]
    source_spans = (sources[:, 0] - 1) * sources[:, 1]
    for start in np.union1d(target_spans, source_spans):
        # The later start of the two histories counts. Sources that set it come first, because
        # targets with a shorter history need only those.
        exact = np.flatnonzero(source_spans == start)
        chosen = np.append(exact, np.flatnonzero(source_spans < start))
        vectors, offsets, within, determinants = delay_vectors(x, start, chosen, sources, False)
        for fits, n_sources in (
            (target_spans == start, chosen.size),
            (target_spans < start, exact.size),
        ):
            group = np.flatnonzero(fits & (n_sources > 0))
            for first in range(0, group.size, most_targets):
                some = group[first : first + most_targets]
                rows, row_offsets, own, _ = delay_vectors(x, start, some, targets, True)
                onto_targets(
                    own,
                    rows @ vectors[: offsets[n_sources]].T,
                    some,
                    row_offsets,
                    chosen[:n_sources],
                    offsets,
                    within,
                    determinants,
                    out,
                )
