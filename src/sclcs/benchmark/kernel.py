"""The kernel: how alike samples are under one operator. All that a criterion may look at.

Every score, test, draw and core-set reads the same kernel, so an operator's matrices are
read and ranked once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

__all__ = ["Kernel", "make_kernel"]

Singles = NDArray[np.float32]
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
        """The correlations of all pairs of samples (sample, sample): one matrix product."""
        return self.units @ self.units.T

    def of_cases(self, cases: Cases) -> Floats:
        """Return the kernel of cases: the products of the mean vectors of their samples.

        Parameters
        ----------
        cases : Cases
            Whose samples are those of the kernel, in its order.

        Returns
        -------
        array, shape (case, case)
            A case without any usable sample has the vector zero.
        """
        if not self.units.shape[1]:
            averaging = cases.averaging
            return np.asarray(averaging @ self.similarity.astype(np.float64) @ averaging.T)
        means = self.case_vectors(cases)
        return np.asarray(means @ means.T)

    def case_vectors(self, cases: Cases) -> Floats:
        """Return the mean vectors of the samples of every case, shape (case, edge)."""
        weights = cases.weights * self.usable
        totals = np.bincount(cases.case_of_row, weights, minlength=len(cases))
        starts = np.searchsorted(cases.case_of_row, np.arange(len(cases)))
        sums = np.add.reduceat(self.units * weights[:, None], starts, axis=0)
        return np.asarray(sums / np.maximum(totals, np.finfo(np.float64).tiny)[:, None])


def make_kernel(
    matrices: NDArray[np.floating],
    how: Vectorize = "offdiag",
    similarity: Similarity = "spearman",
    rows: NDArray[np.int64] | None = None,
) -> Kernel:
    """Prepare the matrices of one operator.

    Parameters
    ----------
    matrices : array, shape (sample, region, region)
    how : {"offdiag", "upper", "sym_upper"}
        See :func:`~sclcs.benchmark.features.vectorize`.
    similarity : {"spearman", "pearson"}
    rows : array of int, optional
        The samples whose vectors are needed; all are judged.

    Returns
    -------
    Kernel
    """
    vectors = vectorize(matrices, how)
    screen = screen_vectors(vectors)
    usable = screen.usable
    if rows is not None and len(rows) < len(vectors):
        vectors, usable = vectors[rows], usable[rows]
    if not usable.all():
        vectors = np.where(usable[:, None], vectors, np.float32(0))
    return Kernel(unit_vectors(vectors, similarity), usable, screen)
