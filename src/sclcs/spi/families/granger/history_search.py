"""Choice of a delay embedding per region by information storage (compiled)."""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.small_linalg import SMALLEST_PIVOT, append_if_independent, dot, total

__all__ = ["search_histories"]


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
