"""Soft dynamic time warping and its gradient (Cuturi & Blondel 2017), for gamma = 1.

The soft minimum over all paths is -log of the sum of exp(-cost) over paths. Summing the
exponentials themselves makes the recursion linear: one exponential per cell instead of three and
a logarithm. Sums that leave the range of numbers are rescaled by powers of two along the way.
Cells that are still lost (their paths cost 700 more than the best) matter only for paths that
are far from optimal everywhere else; the sum is made from both ends, and where the two do not
agree the recursion is done again with logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.alignment import Limits, antidiagonal_band, table_shape
from sclcs.numerics.arrays import Array
from sclcs.numerics.exponential import exp_of_negative
from sclcs.numerics.jit import kernel, reducing_kernel

__all__ = ["SoftTables", "soft_alignment", "soft_tables"]

_SMALLEST, _LARGEST = 2.0**-200, 2.0**200
_AGREEMENT = 1e-9
_LN2 = math.log(2.0)


class SoftTables(NamedTuple):
    """Working memory for series of one length; rows are antidiagonals.

    ``sums`` over the paths to a cell, divided by two to the ``exponents``; ``steps`` are the
    exp(-cost) of cells; ``onward`` is three rows of sums over the paths from a cell.
    """

    sums: Array
    steps: Array
    onward: Array
    exponents: NDArray[np.int64]
    first: Limits
    last: Limits


def soft_tables(n_times: int) -> SoftTables:
    """Allocate the working memory of `soft_alignment`."""
    first, last = antidiagonal_band("none", n_times)
    whole = table_shape(n_times, whole=True)
    return SoftTables(
        sums=np.zeros(whole),
        steps=np.zeros(whole),
        onward=np.zeros(table_shape(n_times, whole=False)),
        exponents=np.zeros(2 * n_times - 1, dtype=np.int64),
        first=first,
        last=last,
    )


@kernel
def soft_alignment(x: Array, reversed_y: Array, tables: SoftTables, gradient: Array) -> float:
    """Return the soft-DTW value and add its gradient with respect to x."""
    end = _sum_forward(x, reversed_y, tables)
    if end > 0.0:
        again = _sum_backward(x, tables)
        if abs(again / end - 1.0) < _AGREEMENT:
            _add_gradient(x, reversed_y, tables, gradient)
            return float(-np.log(end) - _LN2 * tables.exponents[-1])
    return _with_logarithms(x, reversed_y, gradient)


@reducing_kernel
def _sum_forward(x: Array, reversed_y: Array, tables: SoftTables) -> float:
    """Sum over the paths to every cell; return the last sum, 0 if it was lost."""
    n = x.size
    exponent = 0
    for c in range(n + 2):
        tables.sums[0, c] = tables.sums[1, c] = 0.0
    tables.sums[0, 0] = 1.0
    for k in range(2 * n - 1):
        low, high = tables.first[k], tables.last[k] + 1
        row, before = tables.sums[k + 2], tables.sums[k + 1]
        row[low] = row[high + 1] = 0.0
        cells, steps = row[low + 1 : high + 1], tables.steps[k + 2, low + 1 : high + 1]
        up, left = before[low:high], before[low + 1 : high + 1]
        diagonal = tables.sums[k, low:high]
        a, b = x[low:high], reversed_y[n - 1 - k + low : n - 1 - k + high]
        total = 0.0
        for c in range(high - low):
            difference = a[c] - b[c]
            steps[c] = exp_of_negative(-difference * difference)
            cells[c] = steps[c] * (up[c] + left[c] + diagonal[c])
            total += cells[c]
        tables.exponents[k] = exponent
        if not _SMALLEST < total < _LARGEST:
            if not 0.0 < total < np.inf:
                return 0.0
            shift = math.frexp(total)[1]
            exponent += shift
            scale = math.ldexp(1.0, -shift)
            for c in range(n + 2):
                row[c] *= scale
                before[c] *= scale  # the diagonal neighbours of the next antidiagonal
            tables.exponents[max(k - 1, 0)] = tables.exponents[k] = exponent
    return float(tables.sums[2 * n, n])


@reducing_kernel
def _sum_backward(x: Array, tables: SoftTables) -> float:
    """Turn the sums into sums over the paths through every cell; return that of the first.

    The scale of every antidiagonal is chosen so that products of both sums have the scale of
    the last forward sum.
    """
    n = x.size
    exponents, onward = tables.exponents, tables.onward
    for c in range(n + 2):
        onward[0, c] = onward[1, c] = onward[2, c] = 0.0
    onward[(2 * n) % 3, n + 1] = 1.0  # one path leaves the last cell, diagonally
    for k in range(2 * n - 2, -1, -1):
        low, high = tables.first[k], tables.last[k] + 1
        row, after = onward[k % 3], onward[(k + 1) % 3]
        cells, steps = row[low + 1 : high + 1], tables.steps[k + 2, low + 1 : high + 1]
        down, right = after[low + 2 : high + 2], after[low + 1 : high + 1]
        diagonal = onward[(k + 2) % 3, low + 2 : high + 2]
        near = math.ldexp(1.0, exponents[k] - exponents[min(k + 1, 2 * n - 2)])
        far = math.ldexp(1.0, exponents[k] - exponents[min(k + 2, 2 * n - 2)])
        sums = tables.sums[k + 2, low + 1 : high + 1]
        for c in range(high - low):
            paths = near * (down[c] + right[c]) + far * diagonal[c]
            sums[c] *= paths
            cells[c] = steps[c] * paths
        row[low] = row[high + 1] = 0.0
    return float(onward[0, 1] * math.ldexp(1.0, -exponents[0]))


@reducing_kernel
def _add_gradient(x: Array, reversed_y: Array, tables: SoftTables, gradient: Array) -> None:
    """Add twice the differences, weighted by the share of the paths through each cell."""
    n = x.size
    share = 2.0 / tables.sums[2 * n, n]
    for k in range(2 * n - 1):
        low, high = tables.first[k], tables.last[k] + 1
        a, b = x[low:high], reversed_y[n - 1 - k + low : n - 1 - k + high]
        sums, out = tables.sums[k + 2, low + 1 : high + 1], gradient[low:high]
        for c in range(high - low):
            out[c] += share * sums[c] * (a[c] - b[c])


@kernel
def _with_logarithms(x: Array, reversed_y: Array, gradient: Array) -> float:
    """Do the same with soft minima: slow, and safe for any cost."""
    n = x.size
    costs = np.full((n + 1, n + 1), np.inf)
    costs[0, 0] = 0.0
    for s in range(n):
        for t in range(n):
            best = min(costs[s, t], costs[s, t + 1], costs[s + 1, t])
            total = np.exp(best - costs[s, t]) + np.exp(best - costs[s, t + 1])
            total += np.exp(best - costs[s + 1, t])
            difference = x[s] - reversed_y[n - 1 - t]
            costs[s + 1, t + 1] = difference * difference + best - np.log(total)
    weights = np.zeros((n + 2, n + 2))
    weights[n, n] = 1.0
    for s in range(n - 1, -1, -1):
        for t in range(n - 1, -1, -1):
            difference = x[s] - reversed_y[n - 1 - t]
            gradient[s] += 2.0 * weights[s + 1, t + 1] * difference
            # A path reaches the cell through each neighbour with this probability.
            arrival = costs[s + 1, t + 1] - difference * difference
            share = weights[s + 1, t + 1]
            weights[s, t] += share * np.exp(arrival - costs[s, t])
            weights[s, t + 1] += share * np.exp(arrival - costs[s, t + 1])
            weights[s + 1, t] += share * np.exp(arrival - costs[s + 1, t])
    return float(costs[n, n])
