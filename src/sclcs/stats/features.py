"""From an operator's matrices to feature vectors whose products are the similarities.

Spearman's correlation of two matrices is the dot product of their centred, scaled rank
vectors, so one matrix product of them gives the similarities of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.spi import raising_kernel

__all__ = [
    "SIMILARITIES",
    "VECTORIZATIONS",
    "Screen",
    "Similarity",
    "Vectorize",
    "screen_vectors",
    "unit_vectors",
    "vectorize",
]

Vectorize = Literal["offdiag", "upper", "sym_upper"]
Similarity = Literal["spearman", "pearson"]
VECTORIZATIONS = ("offdiag", "upper", "sym_upper")
SIMILARITIES = ("spearman", "pearson")

Floats = NDArray[np.float32]
BLOCK_ROWS = 256  # sorting a block at a time keeps its keys in the cache


def vectorize(
    matrices: NDArray[np.floating], how: Vectorize = "offdiag", *, both: bool = False
) -> Floats:
    """Lay the entries of every matrix out in a row.

    Parameters
    ----------
    matrices : array, shape (sample, region, region)
        The diagonal is never read.
    how : {"offdiag", "upper", "sym_upper"}
        All off-diagonal entries; the upper triangle only; or the upper triangle of the mean
        of the matrix and its transpose. If every matrix is symmetric, ``"offdiag"`` returns
        the upper triangle: the correlations are the same and cost half.
    both : bool
        For ``"offdiag"``: return both triangles even so, because other matrices need them.

    Returns
    -------
    array of float32, shape (sample, edge)
    """
    if how not in VECTORIZATIONS:
        raise InputError(f"vectorize must be one of {', '.join(VECTORIZATIONS)}, not {how!r}.")
    n_samples, n_regions, _ = matrices.shape
    rows, columns = np.triu_indices(n_regions, k=1)
    flat = np.asarray(matrices, dtype=np.float32).reshape(n_samples, n_regions**2)
    upper = np.take(flat, rows * n_regions + columns, axis=1)
    if how == "upper":
        return np.asarray(upper)
    lower = np.take(flat, columns * n_regions + rows, axis=1)
    if how == "sym_upper":
        return np.asarray((upper + lower) / np.float32(2))
    symmetric = not both and np.array_equal(upper[:1], lower[:1], equal_nan=True)
    symmetric = symmetric and np.array_equal(upper, lower, equal_nan=True)
    return np.asarray(upper if symmetric else np.concatenate([upper, lower], axis=1))


@dataclass(frozen=True, eq=False)
class Screen:
    """Which samples cannot be compared: not finite, or all entries equal."""

    finite: NDArray[np.bool_]
    constant: NDArray[np.bool_]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Samples that form pairs."""
        return self.finite & ~self.constant


def screen_vectors(vectors: Floats) -> Screen:
    """Judge every row of the vectors."""
    low, high = vectors.min(axis=1), vectors.max(axis=1)  # NaN if any value is
    finite = np.isfinite(low) & np.isfinite(high)
    return Screen(finite, finite & (low == high))


def unit_vectors(vectors: Floats, similarity: Similarity = "spearman") -> Floats:
    """Centre and scale vectors (or their ranks) so that dot products are correlations.

    Parameters
    ----------
    vectors : array of float32, shape (sample, edge)
        Finite.
    similarity : {"spearman", "pearson"}

    Returns
    -------
    array of float32, shape (sample, edge)
        Zero in the rows that are constant.
    """
    if similarity not in SIMILARITIES:
        raise InputError(f"similarity must be one of {', '.join(SIMILARITIES)}, not {similarity}.")
    units = np.empty_like(vectors)
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        units[block] = (
            _unit_ranks(vectors[block])
            if similarity == "spearman"
            else _scaled(vectors[block].astype(np.float64))
        )
    return units


def _scaled(values: NDArray[np.float64]) -> Floats:
    centred = values - values.mean(axis=1, keepdims=True)
    constant = values.max(axis=1) == values.min(axis=1)  # exact, unlike a norm near zero
    length = np.linalg.norm(centred, axis=1)
    length[constant] = np.inf
    return np.asarray(centred / length[:, None], dtype=np.float32)


def _unit_ranks(block: Floats) -> Floats:
    """Rank with ties averaged, by sorting (value, place) packed into one 64-bit key.

    The order of IEEE numbers is the order of their bits once those of negative numbers are
    flipped; one sort of integers is several times faster than an indirect sort of floats.
    """
    keys = np.empty(block.shape, dtype=np.int64)
    _pack((block + np.float32(0)).view(np.int32), keys)  # the sum turns -0 into 0
    keys.sort(axis=1)
    units = np.empty(block.shape, dtype=np.float32)
    _spread_ranks(keys, units)
    return units


@raising_kernel
def _pack(bits: NDArray[np.int32], keys: NDArray[np.int64]) -> None:
    for row in range(bits.shape[0]):
        for place in range(bits.shape[1]):
            bit = np.int64(bits[row, place])
            if bit < 0:
                bit ^= 0x7FFFFFFF
            keys[row, place] = (bit << 32) | place


@raising_kernel
def _spread_ranks(keys: NDArray[np.int64], units: Floats) -> None:
    """Write the centred, scaled rank of every value to its place; constant rows become zero."""
    n_rows, n_edges = keys.shape
    ranks = np.empty(n_edges)
    middle = (n_edges - 1) / 2
    for row in range(n_rows):
        squares, first = 0.0, 0
        while first < n_edges:
            last = first
            while last + 1 < n_edges and keys[row, last + 1] >> 32 == keys[row, first] >> 32:
                last += 1
            rank = (first + last) / 2 - middle  # the average rank of a tie
            ranks[first : last + 1] = rank
            squares += (last - first + 1) * rank * rank
            first = last + 1
        scale = 1 / np.sqrt(squares) if squares > 0 else 0.0
        for place in range(n_edges):
            units[row, keys[row, place] & 0xFFFFFFFF] = ranks[place] * scale
