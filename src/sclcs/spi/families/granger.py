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
    "blocks",
    "compute",
    "delay_vectors",
    "determinants_of",
    "onto_targets",
    "search_histories",
]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


Integers = NDArray[np.int64]


@kernel
def delay_vectors(
    x: Array, start: int, regions: Integers, shapes: Integers, with_next: bool
) -> tuple[Array, Integers]:
    """Return centred delay vectors as rows, scaled so that products are covariances.

    Rows offsets[r] .. offsets[r + 1] belong to regions[r]: lags 0, delay, 2 delay, ...,
    and last, if asked for, the next value.
    """
    n = x.shape[1] - 1 - start
    offsets = np.zeros(regions.size + 1, dtype=np.int64)
    for r in range(regions.size):
        offsets[r + 1] = offsets[r] + shapes[regions[r], 0] + with_next
    out = np.empty((offsets[-1], n))
    scale = 1.0 / sqrt(n - 1.0)
    for r in range(regions.size):
        length, delay = shapes[regions[r]]
        for place in range(length + with_next):
            first = start - place * delay if place < length else start + 1
            values = x[regions[r], first : first + n]
            row = out[offsets[r] + place]
            mean = total(values) / n
            for t in range(n):
                row[t] = (values[t] - mean) * scale
    return out, offsets


@kernel
def blocks(vectors: Array, offsets: Integers) -> Array:
    """Return the covariance of each region's rows, shape (region, row, row)."""
    n_regions = offsets.size - 1
    largest = 0
    for r in range(n_regions):
        largest = max(largest, offsets[r + 1] - offsets[r])
    out = np.empty((n_regions, largest, largest))
    for r in range(n_regions):
        first = offsets[r]
        for a in range(offsets[r + 1] - first):
            for b in range(a + 1):
                out[r, a, b] = dot(vectors[first + a], vectors[first + b])
                out[r, b, a] = out[r, a, b]
    return out


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
    for g in range(targets.size):
        rows = cross[target_offsets[g] : target_offsets[g + 1]]
        size = rows.shape[0]
        _onto_target(
            own[g, :size, :size],
            rows,
            targets[g],
            sources,
            source_offsets,
            within,
            determinants,
            out,
        )


@kernel
def _onto_target(
    own: Array,
    cross: Array,
    j: int,
    sources: Integers,
    offsets: Integers,
    within: Array,
    determinants: Array,
    out: Array,
) -> None:
    """Write the transfer entropies onto target j.

    `own` is the covariance of the target's history and, last, next value; `cross` that of
    these (rows) with the histories of all sources (columns).
    """
    after, longest = own.shape[0] - 1, within.shape[1]
    factor = np.empty_like(own)
    row = np.empty(max(after, longest))
    kept = np.empty(after, dtype=np.int64)
    kept = kept[: _independent(own[:after, :after], factor, row, kept)]
    left = _append(own, after, kept, kept.size, factor, row)
    solved = _solve(factor, kept, cross)
    own_pivot = _smallest_pivot(factor, kept.size)
    # Scratch for the sources, made once: an allocation costs more than a small product.
    rest = np.empty((longest + 1, longest + 1))
    source_factor = np.empty_like(rest)
    source_kept = np.empty(longest, dtype=np.int64)
    for s in range(sources.size):
        if sources[s] == j:
            continue
        value = 0.0  # the target's past leaves nothing to explain
        if left >= SMALLEST_PIVOT:
            first, end = offsets[s], offsets[s + 1]
            block = rest[: end - first + 1, : end - first + 1]
            _explain(within[s], cross[after], solved, factor[kept.size], left, first, block)
            size = _independent(block[:-1, :-1], source_factor, row, source_kept)
            independent = source_kept[:size]
            value = _transfer_entropy(
                block,
                independent,
                source_factor,
                row,
                left,
                own_pivot / (own[after, after] * determinants[s]),
            )
            if np.isnan(value):
                joint = _joint_covariance(own, kept, cross[:, first:end], within[s], independent)
                regular = is_positive_definite(joint)
                value = 0.5 * log(left / block[-1, -1]) if regular else np.inf
        out[sources[s], j] = value


@kernel
def _append(
    covariance: Array, place: int, kept: Integers, size: int, factor: Array, row: Array
) -> float:
    """Append the variable at `place` to the factor of the `kept` ones; return its pivot."""
    for b in range(size):
        row[b] = covariance[place, kept[b]]
    return append_if_independent(factor, size, row, covariance[place, place])


