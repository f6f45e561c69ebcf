"""Loops over pairs and histories of Kraskov's estimators (compiled)."""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.spi.families.nearest_neighbour.kraskov import embed, information, transfer_entropy

__all__ = ["best_histories", "mutual_informations", "transfer_entropies"]

Integers = NDArray[np.int64]


@kernel
def mutual_informations(
    x: Array, lag: int, windows: Integers, draws: Array, psi: Array, out: Array
) -> None:
    """Write the mutual informations of the row and the column `lag` steps later.

    Without a lag, the upper triangle is computed and mirrored.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    lag : int
        Time steps.
    windows : array of int, shape (region, region, window)
        Neighbours at most this near in time do not count.
    draws, psi : array
        Noise in the order in which it is dealt, and digamma function of 0, 1, 2, ...
    out : array, shape (region, region, window)
        Result.
    """
    n_regions, n_times = x.shape
    rows = np.empty((n_regions, n_times - lag))
    columns = np.empty((n_regions, n_times - lag))
    for i in range(n_regions):
        embed(x[i], 0, 1, draws, 0, 2, rows[i : i + 1])
        embed(x[i], lag, 1, draws, 1, 2, columns[i : i + 1])
    for i in range(n_regions):
        for j in range(0 if lag > 0 else i + 1, n_regions):
            if i == j:
                continue
            information(rows[i : i + 1], columns[j : j + 1], windows[i, j], psi, out[i, j])
            if lag == 0:
                for w in range(out.shape[2]):
                    out[j, i, w] = out[i, j, w]


@kernel
def best_histories(
    series: Array, windows: Integers, longest: int, widest: int, draws: Array, psi: Array
) -> Integers:
    """Return the (length, delay) that store most information on the next value, by window.

    Candidates are compared in the order of growing length, then delay; the first largest
    wins. All windows share the distances of a candidate.

    Parameters
    ----------
    series : array, shape (time,)
        Signal of one region.
    windows : array of int, shape (window,)
        Neighbours at most this near in time do not count.
    longest, widest : int
        Largest length and delay tried; with one value there is no delay.
    draws, psi : array
        Noise in the order in which it is dealt, and digamma function of 0, 1, 2, ...
    """
    shapes = np.ones((windows.size, 2), dtype=np.int64)
    stored = np.empty(windows.size)
    best = np.full(windows.size, -np.inf)
    for length in range(1, longest + 1):
        for delay in range(1, (widest if length > 1 else 1) + 1):
            start = (length - 1) * delay
            n = series.size - 1 - start
            history, following = np.empty((length, n)), np.empty((1, n))
            embed(series, start, delay, draws, 0, length + 1, history)
            embed(series, start + 1, 1, draws, length, length + 1, following)
            information(history, following, windows, psi, stored)
            for w in range(windows.size):
                if stored[w] > best[w]:
                    best[w] = stored[w]
                    shapes[w, 0], shapes[w, 1] = length, delay
    return shapes


@kernel
def transfer_entropies(
    x: Array,
    sources: Integers,
    targets: Integers,
    windows: Integers,
    draws: Array,
    psi: Array,
    out: Array,
) -> None:
    """Write the transfer entropies row -> column.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    sources, targets : array of int, shape (region, region, 2)
        Length and delay of the histories of each pair's row and column.
    windows : array of int, shape (region, region, window)
        Neighbours at most this near in time do not count.
    draws, psi : array
        Noise in the order in which it is dealt, and digamma function of 0, 1, 2, ...
    out : array, shape (region, region, window)
        Result.
    """
    n_regions, n_times = x.shape
    for i in range(n_regions):
        for j in range(n_regions):
            if i == j:
                continue
            length, delay = sources[i, j, 0], sources[i, j, 1]
            own_length, own_delay = targets[i, j, 0], targets[i, j, 1]
            start = max((length - 1) * delay, (own_length - 1) * own_delay)
            n = n_times - 1 - start
            size = length + 1 + own_length
            source, past = np.empty((length, n)), np.empty((own_length, n))
            following = np.empty((1, n))
            embed(x[i], start, delay, draws, 0, size, source)
            embed(x[j], start + 1, 1, draws, length, size, following)
            embed(x[j], start, own_delay, draws, length + 1, size, past)
            transfer_entropy(source, following, past, windows[i, j], psi, out[i, j])
