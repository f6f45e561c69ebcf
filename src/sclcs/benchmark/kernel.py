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

from sclcs.benchmark.cases import Cases
from sclcs.benchmark.features import (
    Screen,
    Similarity,
    Vectorize,
    screen_vectors,
    unit_vectors,
    vectorize,
)
from sclcs.benchmark.memory import room, rows_at_once

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
        taken = Kernel(self.units[rows], self.usable[rows], self.screen)
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
        for start in range(0, len(self), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            np.matmul(self.units[block], self.units.T, out=products[block])
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
        means = self.case_vectors(cases, rows)
        return np.asarray(means @ means.T)

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
        weights = cases.weights * self.usable[rows]
        totals = np.bincount(cases.case_of_row, weights, minlength=len(cases))
        totals = np.maximum(totals, np.finfo(np.float64).tiny)
        starts = np.searchsorted(cases.case_of_row, np.arange(len(cases) + 1))
        n_edges = self.units.shape[1]
        step = rows_at_once(8 * n_edges * max(1, len(rows) // max(len(cases), 1)))
        means = room((len(cases), n_edges), np.float64)
        for first in range(0, len(cases), step):
            last = min(first + step, len(cases))
            part = slice(starts[first], starts[last])
            vectors = self.units[rows[part]] * weights[part, None]
            sums = np.add.reduceat(vectors, starts[first:last] - starts[first], axis=0)
            means[first:last] = sums / totals[first:last, None]
        return means


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
        in blocks that fit into :func:`~sclcs.benchmark.memory.memory_budget`.
    how : {"offdiag", "upper", "sym_upper"}
        See :func:`~sclcs.benchmark.features.vectorize`.
    similarity : {"spearman", "pearson"}
    rows : array of int, optional
        The samples whose vectors are needed, in ascending order; all are judged.

    Returns
    -------
    Kernel
    """
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
        place += len(kept)
    whole = Screen(finite, constant)
    if units is None:
        units = room((0, 0))
    return Kernel(units, whole.usable[wanted], whole)
