"""Two views of an operator: the pattern inside a matrix, and the value of every edge.

``pattern``
    The entries of a matrix are ranked among themselves, centred and scaled to length one. It sees
    which regions are connected more than others, and is blind to the overall level.
``values``
    Every edge is ranked across subjects, and ranks become normal scores. It sees the level and
    single edges, monotone transforms of an operator are the same to it, outliers do no harm.

Features are given in blocks of edges (case, edge), so that everything that is a sum over edges
is made without a table of all pairs of subjects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sclcs._core import InputError
from sclcs.spi import raising_kernel
from sclcs.stats.features import Screen, Vectorize, screen_vectors, unit_vectors, vectorize
from sclcs.stats.kernel import AnyMatrices
from sclcs.stats.memory import memory_budget, release, room, rows_at_once, with_memory
from sclcs.stats.targets import Cases

__all__ = ["VIEWS", "OperatorFeatures", "ValueScores", "View", "make_features", "normal_scores"]

View = Literal["pattern", "values"]
VIEWS: tuple[View, ...] = ("pattern", "values")

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TABLES = 2  # of all features of an operator: ranked, and as they are
ROWS_AT_ONCE = 64  # edges that are ranked at the same time: their keys stay in a cache


class ValueScores:
    """Place every edge among the subjects it was fitted on, as normal scores.

    The lowest of n subjects gets the normal quantile of 0.5 / n, the highest that of
    1 - 0.5 / n. A new subject gets the score of its rank among the training subjects, and never
    less or more than these had.

    Examples
    --------
    >>> scores = ValueScores().fit(np.array([[0.1], [0.3], [0.2]], dtype=np.float32))
    >>> scores.transform(np.array([[0.2], [9.0]], dtype=np.float32)).round(2).tolist()
    [[0.0], [0.9700000286102295]]
    """

    def __init__(self) -> None:
        self.sorted_: Singles | None = None

    def fit(self, vectors: NDArray[np.floating]) -> ValueScores:
        """Learn the order of the training subjects in every edge.

        Parameters
        ----------
        vectors : array, shape (subject, edge)
            Subjects that are not finite are left out.

        Returns
        -------
        ValueScores
            Itself; ``sorted_`` (edge, subject) is all that it knows.
        """
        vectors = _two_dimensional(vectors)
        finite = vectors[np.isfinite(vectors).all(axis=1)]
        if not len(finite):
            raise InputError("Expected subjects with finite connectivity to learn from, got none.")
        self.sorted_ = np.sort(np.ascontiguousarray(finite.T), axis=1)
        return self

    def transform(self, vectors: NDArray[np.floating]) -> Singles:
        """Return the scores of subjects; 0, the middle, for those that are not finite.

        Parameters
        ----------
        vectors : array, shape (subject, edge)

        Returns
        -------
        array of float32, shape (subject, edge)
        """
        if self.sorted_ is None:
            raise InputError("These scores were not fitted; call fit with training subjects first.")
        vectors = _two_dimensional(vectors)
        if vectors.shape[1] != len(self.sorted_):
            raise InputError(
                f"Expected {len(self.sorted_)} edges as in training, got {vectors.shape[1]}."
            )
        finite = np.isfinite(vectors).all(axis=1)
        found = np.zeros(vectors.shape, dtype=np.float32)
        placed = np.empty((vectors.shape[1], int(finite.sum())), dtype=np.float32)
        table = _score_of_rank(self.sorted_.shape[1])
        _place_among(self.sorted_, np.ascontiguousarray(vectors[finite].T), table, placed)
        found[finite] = placed.T
        return found

    def fit_transform(self, vectors: NDArray[np.floating]) -> Singles:
        """Fit, and return the scores of the training subjects."""
        return self.fit(vectors).transform(vectors)


def _two_dimensional(vectors: NDArray[np.floating]) -> Singles:
    if vectors.ndim != 2:
        raise InputError(f"Expected vectors (subject, edge), got shape {vectors.shape}.")
    return np.asarray(vectors, dtype=np.float32)


def normal_scores(edges: Singles) -> Singles:
    """Rank every edge across subjects and return normal scores; ties share their mean rank.

    Parameters
    ----------
    edges : array of float32, shape (edge, subject)
        Finite.

    Returns
    -------
    array of float32, shape (edge, subject)
        As :class:`ValueScores` gives them, faster: one sort of whole numbers.
    """
    scores = np.empty(edges.shape, dtype=np.float32)
    table = _score_of_rank(edges.shape[1])
    places = np.arange(edges.shape[1])
    for start in range(0, len(edges), ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        # The order of IEEE numbers is that of their bits once those of negative ones are flipped.
        bits = (np.ascontiguousarray(edges[block]) + np.float32(0)).view(np.int32)
        bits ^= (bits >> 31) & 0x7FFFFFFF
        keys = (bits.astype(np.int64) << 32) | places
        keys.sort(axis=1)
        _spread_scores(keys, table, scores[block])
    return scores


def _score_of_rank(count: int) -> Singles:
    """Return the normal scores of twice the ranks (from 0), so that ties have one, too."""
    return np.asarray(ndtri((np.arange(2 * count - 1) + 1) / (2 * count)), dtype=np.float32)


@raising_kernel
def _spread_scores(keys: NDArray[np.int64], table: Singles, scores: Singles) -> None:
    """Write the score of every value to its place."""
    n_rows, n_values = keys.shape
    for row in range(n_rows):
        first = 0
        while first < n_values:
            last = first
            while last + 1 < n_values and keys[row, last + 1] >> 32 == keys[row, first] >> 32:
                last += 1
            for place in range(first, last + 1):
                scores[row, keys[row, place] & 0xFFFFFFFF] = table[first + last]
            first = last + 1


@raising_kernel
def _place_among(known: Singles, values: Singles, table: Singles, scores: Singles) -> None:
    """Write the score of the rank that every value has among the known ones."""
    n_edges, n_known = known.shape
    for edge in range(n_edges):
        for place in range(values.shape[1]):
            value = values[edge, place]
            low, high = 0, n_known
            while low < high:  # how many are less
                middle = (low + high) // 2
                if known[edge, middle] < value:
                    low = middle + 1
                else:
                    high = middle
            less, high = low, n_known
            while low < high:  # how many are less or equal
                middle = (low + high) // 2
                if known[edge, middle] <= value:
                    low = middle + 1
                else:
                    high = middle
            rank = less + low - 1
            scores[edge, place] = table[min(max(rank, 0), 2 * n_known - 2)]


@dataclass(frozen=True, eq=False)
class OperatorFeatures:
    """One operator on the samples of some cases, ready to be read under either view.

    Parameters
    ----------
    units : array of float32, shape (sample, edge)
        Ranks within every matrix, of length one; zero where a sample is not usable.
    vectors : array of float32, shape (sample, edge)
        The entries as they are; zero where a sample is not usable.
    usable : array of bool, shape (sample,)
    screen : Screen
        The verdict on every sample of the source.
    regions : array of int, shape (edge, 2)
        Source and target of every edge.
    cases : Cases, optional
        Samples are averaged into these; by default every sample is a case.
    """

    units: Singles
    vectors: Singles
    usable: NDArray[np.bool_]
    screen: Screen
    regions: Integers
    cases: Cases | None = None

    @property
    def n_edges(self) -> int:
        """Number of edges: pairs of regions, or twice as many if the operator is directed."""
        return int(self.units.shape[1])

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.units) if self.cases is None else len(self.cases)

    def blocks(self, view: View, size: int) -> Iterator[tuple[slice, Floats | Singles]]:
        """Give the features of cases under one view, a block of edges at a time.

        Parameters
        ----------
        view : {"pattern", "values"}
        size : int
            Edges in a block.

        Yields
        ------
        edges : slice
        features : array, shape (case, edge)
            Means over the samples of a case; a case without a usable sample is 0 throughout.
        """
        for start in range(0, self.n_edges, size):
            edges = slice(start, min(start + size, self.n_edges))
            found = self.units[:, edges] if view == "pattern" else self._scores(edges)
            yield edges, self._means(found)
            release(self.units)
            release(self.vectors)

    def table(self, view: View) -> Floats:
        """Return all features of cases under one view, shape (case, edge)."""
        ((_, found),) = self.blocks(view, max(self.n_edges, 1))
        return np.asarray(found, dtype=np.float64)

    def _scores(self, edges: slice) -> Singles:
        """Return the normal scores of samples; those that are not usable stand in the middle."""
        if self.usable.all():
            return normal_scores(np.ascontiguousarray(self.vectors[:, edges].T)).T
        taken = self.vectors[:, edges]
        scores = np.zeros_like(taken)
        scores[self.usable] = normal_scores(np.ascontiguousarray(taken[self.usable].T)).T
        return scores

    def _means(self, samples: Singles) -> Floats | Singles:
        if self.cases is None or self._one_each:
            return samples
        starts = np.searchsorted(self.cases.case_of_row, np.arange(len(self.cases)))
        sums = np.add.reduceat(samples * self._weights[:, None], starts, axis=0)
        totals = np.add.reduceat(self._weights, starts)
        return np.asarray(sums / np.maximum(totals, np.finfo(np.float64).tiny)[:, None])

    @cached_property
    def _weights(self) -> Floats:
        if self.cases is None:
            return self.usable.astype(np.float64)
        return np.asarray(self.cases.weights * self.usable)

    @cached_property
    def _one_each(self) -> bool:
        return self.n_cases == len(self.units)  # a mean of one sample does not know its weight


def make_features(
    matrices: AnyMatrices, cases: Cases | None = None, how: Vectorize = "offdiag"
) -> OperatorFeatures:
    """Read the matrices of one operator once.

    Parameters
    ----------
    matrices : array, shape (sample, region, region)
        Or anything with a shape that gives some samples when it is sliced.
    cases : Cases, optional
        Keep the samples of these only (``cases.rows`` of the matrices); all samples are judged.
    how : {"offdiag", "upper", "sym_upper"}
        See :func:`~sclcs.stats.features.vectorize`; undirected operators have every pair of
        regions once.

    Returns
    -------
    OperatorFeatures
        Samples that are not finite, or constant, are not usable.
    """
    shape: tuple[int, ...] = getattr(matrices, "shape", ())
    if len(shape) != 3 or shape[1] != shape[2]:
        got = f"shape {shape}" if shape else repr(matrices)
        raise InputError(f"Expected matrices (sample, region, region), got {got}.")
    rows = np.arange(shape[0]) if cases is None else cases.rows
    with with_memory(memory_budget() // TABLES):
        found = _read(matrices, rows, how, both=False)
        if found is None:  # the first matrices were symmetric, a later one is not
            found = _read(matrices, rows, how, both=True)
    if found is None:
        raise AssertionError("Both triangles were asked for.")
    units, vectors, screen = found
    regions = _regions(shape[1], units.shape[1])
    return OperatorFeatures(units, vectors, screen.usable[rows], screen, regions, cases)


def _read(
    matrices: AnyMatrices, rows: Integers, how: Vectorize, *, both: bool
) -> tuple[Singles, Singles, Screen] | None:
    """Go through the matrices in blocks; None if they turn out to need both triangles."""
    n_samples, n_regions, _ = matrices.shape
    step = rows_at_once(16 * n_regions**2)
    finite, constant = (np.zeros(n_samples, dtype=np.bool_) for _ in range(2))
    n_edges = n_regions * (n_regions - 1) // 2
    units, entries = room((0, n_edges)), room((0, n_edges))
    for start in range(0, n_samples, step):
        stop = min(start + step, n_samples)
        vectors = vectorize(np.asarray(matrices[start:stop]), how, both=both)
        if not start:
            units, entries = (room((len(rows), vectors.shape[1])) for _ in range(2))
        if vectors.shape[1] != units.shape[1]:
            return None
        screen = screen_vectors(vectors)
        finite[start:stop], constant[start:stop] = screen.finite, screen.constant
        if not screen.usable.all():
            vectors = np.where(screen.usable[:, None], vectors, np.float32(0))
        kept = np.flatnonzero((rows >= start) & (rows < stop))
        entries[kept] = vectors[rows[kept] - start]
        units[kept] = unit_vectors(vectors[rows[kept] - start])
        release(units)
        release(entries)
    return units, entries, Screen(finite, constant)


def _regions(n_regions: int, n_edges: int) -> Integers:
    """Return source and target of every edge, in the order of the vectors."""
    upper = np.stack(np.triu_indices(n_regions, k=1), axis=1)
    return upper if len(upper) == n_edges else np.vstack([upper, upper[:, ::-1]])
