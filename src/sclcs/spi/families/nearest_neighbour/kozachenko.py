"""Kozachenko-Leonenko entropies of delay vectors of one or two regions, in nats.

With e_t the Euclidean distance from point t to its nearest neighbour in d dimensions,

    H = d mean_t ln(2 e_t) + psi(n) - psi(1) + ln(c_d),    c_d: volume of a ball of diameter 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.spi.families.nearest_neighbour.java_noise import draws_of_noise

__all__ = ["COLUMN", "ROW", "Entropies", "Variable"]

ROW, COLUMN = 0, 1
FEWEST_POINTS = 2


@dataclass(frozen=True)
class Variable:
    """One coordinate of the points: the value of the pair's row or column at a lag."""

    region: int
    lag: int = 0


class Entropies:
    """Entropies of the pairs of one sample; each kind is computed once.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    """

    def __init__(self, x: Array) -> None:
        self._x = x
        self._known: dict[tuple[tuple[Variable, ...], int], Array] = {}

    def of(self, variables: Sequence[Variable], start: int) -> Array:
        """Return entropies of the points t = start .. T-1 with the given coordinates.

        The order of the coordinates decides which gets which noise. The result is
        (region, region), or (region, 1) or (1, region) if only one of the two occurs.
        """
        key = tuple(variables), start
        if key not in self._known:
            self._known[key] = self._compute(*key)
        return self._known[key]

    def _compute(self, variables: tuple[Variable, ...], start: int) -> Array:
        n_regions, n_times = self._x.shape
        n, dimension = n_times - start, len(variables)
        regions = np.array([v.region for v in variables], dtype=np.int64)
        firsts = np.array([start - v.lag for v in variables], dtype=np.int64)
        shape = [n_regions if region in regions else 1 for region in (ROW, COLUMN)]
        out = np.full(shape, np.nan)
        if n < FEWEST_POINTS:
            return out
        noise = draws_of_noise(n * dimension).reshape(n, dimension).T
        _mean_log_distances(self._x, regions, firsts, np.ascontiguousarray(noise), out)
        ball = 0.5 * dimension * log(np.pi) - gammaln(0.5 * dimension + 1.0)
        return dimension * out + float(digamma(n) - digamma(1) + ball)


@kernel
def _mean_log_distances(
    x: Array, regions: NDArray[np.int64], firsts: NDArray[np.int64], noise: Array, out: Array
) -> None:
    """Write the mean log distance to the nearest neighbour for every pair in `out`."""
    dimension, n = noise.shape
    points = np.empty((dimension, n))
    squared = np.empty(n)
    nearest = np.empty(n)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if out.shape[0] == out.shape[1] and i == j:
                continue
            for a in range(dimension):
                values = x[i] if regions[a] == ROW else x[j]
                for t in range(n):
                    points[a, t] = values[firsts[a] + t] + noise[a, t]
            _nearest_squared(points, squared, nearest)
            total = 0.0
            for t in range(n):
                total += log(nearest[t])
            out[i, j] = 0.5 * total / n


@kernel
def _nearest_squared(points: Array, squared: Array, nearest: Array) -> None:
    """Write the squared distance of every point to its nearest neighbour.

    Every distance is computed twice: running over whole rows is a plain vector loop, while
    the minimum along half a row is not.
    """
    dimension, n = points.shape
    nearest[:] = np.inf
    for t in range(n):
        squared[:] = 0.0
        for a in range(dimension):
            row = points[a]
            centre = row[t]
            for s in range(n):
                squared[s] += (row[s] - centre) ** 2
        squared[t] = np.inf
        for s in range(n):
            nearest[s] = min(nearest[s], squared[s])
