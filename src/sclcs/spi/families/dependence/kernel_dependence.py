"""Hilbert-Schmidt independence criterion, normalised, with a Gaussian kernel.

A kernel K makes the distance 1 - K, and the criterion is then a distance correlation. hyppo
takes the width of the kernel, the median distance, from the first of two series and uses it for
both, so that the kernel of the second has to be filled again for every first.
"""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.exponential import exp_of_negative
from sclcs.numerics.jit import reducing_kernel
from sclcs.numerics.vector import dot
from sclcs.spi.families.dependence.distance_correlation import centring_factors
from sclcs.spi.families.dependence.series_distances import series_distances

__all__ = ["kernel_correlations"]


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
