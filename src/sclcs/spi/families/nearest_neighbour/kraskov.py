"""Compiled loops of Kraskov's nearest-neighbour estimators (algorithm 1, maximum norm).

Around each point a cube reaches to the K-th neighbour in the joint space; how many points
lie strictly inside it in the marginal spaces gives the information. Neighbours nearer in
time than a window may be left out.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["NEIGHBOURS", "embed", "information", "transfer_entropy"]

NEIGHBOURS = 4

Integers = NDArray[np.int64]


@kernel
def embed(
    series: Array, first: int, delay: int, draws: Array, place: int, n_variables: int, out: Array
) -> None:
    """Write delay vectors, standardised and with noise: row a is the value at lag a delay.

    The value at lag zero of point t is ``series[first + t]``. Noise is dealt to all variables
    of a point in turn; row a is variable ``place + a`` of `n_variables`.
    """
    length, n = out.shape
    for a in range(length):
        values = series[first - a * delay : first - a * delay + n]
        mean = 0.0
        for t in range(n):
            mean += values[t]
        mean /= n
        square = 0.0
        for t in range(n):
            square += (values[t] - mean) ** 2
        scale = 1.0 / sqrt(square / (n - 1.0))
        for t in range(n):
            out[a, t] = (values[t] - mean) * scale + draws[t * n_variables + place + a]


@kernel
def _distances(points: Array, t: int, out: Array) -> None:
    """Write the maximum-norm distance of every point to point t."""
    row = points[0]
    for s in range(out.size):
        out[s] = abs(row[s] - row[t])
    for a in range(1, points.shape[0]):
        row = points[a]
        for s in range(out.size):
            out[s] = max(out[s], abs(row[s] - row[t]))


@kernel
def _reach(joint: Array, t: int, window: int, smallest: Array) -> float:
    """Return the K-th smallest distance to points more than `window` away in time."""
    last = smallest.size - 1
    for place in range(smallest.size):
        smallest[place] = np.inf
    for s in range(joint.size):
        distance = joint[s]
        if distance < smallest[last] and abs(s - t) > window:
            place = last
            while place > 0 and smallest[place - 1] > distance:
                smallest[place] = smallest[place - 1]
                place -= 1
            smallest[place] = distance
    return float(smallest[last])


@kernel
def _inside(distances: Array, reach: float, t: int, window: int) -> int:
    """Count the points inside the cube and outside the window."""
    count = 0
    for s in range(max(t - window, 0)):
        count += distances[s] < reach
    for s in range(t + window + 1, distances.size):
        count += distances[s] < reach
    return count


@kernel
def information(one: Array, two: Array, windows: Integers, psi: Array, out: Array) -> None:
    """Write the mutual information of two variables, by window.

    Parameters
    ----------
    one, two : array, shape (value, point)
        The variables, standardised and with noise.
    windows : array of int, shape (window,)
        Neighbours at most this near in time do not count.
    psi : array
        Digamma function of 0, 1, 2, ... (the first is not used).
    out : array, shape (window,)
        Result; NaN where the window leaves too few neighbours.
    """
    n = one.shape[1]
    from_one, from_two, joint = np.empty(n), np.empty(n), np.empty(n)
    smallest = np.empty(NEIGHBOURS)
    for w in range(out.size):
        out[w] = 0.0
    for t in range(n):
        _distances(one, t, from_one)
        _distances(two, t, from_two)
        for s in range(n):
            joint[s] = max(from_one[s], from_two[s])
        for w in range(out.size):
            reach = _reach(joint, t, windows[w], smallest)
            out[w] += psi[_inside(from_one, reach, t, windows[w]) + 1]
            out[w] += psi[_inside(from_two, reach, t, windows[w]) + 1]
            if reach == np.inf:
                out[w] = np.nan
    for w in range(out.size):
        out[w] = psi[NEIGHBOURS] + psi[n] - out[w] / n


@kernel
def transfer_entropy(
    source: Array, following: Array, past: Array, windows: Integers, psi: Array, out: Array
) -> None:
    """Write I(source; following | past), by window; the rest is as in `information`."""
    n = past.shape[1]
    from_source, from_next, from_past = np.empty(n), np.empty(n), np.empty(n)
    joint = np.empty(n)
    smallest = np.empty(NEIGHBOURS)
    for w in range(out.size):
        out[w] = 0.0
    for t in range(n):
        _distances(source, t, from_source)
        _distances(following, t, from_next)
        _distances(past, t, from_past)
        for s in range(n):
            # From here on both are distances in the joint space with the past.
            from_source[s] = max(from_source[s], from_past[s])
            from_next[s] = max(from_next[s], from_past[s])
            joint[s] = max(from_source[s], from_next[s])
        for w in range(out.size):
            reach = _reach(joint, t, windows[w], smallest)
            out[w] += psi[_inside(from_past, reach, t, windows[w]) + 1]
            out[w] -= psi[_inside(from_source, reach, t, windows[w]) + 1]
            out[w] -= psi[_inside(from_next, reach, t, windows[w]) + 1]
            if reach == np.inf:
                out[w] = np.nan
    for w in range(out.size):
        out[w] = psi[NEIGHBOURS] + out[w] / n