@kernel
def _independent(covariance: Array, factor: Array, row: Array, kept: Integers) -> int:
    """Factor a covariance without its dependent variables; return how many others there are."""
    size = 0
    for a in range(covariance.shape[0]):
        if _append(covariance, a, kept, size, factor, row) >= SMALLEST_PIVOT:
            kept[size] = a
            size += 1
    return size


@kernel
def _solve(factor: Array, kept: Integers, cross: Array) -> Array:
    """Return L^-1 cross: what the target's history explains of every source value."""
    out = np.empty((kept.size, cross.shape[1]))
    for a in range(kept.size):
        row = out[a]
        row[:] = cross[kept[a]]
        for b in range(a):
            weight = factor[a, b]
            earlier = out[b]
            for c in range(row.size):
                row[c] -= weight * earlier[c]
        inverse = 1.0 / factor[a, a]
        for c in range(row.size):
            row[c] *= inverse
    return out


@kernel
def _smallest_pivot(factor: Array, size: int) -> float:
    smallest = np.inf
    for a in range(size):
        smallest = min(smallest, factor[a, a] * factor[a, a])
    return smallest


@kernel
def determinants_of(within: Array, offsets: Integers) -> Array:
    """Return the determinant of each source's history; 0 if it has dependent values."""
    n_sources, longest, _ = within.shape
    out = np.zeros(n_sources)
    factor = np.empty((longest, longest))
    for s in range(n_sources):
        length = offsets[s + 1] - offsets[s]
        determinant = 1.0
        for size in range(length):
            row = within[s, size]
            pivot = append_if_independent(factor, size, row, row[size])
            determinant *= pivot if pivot >= SMALLEST_PIVOT else 0.0
        out[s] = determinant
    return out


@kernel
def _explain(
    within: Array,
    next_cross: Array,
    solved: Array,
    next_row: Array,
    left: float,
    first: int,
    rest: Array,
) -> None:
    """Write the covariance of a source's history and, last, the next value of the target.

    Both are conditioned on the target's history; only the lower triangle is written.
    """
    length = rest.shape[0] - 1
    for a in range(length):
        for b in range(a + 1):
            rest[a, b] = within[a, b]
        rest[length, a] = next_cross[first + a]
    rest[length, length] = left
    for c in range(solved.shape[0]):
        row = solved[c]
        for a in range(length):
            value = row[first + a]
            rest[length, a] -= next_row[c] * value
            for b in range(a + 1):
                rest[a, b] -= value * row[first + b]


@kernel
def _transfer_entropy(
    rest: Array,
    independent: Integers,
    factor: Array,
    row: Array,
    left: float,
    scale: float,
) -> float:
    """Return the transfer entropy, or NaN if it might be infinite.

    It is infinite if the joint covariance has a pivot below the cut in JIDT's order: source,
    next value, history of the target. There the pivot of a history value is the determinant
    over the other pivots, which are at most those of the target's own factor, of the source's
    own factor, and the variance of the next value. With `scale` the smallest of the first over
    the product of the others, the bound is scale times det(source, next | target's history).

    ``rest[-1, -1]`` becomes the variance of the next value given both histories.
    """
    size = independent.size
    if size == 0:
        return 0.0  # the source is part of the target's history
    pivot = _append(rest, rest.shape[0] - 1, independent, size, factor, row)
    rest[-1, -1] = pivot
    bound = scale * pivot
    for a in range(size):
        bound *= factor[a, a] * factor[a, a]
    regular = size == rest.shape[0] - 1 and min(bound, pivot) >= SMALLEST_PIVOT
    return 0.5 * log(left / pivot) if regular else np.nan


