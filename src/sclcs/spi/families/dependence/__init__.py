"""Distance correlation from sums over distance matrices.

Centring need not be carried out: with row sums a_s and total a of one matrix, the products of
two centred matrices sum to

    sum a_st b_st - 2/n sum a_s b_s + a b / n^2                    (double-centred, biased)
    sum a_st b_st - 2/(n-2) sum a_s b_s + a b / ((n-1)(n-2))       (U-centred, unbiased)

No distance matrix is made: sorted series give row sums and products in T log T (Huo and Szekely,
2016). With a lag, what is compared are distances between rows of distance matrices, as in hyppo;
there the first term is one matrix product over all pairs of regions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.families.dependence.multiscale import (
    LaggedDistances,
    multiscale_correlations,
    neighbourhoods,
    series_distances,
)
from sclcs.spi.numerics.compiling import Array, kernel, reducing_kernel
from sclcs.spi.numerics.neighbours import WORD, Words, n_words, population
from sclcs.spi.numerics.vector import dot, exp_of_negative
from sclcs.spi.own import MEBIBYTE, FamilyContext

__all__ = [
    "MEMBERS",
    "DependenceParameters",
    "association_statistics",
    "centring_factors",
    "compute",
    "distance_correlations",
    "kernel_correlations",
]


# A centred sum this much smaller than its terms is rounding: the matrix is constant.
_NOTHING = 1e-13

Indices = NDArray[np.intp]


def _lagged_correlations(first: Array, second: Array) -> Array:
    """Return the unbiased distance correlations of (region, time, time) distance matrices."""
    by_row, total = centring_factors(first.shape[-1], biased=False)
    products = first.reshape(len(first), -1) @ second.reshape(len(second), -1).T
    by_series = [
        (matrices.sum(axis=2), np.einsum("rst,rst->r", matrices, matrices))
        for matrices in (first, second)
    ]
    return _correlate(products, by_series, by_row, total)


def _correlate(
    products: Array, by_series: Sequence[tuple[Array, Array]], by_row: float, total: float
) -> Array:
    """Centre sums of products and divide them by norms, given row sums and sums of squares."""
    (first, _), (second, _) = by_series
    totals = np.outer(first.sum(axis=1), second.sum(axis=1))
    centred = products - by_row * (first @ second.T) + total * totals
    own = []
    for sums, squares in by_series:
        left = squares - by_row * (sums**2).sum(axis=1) + total * sums.sum(axis=1) ** 2
        own.append(np.where(left > _NOTHING * squares, left, 0.0))
    norms = np.sqrt(np.outer(*own))
    ratio: Array = np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0.0)
    return ratio


def distance_correlations(rows: Array) -> tuple[Array, Array]:
    """Return the unbiased and the biased distance correlation of all pairs of series."""
    n = rows.shape[1]
    rows = np.ascontiguousarray(rows)
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    before = ordered.cumsum(axis=1) - ordered
    distances = ordered * (2.0 * np.arange(n) - n) + ordered.sum(axis=1)[:, None] - 2.0 * before
    sums = np.empty_like(rows)
    np.put_along_axis(sums, order, distances, axis=1)
    squares = 2.0 * n * (rows**2).sum(axis=1) - 2.0 * rows.sum(axis=1) ** 2
    products = np.zeros((len(rows), len(rows)))
    _add_products(rows, order, np.argsort(order, axis=1), products)
    unbiased, biased = (
        _correlate(products, [(sums, squares)] * 2, *centring_factors(n, biased=biased))
        for biased in (False, True)
    )
    return unbiased, np.sqrt(np.maximum(biased, 0.0))


@kernel
def _add_products(rows: Array, orders: Indices, ranks: Indices, out: Array) -> None:
    """Sum |x_s - x_t| |y_s - y_t| with the signs told by the order of both.

    In the order of x, a tree of partial sums by the rank of y knows the number of the points
    before with a smaller y, and the sums of their x, y and x y.
    """
    n_regions, n = rows.shape
    tree = np.empty((n + 1, 4))
    for i in range(n_regions):
        for j in range(i):
            for k in range(n + 1):
                for part in range(4):
                    tree[k, part] = 0.0
            rising = sum_x = sum_y = sum_xy = 0.0
            for k in range(n):
                t = orders[i, k]
                x, y = rows[i, t], rows[j, t]
                sum_x, sum_y, sum_xy = sum_x + x, sum_y + y, sum_xy + x * y
                number = before_x = before_y = before_xy = 0.0
                place = ranks[j, t]
                while place > 0:
                    number += tree[place, 0]
                    before_x += tree[place, 1]
                    before_y += tree[place, 2]
                    before_xy += tree[place, 3]
                    place &= place - 1
                rising += (number * y - before_y) * x - before_x * y + before_xy
                place = ranks[j, t] + 1
                while place <= n:
                    tree[place, 0] += 1.0
                    tree[place, 1] += x
                    tree[place, 2] += y
                    tree[place, 3] += x * y
                    place += place & -place
            # Pairs that rise together count twice, less all pairs as if they did.
            out[i, j] = out[j, i] = 4.0 * rising - 2.0 * (n * sum_xy - sum_x * sum_y)


def centring_factors(n_times: int, *, biased: bool) -> tuple[float, float]:
    """Return the factors of the row sums and of the totals."""
    if biased:
        return 2.0 / n_times, 1.0 / n_times**2
    return 2.0 / (n_times - 2), 1.0 / ((n_times - 1) * (n_times - 2))


def association_statistics(rows: Array, memory_bytes: int) -> Array:
    """Return the statistic of all pairs of rows, (region, region)."""
    n_regions, n_times = rows.shape
    rows = np.ascontiguousarray(rows)
    out = np.zeros((n_regions, n_regions))
    bytes_per_centre = n_regions * n_times * (8 * n_words(n_times) + 16)
    block = max(1, int(memory_bytes // bytes_per_centre))
    for start in range(0, n_times, block):
        stop = min(start + block, n_times)
        _add_chi_squares(*_nearer_points(rows, start, stop), n_times - 2, out)
    return out


@kernel
def _nearer_points(rows: Array, start: int, stop: int) -> tuple[Words, Array, Array]:
    """Return, by region, centre i and point j, the points nearer to i than j is.

    As bit sets, as their number without i and j, and as the factor of one series in the
    denominator of the chi-square (zero where it is not defined).
    """
    n_regions, n_times = rows.shape
    words = (n_times + WORD - 1) // WORD
    nearer = np.zeros((n_regions, stop - start, n_times, words), dtype=np.uint64)
    counts, weights = np.zeros((2, n_regions, stop - start, n_times))
    distance = np.empty(n_times)
    for region in range(n_regions):
        x = rows[region]
        for i in range(start, stop):
            for k in range(n_times):
                squared = (-2.0 * (x[i] * x[k]) + x[i] * x[i]) + x[k] * x[k]
                distance[k] = np.sqrt(max(squared, 0.0))
            distance[i] = 0.0
            for j in range(n_times):
                number = -2
                for k in range(n_times):
                    near = distance[k] <= distance[j]
                    bit = np.uint64(near) << np.uint64(k % WORD)
                    nearer[region, i - start, j, k // WORD] |= bit
                    number += near
                # Point i is no partner of itself: it keeps the weight zero.
                if i != j and 0 < number < n_times - 2:
                    counts[region, i - start, j] = number
                    weights[region, i - start, j] = 1.0 / (number * (n_times - 2 - number))
    return nearer, counts, weights


@kernel
def _add_chi_squares(
    nearer: Words, counts: Array, weights: Array, n_others: int, out: Array
) -> None:
    n_regions, n_centres, n_times, words = nearer.shape
    for a in range(n_regions):
        for b in range(a):
            total = 0.0
            for i in range(n_centres):
                for j in range(n_times):
                    both = np.uint64(0)
                    for w in range(words):
                        both += population(nearer[a, i, j, w] & nearer[b, i, j, w])
                    # Points i and j are in both sets.
                    excess = counts[a, i, j] * counts[b, i, j] - n_others * (float(both) - 2.0)
                    total += excess * excess * weights[a, i, j] * weights[b, i, j]
            out[a, b] += n_others * total
            out[b, a] = out[a, b]


def kernel_correlations(rows: Array) -> tuple[Array, Array]:
    """Return the unbiased and the biased criterion, (region, region), width of the earlier row.

    A row whose median distance is zero (most values are equal) has no width: NaN.
    """
    n_regions, n_times = rows.shape
    pairs = np.triu_indices(n_times, 1)
    widths = np.array([np.median(series_distances(row[None])[0][pairs]) for row in rows])
    steepness = 0.5 / widths**2
    unbiased, biased = np.full((2, n_regions, n_regions), np.nan)
    factors = (*centring_factors(n_times, biased=False), *centring_factors(n_times, biased=True))
    _fill(np.ascontiguousarray(rows), steepness, np.array(factors), unbiased, biased)
    return unbiased, np.sqrt(np.maximum(biased, 0.0))


@reducing_kernel
def _fill(rows: Array, steepness: Array, factors: Array, unbiased: Array, biased: Array) -> None:
    """Fill both matrices; the distances of one row are kept, those of its partners are not."""
    n_regions, n_times = rows.shape
    matrix = np.empty((n_times, n_times))
    sums, partner_sums, buffer = np.empty((3, n_times))
    for i in range(n_regions):
        if not np.isfinite(steepness[i]):
            continue
        own = _fill_distances(rows[i], steepness[i], matrix, sums)
        for j in range(i + 1, n_regions):
            shared, other = _compare(rows[j], steepness[i], matrix, partner_sums, buffer)
            for form in range(2):
                by_row, total = factors[2 * form], factors[2 * form + 1]
                ab = _centre(shared, sums, partner_sums, by_row, total)
                aa = _centre(own, sums, sums, by_row, total)
                bb = _centre(other, partner_sums, partner_sums, by_row, total)
                out = biased if form else unbiased
                out[i, j] = out[j, i] = ab / np.sqrt(aa * bb)


@reducing_kernel
def _fill_distances(x: Array, steepness: float, matrix: Array, sums: Array) -> float:
    """Fill the lower triangle of 1 - K and its row sums; return the sum of its squares."""
    squares = 0.0
    sums[:] = 0.0
    for s in range(x.size):
        row = matrix[s]
        for t in range(s):
            row[t] = 1.0 - exp_of_negative(-steepness * (x[s] - x[t]) ** 2)
        squares += 2.0 * _add_sums(row[:s], sums)
    return squares


@reducing_kernel
def _compare(
    y: Array, steepness: float, matrix: Array, sums: Array, buffer: Array
) -> tuple[float, float]:
    """Return the sums of the products with a filled matrix and of the squares."""
    products = squares = 0.0
    sums[:] = 0.0
    for s in range(y.size):
        for t in range(s):
            buffer[t] = 1.0 - exp_of_negative(-steepness * (y[s] - y[t]) ** 2)
        products += 2.0 * dot(matrix[s, :s], buffer[:s])
        squares += 2.0 * _add_sums(buffer[:s], sums)
    return products, squares


@reducing_kernel
def _add_sums(row: Array, sums: Array) -> float:
    """Add the start of a symmetric matrix's row to all row sums; return its sum of squares."""
    total = squares = 0.0
    for t in range(row.size):
        sums[t] += row[t]
        total += row[t]
        squares += row[t] * row[t]
    sums[row.size] += total
    return squares


