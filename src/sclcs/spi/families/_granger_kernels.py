"""Compiled loops of the Gaussian transfer entropy.

Variables are named by region and lag; lag -1 is the next value. All covariances of a pair use
the same observations t = start .. T-2, where `start` is the longer span of the two histories,
so everything about one region is computed once per `start` and shared by its pairs.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.context import Array
from sclcs.spi.families._jit import kernel
from sclcs.spi.families._small_linalg import (
    SMALLEST_PIVOT,
    append_if_independent,
    continue_row,
    dot,
    is_positive_definite,
)

__all__ = ["FEWEST_OBSERVATIONS", "search_histories", "transfer_entropies"]

FEWEST_OBSERVATIONS = 2
NEXT = -1

Integers = NDArray[np.int64]


@kernel
def _covariance(x: Array, sums: Array, start: int, i: int, lag_i: int, j: int, lag_j: int) -> float:
    """Return cov(x_i[t - lag_i], x_j[t - lag_j]) over t = start .. T-2, divisor n - 1."""
    n = x.shape[1] - 1 - start
    first_i, first_j = start - lag_i, start - lag_j
    products = dot(x[i, first_i : first_i + n], x[j, first_j : first_j + n])
    sum_i = sums[i, first_i + n] - sums[i, first_i]
    sum_j = sums[j, first_j + n] - sums[j, first_j]
    return (products - sum_i * sum_j / n) / (n - 1)


@kernel
def search_histories(x: Array, sums: Array, longest: int, widest: int) -> Integers:
    """Return (length, delay) per region with the largest bias-corrected information storage."""
    n_regions, n_times = x.shape
    shapes = np.ones((n_regions, 2), dtype=np.int64)
    factor = np.empty((longest + 1, longest + 1))
    lags = np.empty(longest, dtype=np.int64)
    row = np.empty(longest)
    for i in range(n_regions):
        best = -np.inf
        for length in range(1, longest + 1):
            for delay in range(1, (widest if length > 1 else 1) + 1):
                start = (length - 1) * delay
                size = _factor_history(x, sums, start, i, length, delay, factor, lags, row)
                rest = _condition_next(x, sums, start, i, size, factor, lags, row)
                storage = np.inf
                if rest >= SMALLEST_PIVOT:
                    variance = _covariance(x, sums, start, i, NEXT, i, NEXT)
                    storage = 0.5 * log(variance / rest) - length / (2.0 * (n_times - 1 - start))
                if storage > best:
                    best = storage
                    shapes[i, 0] = length
                    shapes[i, 1] = delay
    return shapes


@kernel
def _factor_history(
    x: Array,
    sums: Array,
    start: int,
    i: int,
    length: int,
    delay: int,
    factor: Array,
    lags: Integers,
    row: Array,
) -> int:
    """Factor the covariance of a history; return how many independent values it has."""
    size = 0
    for place in range(length):
        lag = place * delay
        for a in range(size):
            row[a] = _covariance(x, sums, start, i, lag, i, lags[a])
        variance = _covariance(x, sums, start, i, lag, i, lag)
        if append_if_independent(factor, size, row, variance) >= SMALLEST_PIVOT:
            lags[size] = lag
            size += 1
    return size


@kernel
def _condition_next(
    x: Array, sums: Array, start: int, i: int, size: int, factor: Array, lags: Integers, row: Array
) -> float:
    """Return the variance of the next value given the history; its row joins the factor."""
    for a in range(size):
        row[a] = _covariance(x, sums, start, i, NEXT, i, lags[a])
    variance = _covariance(x, sums, start, i, NEXT, i, NEXT)
    return append_if_independent(factor, size, row, variance)


@kernel
def transfer_entropies(
    x: Array, sums: Array, targets: Integers, sources: Integers, out: Array
) -> None:
    """Write the transfer entropy of every pair; shapes are (length, delay) per region."""
    target_spans = (targets[:, 0] - 1) * targets[:, 1]
    source_spans = (sources[:, 0] - 1) * sources[:, 1]
    for start in np.unique(np.append(target_spans, source_spans)):
        within = _source_covariances(x, sums, start, sources, source_spans)
        for j in range(x.shape[0]):
            if target_spans[j] == start:
                chosen = source_spans <= start
            elif target_spans[j] < start:
                chosen = source_spans == start
            else:
                continue
            _onto_target(x, sums, start, j, targets[j], sources, chosen, within, out)


@kernel
def _source_covariances(
    x: Array, sums: Array, start: int, sources: Integers, spans: Integers
) -> Array:
    """Return covariances within each source history that fits, shape (region, value, value)."""
    longest = sources[:, 0].max()
    out = np.empty((x.shape[0], longest, longest))
    for i in range(x.shape[0]):
        if spans[i] <= start:
            for a in range(sources[i, 0]):
                for b in range(a + 1):
                    lag_a, lag_b = a * sources[i, 1], b * sources[i, 1]
                    out[i, a, b] = _covariance(x, sums, start, i, lag_a, i, lag_b)
    return out


@kernel
def _onto_target(
    x: Array,
    sums: Array,
    start: int,
    j: int,
    target: Integers,
    sources: Integers,
    chosen: NDArray[np.bool_],
    within: Array,
    out: Array,
) -> None:
    """Write the transfer entropies of the chosen sources onto one target."""
    most = target[0] + within.shape[1] + 1
    factor = np.empty((most, most))
    lags = np.empty(target[0], dtype=np.int64)
    kept = np.empty(within.shape[1], dtype=np.int64)
    row = np.empty(most)
    size = _factor_history(x, sums, start, j, target[0], target[1], factor, lags, row)
    own = _condition_next(x, sums, start, j, size, factor, lags, row)
    lags = lags[:size]
    next_row = factor[size, :size].copy()
    variance = own + dot(next_row, next_row)
    for i in range(x.shape[0]):
        if i == j or not chosen[i]:
            continue
        out[i, j] = 0.0  # also when the target's past leaves nothing to explain
        if own >= SMALLEST_PIVOT:
            count = _append_source(
                x, sums, start, i, sources[i], j, lags, within[i], factor, kept, row
            )
            if count > 0:
                rest = _next_given_all(
                    x, sums, start, i, kept[:count], j, size, own, next_row, factor, row
                )
                factored = factor[: size + count, : size + count]
                if _surely_regular(factored, variance, rest) or is_positive_definite(
                    _joint_covariance(x, sums, start, i, kept[:count], j, lags)
                ):
                    out[i, j] = 0.5 * log(own / rest)
                else:
                    out[i, j] = np.inf


@kernel
def _append_source(
    x: Array,
    sums: Array,
    start: int,
    i: int,
    source: Integers,
    j: int,
    lags: Integers,
    within: Array,
    factor: Array,
    kept: Integers,
    row: Array,
) -> int:
    """Append the source's independent values to the target's factor; return their number."""
    size = lags.size
    count = 0
    places = np.empty(source[0], dtype=np.int64)
    for place in range(source[0]):
        lag = place * source[1]
        for a in range(size):
            row[a] = _covariance(x, sums, start, i, lag, j, lags[a])
        for a in range(count):
            row[size + a] = within[place, places[a]]
        pivot = append_if_independent(factor, size + count, row, within[place, place])
        if pivot >= SMALLEST_PIVOT:
            places[count] = place
            kept[count] = lag
            count += 1
    return count


@kernel
def _next_given_all(
    x: Array,
    sums: Array,
    start: int,
    i: int,
    kept: Integers,
    j: int,
    size: int,
    own: float,
    next_row: Array,
    factor: Array,
    row: Array,
) -> float:
    """Return the variance of the target's next value given both histories."""
    end = size + kept.size
    factor[end, :size] = next_row
    for a in range(kept.size):
        row[size + a] = _covariance(x, sums, start, i, kept[a], j, NEXT)
    return continue_row(factor, size, end, row, own)


