"""Compiled loops of the Gaussian transfer entropy.

All variables of a pair use the same observations t = start .. T-2, where `start` is the longer
span of the two histories. Per `start`, centred delay vectors of all regions are rows of a
matrix, and the covariance of each target's history is factored once for all its sources.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.small_linalg import (
    SMALLEST_PIVOT,
    append_if_independent,
    dot,
    is_positive_definite,
    total,
)

__all__ = ["blocks", "delay_vectors", "determinants_of", "onto_targets"]

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
