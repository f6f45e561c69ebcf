"""The kernel: how alike samples are under one operator. All that a criterion may look at.

Every score, test, draw and core-set reads the same kernel, so an operator's matrices are
read and ranked once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, checked
from sclcs.stats.features import (
    Screen,
    Similarity,
    Vectorize,
    screen_vectors,
    unit_vectors,
    vectorize,
)
from sclcs.stats.memory import (
    TILE_BYTES,
    WHOLE_BYTES,
    release,
    room,
    row_blocks,
    rows_at_once,
)
from sclcs.stats.targets import Cases

__all__ = ["AnyMatrices", "Kernel", "make_kernel"]

Singles = NDArray[np.float32]
BLOCK_ROWS = 512  # of similarities that are made at once


class AnyMatrices(Protocol):
    """Matrices (sample, region, region) that can be sliced by sample."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples, regions, regions."""

    def __len__(self) -> int:
        """Return the number of samples."""

    def __getitem__(self, rows: slice, /) -> Any:  # noqa: ANN401 - what numpy makes an array of
        """Return the matrices of some samples."""


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Kernel:
    """One operator on some samples.

    Parameters
    ----------
    units : array of float32, shape (sample, edge)
        Feature vectors of length one; zero where a sample is not usable.
    usable : array of bool, shape (sample,)
        Samples whose matrix is finite and not constant; only these form pairs.
    screen : Screen
        The verdict on every sample that the operator was computed for, even those whose
        vectors are not needed.
    """

    units: Singles
    usable: NDArray[np.bool_]
    screen: Screen

    @classmethod
    def from_similarity(cls, similarity: Singles) -> Kernel:
        """Return a kernel of which nothing but the similarities of its samples is known."""
        every = np.ones(len(similarity), dtype=np.bool_)
        kernel = cls(similarity[:, :0], every, Screen(every, ~every))
        kernel.__dict__["similarity"] = similarity
        return kernel

    def __len__(self) -> int:
        return len(self.units)

    def take(self, rows: NDArray[np.int64]) -> Kernel:
        """Return the kernel of some samples, with their similarities if they are known."""
        if len(rows) == len(self) and np.array_equal(rows, np.arange(len(self))):
            return self
        taken = Kernel(_some_rows(self.units, rows), self.usable[rows], self.screen)
        known = self.__dict__.get("similarity")
        if known is not None:
            taken.__dict__["similarity"] = known[np.ix_(rows, rows)]
        return taken

    @cached_property
    def similarity(self) -> Singles:
        """The correlations of all pairs of samples (sample, sample).

        Made in blocks that are always the same, so that memory has no part in the result.
        """
        products = room((len(self), len(self)))
        if len(self) <= BLOCK_ROWS:
            return np.matmul(self.units, self.units.T, out=products)
        for block in row_blocks(len(self), BLOCK_ROWS):
            mine = np.array(self.units[block])  # a copy: all blocks take the same way through BLAS
            for other in row_blocks(block.stop, BLOCK_ROWS):
                tile = np.matmul(mine, self.units[other].T)
                if other == block:  # BLAS of some processors rounds (i, j) and (j, i) apart
                    tile = np.tril(tile) + np.tril(tile, -1).T
                products[block, other], products[other, block] = tile, tile.T
                release(self.units)
        return products

    def reordered(self, rows: NDArray[np.int64]) -> Kernel:
        """Return the kernel of some samples for whom only similarities are needed.

        Parameters
        ----------
        rows : array of int
            All samples in another order, whose vectors are then not copied, or some of them.
        """
        if len(rows) < len(self):
            return self.take(rows)
        moved = Kernel(self.units[:, :0], self.usable[rows], self.screen)
        similarity = self.similarity
        if not np.array_equal(rows, np.arange(len(self))):
            similarity = similarity[np.ix_(rows, rows)]
        moved.__dict__["similarity"] = similarity
        return moved

    def of_cases(self, cases: Cases, rows: NDArray[np.int64] | None = None) -> Floats:
        """Return the kernel of cases: the products of the mean vectors of their samples.

        Parameters
        ----------
        cases : Cases
        rows : array of int, optional
            Where the samples of the cases stand in the kernel; by default they are its samples,
            in its order.

        Returns
        -------
        array, shape (case, case)
            A case without any usable sample has the vector zero.
        """
        rows = np.arange(len(self)) if rows is None else rows
        if not self.units.shape[1]:
            averaging = cases.averaging
            similarity = self.similarity[np.ix_(rows, rows)].astype(np.float64)
            return np.asarray(averaging @ similarity @ averaging.T)
        if len(cases) * self.units.shape[1] * 8 <= WHOLE_BYTES:
            means = self.case_vectors(cases, rows)
            return np.asarray(means @ means.T)
        return self._of_many_cases(cases, rows)

    def _of_many_cases(self, cases: Cases, rows: NDArray[np.int64]) -> Floats:
        """Return the kernel of cases whose mean vectors do not fit, one tile at a time."""
        means = _Means(self, cases, rows)
        products = np.empty((len(cases), len(cases)))
        step = int(np.clip(TILE_BYTES // (8 * self.units.shape[1]), 1, BLOCK_ROWS))
        for block in row_blocks(len(cases), step):
            mine = means.of(block)
            for other in row_blocks(block.stop, step):
                tile = mine @ (means.of(other) if other != block else mine).T
                products[block, other], products[other, block] = tile, tile.T
        return products

    def case_vectors(self, cases: Cases, rows: NDArray[np.int64] | None = None) -> Floats:
        """Return the mean vectors of the samples of every case, made some cases at a time.

        Parameters
        ----------
        cases : Cases
        rows : array of int, optional
            As for :meth:`of_cases`.

        Returns
        -------
        array, shape (case, edge)
        """
        rows = np.arange(len(self)) if rows is None else rows
        means = _Means(self, cases, rows)
        n_edges = self.units.shape[1]
        step = rows_at_once(8 * n_edges * max(1, len(rows) // max(len(cases), 1)))
        found = room((len(cases), n_edges), np.float64)
        for block in row_blocks(len(cases), step):
            found[block] = means.of(block)
            release(found)
        return found


class _Means:
    """The mean vectors of cases, made when they are asked for."""

    def __init__(self, kernel: Kernel, cases: Cases, rows: NDArray[np.int64]) -> None:
        self._units, self._rows = kernel.units, rows
        self._weights = cases.weights * kernel.usable[rows]
        totals = np.bincount(cases.case_of_row, self._weights, minlength=len(cases))
        self._totals = np.maximum(totals, np.finfo(np.float64).tiny)
        self._starts = np.searchsorted(cases.case_of_row, np.arange(len(cases) + 1))
        self._single = len(rows) == len(cases) and bool(np.all(self._weights == 1.0))

    def of(self, cases: slice) -> Floats:
        """Return the mean vectors of some cases, shape (case, edge)."""
        starts = self._starts[cases.start : cases.stop]
        part = slice(starts[0], self._starts[cases.stop])
        if self._single:  # the same numbers without four passes over them
            found = self._units[self._rows[part]].astype(np.float64)
            release(self._units)
            return found
        vectors = self._units[self._rows[part]] * self._weights[part, None]
        release(self._units)
        sums = np.add.reduceat(vectors, starts - starts[0], axis=0)
        return np.asarray(sums / self._totals[cases, None])


def _some_rows(units: Singles, rows: NDArray[np.int64]) -> Singles:
    """Copy some vectors, in memory only if they fit there."""
    taken = room((len(rows), units.shape[1]), units.dtype)
    for block in row_blocks(len(rows), rows_at_once(units.shape[1] * units.itemsize)):
        taken[block] = units[rows[block]]
        release(units)
        release(taken)
    return taken


@checked
def make_kernel(
    matrices: AnyMatrices,
    how: Vectorize = "offdiag",
    similarity: Similarity = "spearman",
    rows: NDArray[np.int64] | None = None,
) -> Kernel:
    """Prepare the matrices of one operator.

    Parameters
    ----------
    matrices : array, shape (sample, region, region)
        Or anything with a shape that gives some samples when it is sliced; they are asked for
        in blocks that fit into :func:`~sclcs.stats.memory.memory_budget`.
    how : {"offdiag", "upper", "sym_upper"}
        See :func:`~sclcs.stats.features.vectorize`.
    similarity : {"spearman", "pearson"}
    rows : array of int, optional
        The samples whose vectors are needed, in ascending order; all are judged.

    Returns
    -------
    Kernel
    """
    shape: tuple[int, ...] = getattr(matrices, "shape", ())
    if len(shape) != 3 or shape[1] != shape[2]:
        got = f"shape {shape}" if shape else repr(matrices)
        raise InputError(f"Expected matrices (sample, region, region), got {got}.")
    wanted = np.arange(len(matrices)) if rows is None else np.asarray(rows)
    found = _stream(matrices, how, similarity, wanted, both=False)
    if found is None:  # the first matrices were symmetric, a later one is not
        found = _stream(matrices, how, similarity, wanted, both=True)
    if found is None:
        raise AssertionError("Both triangles were asked for.")
    return found


def _stream(
    matrices: AnyMatrices,
    how: Vectorize,
    similarity: Similarity,
    wanted: NDArray[np.int64],
    *,
    both: bool,
) -> Kernel | None:
    """Go through the matrices in blocks; None if they turn out to need both triangles."""
    n_samples, n_regions, _ = matrices.shape
    step = rows_at_once(16 * n_regions**2)
    finite, constant = (np.zeros(n_samples, dtype=np.bool_) for _ in range(2))
    units: Singles | None = None
    place = 0
    for start in range(0, n_samples, step):
        stop = min(start + step, n_samples)
        vectors = vectorize(np.asarray(matrices[start:stop]), how, both=both)
        screen = screen_vectors(vectors)
        finite[start:stop], constant[start:stop] = screen.finite, screen.constant
        if units is None:
            units = room((len(wanted), vectors.shape[1]))
        if vectors.shape[1] != units.shape[1]:
            return None
        kept = wanted[(wanted >= start) & (wanted < stop)] - start
        usable = screen.usable[kept]
        chosen = vectors[kept] if len(kept) < len(vectors) else vectors
        if not usable.all():
            chosen = np.where(usable[:, None], chosen, np.float32(0))
        units[place : place + len(kept)] = unit_vectors(chosen, similarity)
        release(units)
        place += len(kept)
    whole = Screen(finite, constant)
    if units is None:
        units = room((0, 0))
    return Kernel(units, whole.usable[wanted], whole)
