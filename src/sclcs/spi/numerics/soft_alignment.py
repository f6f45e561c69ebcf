"""Soft dynamic time warping and its gradient (Cuturi & Blondel 2017), for gamma = 1.

The soft minimum over all paths is -log of the sum of exp(-cost) over paths. Summing the
exponentials themselves makes the recursion linear: one exponential per cell instead of three and
a logarithm. Sums that leave the range of numbers are rescaled by powers of two along the way.
Cells that are still lost (their paths cost 700 more than the best) matter only for paths that
are far from optimal everywhere else; the sum is made from both ends, and where the two do not
agree the recursion is done again with logarithms.

Most cells are passed by no path that counts. Whoever aligns nearly the same series again and again
gives a band of cells: a wide one at first, which the first alignment narrows down to the cells that
at least 1e-20 of all paths pass through, and a few beside these. An alignment that finds
more than 1e-15 of all paths at the edge of the band is done again without it. Eight cells of an
antidiagonal are worked on at a time, the last ones with zeros beside them: some forty cells are too
few for a loop that needs a second one for what is left over.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.alignment import Limits, antidiagonal_band, table_shape
from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.lanes import (
    WIDTH,
    add,
    add_product,
    first_lanes,
    load_from,
    multiply,
    spread,
    store_from,
    subtract,
    sum_of,
    zeros,
)
from sclcs.spi.numerics.vector import exp_of_negative_lanes

__all__ = ["SoftTables", "soft_alignment", "soft_alignment_in_band", "soft_tables"]

_SMALLEST, _LARGEST = 2.0**-200, 2.0**200
_AGREEMENT = 1e-9
_LN2 = math.log(2.0)
_LEFT_OUT, _AT_THE_EDGE = 1e-20, 1e-15  # shares of all paths
_MARGIN = 4  # cells beside those that count
_LOW, _HIGH = 0, 1


class SoftTables(NamedTuple):
    """Working memory for series of one length; rows are antidiagonals.

    ``x``, ``reversed_y`` and ``gradient`` are copies with room behind their ends, because eight
    cells are worked on at a time; so are the rows of the tables. ``sums`` over the paths to a cell,
    divided by two to the ``exponents``; ``steps`` are the exp(-cost) of cells; ``onward`` is three
    rows of sums over the paths from a cell; ``whole`` is the first and the last s of every
    antidiagonal, (2, antidiagonal).
    """

    x: Array
    reversed_y: Array
    gradient: Array
    sums: Array
    steps: Array
    onward: Array
    exponents: NDArray[np.int64]
    whole: Limits


def soft_tables(n_times: int) -> SoftTables:
    """Allocate the working memory of `soft_alignment`."""
    x, reversed_y, gradient = np.zeros((3, n_times + WIDTH))
    n_rows, n_columns = table_shape(n_times, whole=True)
    sums, steps = np.zeros((2, n_rows, n_columns + WIDTH))
    return SoftTables(
        x=x,
        reversed_y=reversed_y,
        gradient=gradient,
        sums=sums,
        steps=steps,
        onward=np.zeros((3, n_columns + WIDTH)),
        exponents=np.zeros(2 * n_times - 1, dtype=np.int64),
        whole=np.stack(antidiagonal_band("none", n_times)),
    )


@kernel
def soft_alignment(x: Array, reversed_y: Array, tables: SoftTables, gradient: Array) -> float:
    """Return the soft-DTW value and add its gradient with respect to x."""
    _copy(x, reversed_y, tables)
    if _sum_both_ways(tables, tables.whole) > 0.0:
        return _finish(tables, gradient)
    return _with_logarithms(x, reversed_y, gradient)


@kernel
def soft_alignment_in_band(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    x: Array,
    reversed_y: Array,
    tables: SoftTables,
    band: Limits,
    is_first: bool,
    gradient: Array,
) -> float:
    """Do the same in a band, (2, antidiagonal), which is made by the first alignment."""
    _copy(x, reversed_y, tables)
    if is_first:
        _start_band(tables.whole, band)
    end = _sum_both_ways(tables, band)
    if not (end > 0.0 and _largest_at_edge(tables, band) < _AT_THE_EDGE * end):
        for t in range(band.shape[1]):
            band[0, t], band[1, t] = tables.whole[0, t], tables.whole[1, t]
        end = _sum_both_ways(tables, band)
        is_first = True
    if not end > 0.0:
        return _with_logarithms(x, reversed_y, gradient)
    value = _finish(tables, gradient)
    if is_first:
        _narrow(tables, _LEFT_OUT * end, band)
    return value


@kernel
def _copy(x: Array, reversed_y: Array, tables: SoftTables) -> None:
    for t in range(x.size):
        tables.x[t], tables.reversed_y[t] = x[t], reversed_y[t]


@kernel
def _start_band(whole: Limits, band: Limits) -> None:
    """Fill in the cells less than a quarter of the series off the diagonal."""
    n_diagonals = band.shape[1]
    width = (n_diagonals + 1) // 8
    for k in range(n_diagonals):
        band[_LOW, k] = max((k - width + 1) // 2, whole[_LOW, k])
        band[_HIGH, k] = min((k + width) // 2, whole[_HIGH, k])


@kernel
def _sum_both_ways(tables: SoftTables, band: Limits) -> float:
    """Return the sum over all paths inside a band, 0 if it was lost."""
    end = _sum_forward(tables, band)
    if end > 0.0:
        again = _sum_backward(tables, band)
        if abs(again / end - 1.0) < _AGREEMENT:
            return end
    return 0.0


@kernel
def _finish(tables: SoftTables, gradient: Array) -> float:
    """Return the value and add the gradient: twice the differences, by their share of the paths."""
    n = gradient.size
    end = tables.sums[2 * n, n]
    share = 2.0 / end
    for t in range(n):
        gradient[t] += share * tables.gradient[t]
    return float(-np.log(end) - _LN2 * tables.exponents[-1])


@kernel
def _largest_at_edge(tables: SoftTables, band: Limits) -> float:
    """Return the largest sum over the paths through a cell at the edge of a band."""
    largest = 0.0
    whole = tables.whole
    for k in range(band.shape[1]):
        low, high = band[_LOW, k], band[_HIGH, k]
        if low > whole[_LOW, k]:
            largest = max(largest, tables.sums[k + 2, low + 1])
        if high < whole[_HIGH, k]:
            largest = max(largest, tables.sums[k + 2, high + 1])
    return largest


@kernel
def _narrow(tables: SoftTables, limit: float, band: Limits) -> None:
    """Keep what lies between the first and the last cell above a limit, and a few cells beside.

    Both ends of a band stay or move on by one from each antidiagonal to the next.
    """
    n_diagonals = band.shape[1]
    for k in range(n_diagonals):
        low, high = band[_LOW, k], band[_HIGH, k]
        while low < high and tables.sums[k + 2, low + 1] < limit:
            low += 1
        while high > low and tables.sums[k + 2, high + 1] < limit:
            high -= 1
        band[_LOW, k] = max(low - _MARGIN, tables.whole[_LOW, k])
        band[_HIGH, k] = min(high + _MARGIN, tables.whole[_HIGH, k])
    for k in range(1, n_diagonals):
        band[_HIGH, k] = max(band[_HIGH, k], band[_HIGH, k - 1])
        before = n_diagonals - 1 - k
        band[_LOW, before] = min(band[_LOW, before], band[_LOW, before + 1])
    for k in range(1, n_diagonals):
        band[_LOW, k] = min(band[_LOW, k], band[_LOW, k - 1] + 1)
        before = n_diagonals - 1 - k
        band[_HIGH, before] = max(band[_HIGH, before], band[_HIGH, before + 1] - 1)


@kernel
def _sum_forward(tables: SoftTables, band: Limits) -> float:
    """Sum over the paths to every cell; return the last sum, 0 if it was lost."""
    n = (band.shape[1] + 1) // 2
    x, reversed_y = tables.x, tables.reversed_y
    exponent = 0
    for c in range(n + 2):
        tables.sums[0, c] = tables.sums[1, c] = 0.0
    tables.sums[0, 0] = 1.0
    for k in range(2 * n - 1):
        low, high = band[_LOW, k], band[_HIGH, k] + 1
        row, before, diagonal = tables.sums[k + 2], tables.sums[k + 1], tables.sums[k]
        row[low] = row[high + 1] = 0.0
        steps = tables.steps[k + 2]
        total = zeros()
        for c in range(low, high, WIDTH):
            difference = subtract(load_from(x, c), load_from(reversed_y, n - 1 - k + c))
            step = exp_of_negative_lanes(multiply(difference, subtract(zeros(), difference)))
            beside = add(load_from(before, c), load_from(before, c + 1))
            paths = add(beside, load_from(diagonal, c))
            cells = first_lanes(multiply(step, paths), high - c)
            store_from(steps, c + 1, step)
            store_from(row, c + 1, cells)
            total = add(total, cells)
        tables.exponents[k] = exponent
        size = sum_of(total)
        if not _SMALLEST < size < _LARGEST:
            if not 0.0 < size < np.inf:
                return 0.0
            shift = math.frexp(size)[1]
            exponent += shift
            scale = math.ldexp(1.0, -shift)
            for c in range(n + 2):
                row[c] *= scale
                before[c] *= scale  # the diagonal neighbours of the next antidiagonal
            tables.exponents[max(k - 1, 0)] = tables.exponents[k] = exponent
    return float(tables.sums[2 * n, n])


@kernel
def _sum_backward(tables: SoftTables, band: Limits) -> float:
    """Turn the sums into sums over the paths through every cell; return that of the first.

    Differences, weighted by these sums, are added up in ``gradient``. The scale of every
    antidiagonal is chosen so that products of both sums have the scale of the last forward sum.
    """
    n = (band.shape[1] + 1) // 2
    x, reversed_y, gradient = tables.x, tables.reversed_y, tables.gradient
    exponents, onward = tables.exponents, tables.onward
    gradient[:] = 0.0
    onward[:] = 0.0
    onward[(2 * n) % 3, n + 1] = 1.0  # one path leaves the last cell, diagonally
    for k in range(2 * n - 2, -1, -1):
        low, high = band[_LOW, k], band[_HIGH, k] + 1
        row, after, diagonal = onward[k % 3], onward[(k + 1) % 3], onward[(k + 2) % 3]
        steps, sums = tables.steps[k + 2], tables.sums[k + 2]
        near = spread(math.ldexp(1.0, exponents[k] - exponents[min(k + 1, 2 * n - 2)]))
        far = spread(math.ldexp(1.0, exponents[k] - exponents[min(k + 2, 2 * n - 2)]))
        for c in range(low, high, WIDTH):
            beside = add(load_from(after, c + 2), load_from(after, c + 1))
            paths = add_product(multiply(far, load_from(diagonal, c + 2)), near, beside)
            paths = first_lanes(paths, high - c)
            store_from(row, c + 1, multiply(load_from(steps, c + 1), paths))
            through = multiply(load_from(sums, c + 1), paths)
            store_from(sums, c + 1, through)
            difference = subtract(load_from(x, c), load_from(reversed_y, n - 1 - k + c))
            store_from(gradient, c, add_product(load_from(gradient, c), through, difference))
        row[low] = row[high + 1] = 0.0
    return float(onward[0, 1] * math.ldexp(1.0, -exponents[0]))


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
