"""Distance correlation from sums over distance matrices.

Centring need not be carried out: with row sums a_s and total a of one matrix, the products of
two centred matrices sum to

    sum a_st b_st - 2/n sum a_s b_s + a b / n^2                    (double-centred, biased)
    sum a_st b_st - 2/(n-2) sum a_s b_s + a b / ((n-1)(n-2))       (U-centred, unbiased)

so that the first term, over all pairs of regions at once, is one matrix product.
"""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array

__all__ = ["centred_sums", "centring_factors", "correlate", "own_sums"]

# A centred sum this much smaller than its terms is rounding: the matrix is constant.
_NOTHING = 1e-13


def centred_sums(first: Array, second: Array, *, biased: bool) -> Array:
    """Sum the products of centred matrices, (region of first, region of second)."""
    n = first.shape[-1]
    by_row, total = centring_factors(n, biased=biased)
    products = first.reshape(len(first), -1) @ second.reshape(len(second), -1).T
    rows_first, rows_second = first.sum(axis=2), second.sum(axis=2)
    totals = np.outer(rows_first.sum(axis=1), rows_second.sum(axis=1))
    sums: Array = products - by_row * (rows_first @ rows_second.T) + total * totals
    return sums


def own_sums(matrices: Array, *, biased: bool) -> Array:
    """Sum the squares of every centred matrix; zero if all that is left is rounding."""
    by_row, total = centring_factors(matrices.shape[-1], biased=biased)
    squares = np.einsum("rst,rst->r", matrices, matrices)
    rows = matrices.sum(axis=2)
    sums = squares - by_row * (rows * rows).sum(axis=1) + total * rows.sum(axis=1) ** 2
    return np.where(sums > _NOTHING * squares, sums, 0.0)


def correlate(products: Array, own_first: Array, own_second: Array, *, biased: bool) -> Array:
    """Divide sums of products by their norms: distance correlations."""
    norms = np.sqrt(np.outer(own_first, own_second))
    ratio = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0.0)
    return np.sqrt(np.maximum(ratio, 0.0)) if biased else ratio


def centring_factors(n_times: int, *, biased: bool) -> tuple[float, float]:
    """Return the factors of the row sums and of the totals."""
    if biased:
        return 2.0 / n_times, 1.0 / n_times**2
    return 2.0 / (n_times - 2), 1.0 / ((n_times - 1) * (n_times - 2))