@reducing_kernel
def _centre(products: float, first: Array, second: Array, by_row: float, total: float) -> float:
    return products - by_row * dot(first, second) + total * float(first.sum() * second.sum())


Statistic = Literal["dcorr", "dcorr_biased", "mgc", "hsic", "hsic_biased", "hhg"]

# Distances of the series and of their rows, sums of squares of these, centred distances, their
# transpose, in lanes or sorted by rank again, ranks twice or places.
_BYTES_PER_DISTANCE = 56
# With smaller blocks, the distances of a region would be made again for almost every partner.
_LEAST_MEMORY = 16 * MEBIBYTE


@dataclass(frozen=True)
class DependenceParameters:
    """Which statistic, and up to which lag.

    Parameters
    ----------
    statistic : str
        ``dcorr``, ``hsic`` (also ``_biased``), ``mgc`` or ``hhg``.
    max_lag : int, optional
        Add the statistics of the lags 0 to this one; without it, lag 0 alone.
    """

    statistic: Statistic
    max_lag: int = 0


MEMBERS: Mapping[str, DependenceParameters] = MappingProxyType(
    {
        "dcorr": DependenceParameters("dcorr"),
        "dcorr_biased": DependenceParameters("dcorr_biased"),
        "mgc": DependenceParameters("mgc"),
        "hsic": DependenceParameters("hsic"),
        "hsic_biased": DependenceParameters("hsic_biased"),
        "hhg": DependenceParameters("hhg"),
        "mgcx_maxlag-1": DependenceParameters("mgc", max_lag=1),
        "mgcx_maxlag-10": DependenceParameters("mgc", max_lag=10),
        "dcorrx_maxlag-1": DependenceParameters("dcorr", max_lag=1),
        "dcorrx_maxlag-10": DependenceParameters("dcorr", max_lag=10),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested dependence statistics of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Distance matrices of a block of regions fit in its memory budget.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    samples = [_compute_sample(rows, members, context.memory_bytes) for rows in signals]
    return {name: np.stack([sample[name] for sample in samples]) for name in members}


def _compute_sample(rows: Array, members: Collection[str], memory_bytes: int) -> dict[str, Array]:
    asked = [MEMBERS[name] for name in members]
    wanted = {parameters.statistic for parameters in asked}
    found: dict[tuple[Statistic, int], Array] = {}
    if "hhg" in wanted:
        found["hhg", 0] = association_statistics(rows, memory_bytes)
    if wanted & {"hsic", "hsic_biased"}:
        found["hsic", 0], found["hsic_biased", 0] = kernel_correlations(rows)
    if wanted & {"dcorr", "dcorr_biased"}:
        found["dcorr", 0], found["dcorr_biased", 0] = distance_correlations(rows)
    wanted_lags = {(p.statistic, lag) for p in asked for lag in range(p.max_lag + 1)}
    compared = {(s, lag) for s, lag in wanted_lags if s == "mgc" or (s == "dcorr" and lag > 0)}
    if compared:
        found |= _compare_all(rows, compared, memory_bytes)
    return {name: _sum_over_lags(found, MEMBERS[name], rows.shape[-1]) for name in members}


def _sum_over_lags(
    found: Mapping[tuple[Statistic, int], Array], parameters: DependenceParameters, n_times: int
) -> Array:
    terms = [
        (n_times - lag) / n_times * found[parameters.statistic, lag]
        for lag in range(parameters.max_lag + 1)
    ]
    total: Array = np.sum(terms, axis=0)
    return total


def _compare_all(
    rows: Array, wanted: Collection[tuple[Statistic, int]], memory_bytes: int
) -> dict[tuple[Statistic, int], Array]:
    """Compare the distance matrices of all pairs at some lags, the first of a pair later."""
    n_regions, n_times = rows.shape
    out = {key: np.zeros((n_regions, n_regions)) for key in wanted}
    per_region = 2 * _BYTES_PER_DISTANCE * n_times**2
    budget = max(memory_bytes, _LEAST_MEMORY)
    size = int(np.clip(budget // per_region, 1, n_regions))
    blocks = [slice(start, min(start + size, n_regions)) for start in range(0, n_regions, size)]
    for above in blocks:
        for beside in blocks:
            _compare_blocks(rows, above, beside, out)
    return out


def _compare_blocks(
    rows: Array, above: slice, beside: slice, out: Mapping[tuple[Statistic, int], Array]
) -> None:
    """Fill in one block of every matrix."""
    largest = max(lag for _, lag in out)
    # Without a lag the statistics are symmetric: half of the blocks are mirrored.
    mirrored = above.start > beside.start
    if mirrored and largest == 0:
        return
    distances = series_distances(np.ascontiguousarray(rows[above]))
    others = distances
    if above != beside:
        others = series_distances(np.ascontiguousarray(rows[beside]))
    later = LaggedDistances(distances, largest, later=True)
    earlier = LaggedDistances(others, largest, later=False)
    for lag in range(largest, 0, -1):
        first, second = later.at(lag), earlier.at(lag)
        if ("dcorr", lag) in out:
            out["dcorr", lag][above, beside] = _lagged_correlations(first, second)
        if ("mgc", lag) in out:
            near = neighbourhoods(first), neighbourhoods(second)
            out["mgc", lag][above, beside] = multiscale_correlations(*near, only_upper=False)
    if ("mgc", 0) in out and not mirrored:
        near_first = neighbourhoods(distances)
        near_second = near_first if above == beside else neighbourhoods(others)
        same = above == beside
        block = multiscale_correlations(near_first, near_second, only_upper=same)
        out["mgc", 0][above, beside] = block
        out["mgc", 0][beside, above] = block.T
