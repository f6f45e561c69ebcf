"""Features of scans under an operator, and the kernels made of them.

Two views of an operator: its *pattern* (ranks within a matrix, centred, of length one) and its
*values* (every edge taken to normal scores across subjects). Both are learned from training
scans without labels and applied to new ones. Kernels of all scans are made once; taking out
covariates inside a training fold is a projection of the kernel, so nothing is ranked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.spi import kernel

__all__ = [
    "VIEWS",
    "ScoreMap",
    "centred_kernel",
    "edge_mask",
    "equal_weights",
    "mean_kernel",
    "pattern_features",
    "symmetric_edges",
]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
VIEWS = ("pattern", "values")
#: Knots of a map to normal scores; between them it is linear.
KNOTS = 65
#: More training scans than this say no more about 65 quantiles.
SCANS_FOR_QUANTILES = 2000


def edge_mask(n_regions: int, symmetric: bool) -> NDArray[np.bool_]:
    """Return which entries of a matrix are features: one triangle, or all off the diagonal."""
    everything = np.ones((n_regions, n_regions), dtype=bool)
    return np.tril(everything, -1) if symmetric else ~np.eye(n_regions, dtype=bool)


def symmetric_edges(matrices: NDArray[np.floating], *, symmetric: bool) -> Singles:
    """Return the features (scan, edge) of matrices (scan, region, region)."""
    return np.asarray(matrices[:, edge_mask(matrices.shape[-1], symmetric)], dtype=np.float32)


def pattern_features(edges: Singles) -> Singles:
    """Return the ranks within every scan, centred and of length one.

    Parameters
    ----------
    edges : array of float32, shape (scan, edge)

    Returns
    -------
    array of float32, shape (scan, edge)
        Zero where a scan's entries are all alike.
    """
    ranks = np.empty(edges.shape, dtype=np.float32)
    _rank_rows(edges, np.argsort(edges, axis=1), ranks)
    ranks -= ranks.mean(axis=1, keepdims=True)
    length = np.linalg.norm(ranks, axis=1, keepdims=True)
    return np.asarray(ranks / np.where(length > 0, length, 1.0), dtype=np.float32)


@kernel
def _rank_rows(values: Singles, order: NDArray[np.int64], ranks: Singles) -> None:
    """Write average ranks; `order` sorts every row."""
    for row in range(values.shape[0]):
        first = 0
        while first < values.shape[1]:
            last = first
            value = values[row, order[row, first]]
            while last + 1 < values.shape[1] and values[row, order[row, last + 1]] == value:
                last += 1
            for k in range(first, last + 1):
                ranks[row, order[row, k]] = 0.5 * (first + last)
            first = last + 1


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Takes every edge to normal scores, as its quantiles among training scans have it.

    Parameters
    ----------
    knots : array of float32, shape (edge, knot)
        Quantiles of the training scans, ascending.
    scores : array of float32, shape (knot,)
        The normal scores that belong to them.
    """

    knots: Singles
    scores: Singles

    @classmethod
    def fit(cls, edges: Singles) -> ScoreMap:
        """Learn quantiles from training scans (scan, edge)."""
        from scipy.special import ndtri

        count = len(edges)
        step = -(-count // SCANS_FOR_QUANTILES)
        ordered = np.sort(edges[::step], axis=0)
        count = len(ordered)
        if count <= KNOTS:
            levels = (np.arange(count) + 0.5) / count
            return cls(np.ascontiguousarray(ordered.T), ndtri(levels).astype(np.float32))
        edge = float(ndtri(0.5 / count))
        scores = np.linspace(edge, -edge, KNOTS)
        position = _normal_levels(scores) * count - 0.5
        low = np.clip(np.floor(position).astype(np.int64), 0, count - 2)
        part = np.clip(position - low, 0.0, 1.0)[:, None].astype(np.float32)
        knots = ordered[low] * (1 - part) + ordered[low + 1] * part
        return cls(np.ascontiguousarray(knots.T), scores.astype(np.float32))

    def apply(self, edges: Singles) -> Singles:
        """Return normal scores (scan, edge); beyond the training scans' range the outermost."""
        found = np.empty(edges.shape, dtype=np.float32)
        _score(np.ascontiguousarray(edges), self.knots, self.scores, found)
        return found


def _normal_levels(scores: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(scores), dtype=np.float64)


@kernel
def _score(edges: Singles, knots: Singles, scores: Singles, found: Singles) -> None:
    count = knots.shape[1]
    sums = np.zeros(count + 1)
    for k in range(count):
        sums[k + 1] = sums[k] + scores[k]
    for row in range(edges.shape[0]):
        for edge in range(edges.shape[1]):
            value, line = edges[row, edge], knots[edge]
            left, right = 0, count  # first knot that is not below the value
            while left < right:
                middle = (left + right) // 2
                if line[middle] < value:
                    left = middle + 1
                else:
                    right = middle
            last = left
            while last < count and line[last] == value:
                last += 1
            if last > left:  # ties share the mean of their scores
                found[row, edge] = (sums[last] - sums[left]) / (last - left)
            elif left == 0:
                found[row, edge] = scores[0]
            elif left == count:
                found[row, edge] = scores[count - 1]
            else:
                part = (value - line[left - 1]) / (line[left] - line[left - 1])
                found[row, edge] = scores[left - 1] + part * (scores[left] - scores[left - 1])


def centred_kernel(features: Singles, hat: Floats | None = None) -> Singles:
    """Return the kernel of scans with trace n, beyond the mean or beyond covariates.

    Parameters
    ----------
    features : array of float32, shape (scan, feature)
    hat : array, shape (scan, column), optional
        Orthonormal basis of covariates with an intercept; only the mean by default.

    Returns
    -------
    array of float32, shape (scan, scan)
    """
    if hat is None:
        beyond = features - features.mean(axis=0)
    else:
        basis = hat.astype(np.float32)
        beyond = features - basis @ (basis.T @ features)
    found = beyond @ beyond.T
    trace = float(np.trace(found))
    if not trace > 0:
        raise InputError("The features are the same for all scans: there is no kernel of them.")
    return np.asarray(found * np.float32(len(found) / trace))


def mean_kernel(edges: Singles, hat: Floats | None = None, views: Sequence[str] = VIEWS) -> Singles:
    """Return the mean of the kernels of an operator's views, each with trace n."""
    found = np.zeros((len(edges), len(edges)), dtype=np.float32)
    for view in views:
        seen = pattern_features(edges) if view == "pattern" else ScoreMap.fit(edges).apply(edges)
        found += centred_kernel(seen, hat)
    return found / np.float32(len(views))


def equal_weights(families: Mapping[str, str], *, by: str = "families") -> dict[str, float]:
    """Return weights that sum to one: every family counts alike, or every operator.

    Parameters
    ----------
    families : mapping of str to str
        The family of every operator.
    by : {"families", "operators"}
    """
    if by == "operators":
        return dict.fromkeys(families, 1.0 / len(families))
    names = list(families.values())
    count = len(set(names))
    return {spi: 1.0 / (count * names.count(family)) for spi, family in families.items()}