@kernel
def _joint_covariance(
    own: Array, kept: Integers, cross: Array, within: Array, independent: Integers
) -> Array:
    """Return the covariance in the order JIDT factors it: source, next, history of target."""
    count, size = independent.size, kept.size + 1
    out = np.empty((count + size, count + size))
    for a in range(count):
        for b in range(count):
            out[a, b] = within[independent[a], independent[b]]
    for a in range(size):
        # Places in `own`, the next value first.
        place = kept[a - 1] if a > 0 else own.shape[0] - 1
        for b in range(count):
            out[count + a, b] = cross[place, independent[b]]
        for b in range(a + 1):
            other = kept[b - 1] if b > 0 else own.shape[0] - 1
            out[count + a, count + b] = own[place, other]
    return out


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


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
    n_regions = x.shape[0]
    shapes = np.ones((n_regions, 2), dtype=np.int64)
    for i in range(n_regions):
        storage = np.empty((longest, widest))
        for delay in range(1, widest + 1):
            _storages(x[i], delay, storage[:, delay - 1])
        storage[0, 1:] = -np.inf
        best = -np.inf
        for length in range(1, longest + 1):
            for delay in range(1, widest + 1):
                if storage[length - 1, delay - 1] > best:
                    best = storage[length - 1, delay - 1]
                    shapes[i, 0] = length
                    shapes[i, 1] = delay
    return shapes


@kernel
def _storages(series: Array, delay: int, out: Array) -> None:
    """Write the storage of histories of length 1 .. out.size.

    Variable 0 is the next value and variable p > 0 the value at lag (p - 1) delay. A longer
    history starts later: `products` and `sums` lose the first terms instead of being
    computed again.
    """
    longest = out.size
    n = series.size - 1
    products = np.empty((longest + 1, longest + 1))
    sums = np.empty(longest + 1)
    covariance = np.empty((longest + 1, longest + 1))
    _add_variable(series, 0, delay, 0, products, sums)
    for length in range(1, longest + 1):
        start = (length - 1) * delay
        if length > 1:
            for t in range(start - delay, start):
                _drop_time(series, t, delay, length, products, sums)
            n -= delay
        _add_variable(series, start, delay, length, products, sums)
        for a in range(length + 1):
            for b in range(a + 1):
                covariance[a, b] = (products[a, b] - sums[a] * sums[b] / n) / (n - 1)
        out[length - 1] = _storage(covariance, length) - length / (2.0 * n)


@kernel
def _add_variable(
    series: Array, start: int, delay: int, place: int, products: Array, sums: Array
) -> None:
    """Add the products of one more variable with the earlier ones, over t = start .. T-2."""
    n = series.size - 1 - start
    first = start + 1 if place == 0 else start - (place - 1) * delay
    values = series[first : first + n]
    sums[place] = total(values)
    for a in range(place + 1):
        other = start + 1 if a == 0 else start - (a - 1) * delay
        products[place, a] = dot(values, series[other : other + n])


@kernel
def _drop_time(series: Array, t: int, delay: int, size: int, products: Array, sums: Array) -> None:
    """Remove the observation t from the sums of the first `size` variables."""
    for a in range(size):
        value = series[t + 1] if a == 0 else series[t - (a - 1) * delay]
        sums[a] -= value
        for b in range(a + 1):
            products[a, b] -= value * (series[t + 1] if b == 0 else series[t - (b - 1) * delay])


@kernel
def _storage(covariance: Array, length: int) -> float:
    """Return the mutual information of the next value and its history."""
    factor = np.empty((length + 1, length + 1))
    row = np.empty(length)
    kept = np.empty(length, dtype=np.int64)
    size = 0
    for a in range(1, length + 1):
        for b in range(size):
            row[b] = covariance[a, kept[b]]
        if append_if_independent(factor, size, row, covariance[a, a]) >= SMALLEST_PIVOT:
            kept[size] = a
            size += 1
    for b in range(size):
        row[b] = covariance[kept[b], 0]
    rest = append_if_independent(factor, size, row, covariance[0, 0])
    return 0.5 * log(covariance[0, 0] / rest) if rest >= SMALLEST_PIVOT else np.inf


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
        vectors, offsets = delay_vectors(x, start, chosen, sources, False)
        within = blocks(vectors, offsets)
        determinants = determinants_of(within, offsets)
        for fits, n_sources in (
            (target_spans == start, chosen.size),
            (target_spans < start, exact.size),
        ):
            group = np.flatnonzero(fits & (n_sources > 0))
            for first in range(0, group.size, most_targets):
                some = group[first : first + most_targets]
                rows, row_offsets = delay_vectors(x, start, some, targets, True)
                onto_targets(
                    blocks(rows, row_offsets),
                    rows @ vectors[: offsets[n_sources]].T,
                    some,
                    row_offsets,
                    chosen[:n_sources],
                    offsets,
                    within,
                    determinants,
                    out,
                )