@kernel
def _surely_regular(factor: Array, next_variance: float, rest: float) -> bool:
    """Tell cheaply that no order of the variables can give a pivot below the cut.

    A pivot is the determinant over the other pivots, and those are at most the variances.
    """
    determinant = rest
    bound = max(next_variance, 1.0)
    for a in range(factor.shape[0]):
        variance = 0.0
        for b in range(a + 1):
            variance += factor[a, b] * factor[a, b]
        determinant *= factor[a, a] * factor[a, a]
        bound *= max(variance, 1.0)
    return determinant >= SMALLEST_PIVOT * bound


@kernel
def _joint_covariance(
    x: Array, sums: Array, start: int, i: int, kept: Integers, j: int, lags: Integers
) -> Array:
    """Return the covariance in the order JIDT factors it: source, next, history of target."""
    n = kept.size + 1 + lags.size
    regions = np.full(n, j)
    regions[: kept.size] = i
    all_lags = np.full(n, NEXT)
    all_lags[: kept.size] = kept
    all_lags[kept.size + 1 :] = lags
    out = np.empty((n, n))
    for a in range(n):
        for b in range(a + 1):
            out[a, b] = _covariance(
                x, sums, start, regions[a], all_lags[a], regions[b], all_lags[b]
            )
    return out
