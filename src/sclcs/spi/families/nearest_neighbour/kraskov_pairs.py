"""Kraskov informations of all pairs of one sample."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from sclcs.numerics.arrays import Array
from sclcs.spi.families.nearest_neighbour.java_noise import draws_of_noise
from sclcs.spi.families.nearest_neighbour.kraskov import NEIGHBOURS
from sclcs.spi.families.nearest_neighbour.kraskov_loops import (
    best_histories,
    mutual_informations,
    transfer_entropies,
)

__all__ = ["KraskovPairs", "theiler_windows"]

FEWEST_POINTS = 2

Integers = NDArray[np.int64]


class KraskovPairs:
    """What the operators on one sample share: windows, noise and digamma values.

    Wherever `exclude` appears it has one entry per matrix wanted: whether neighbours that are
    near in time because the pair is autocorrelated are left out.

    Parameters
    ----------
    x : array, shape (region, time)
        z-scored signals.
    """

    def __init__(self, x: Array) -> None:
        self._x = x
        self._n_regions, self._n_times = x.shape
        self._psi = np.zeros(self._n_times + 1)
        self._psi[1:] = digamma(np.arange(1, self._n_times + 1))

    @cached_property
    def _theiler(self) -> Integers:
        return theiler_windows(self._x)

    def _windows(self, exclude: list[bool]) -> Integers:
        """Return the window of every pair, (region, region, matrix)."""
        none = np.zeros((self._n_regions, self._n_regions), dtype=np.int64)
        return np.stack([self._theiler if wanted else none for wanted in exclude], axis=2)

    def informations(self, lag: int, exclude: list[bool]) -> Array:
        """Return the mutual informations of the row and the column `lag` steps later."""
        windows = self._windows(exclude)
        out = np.full(windows.shape, np.nan)
        n = self._n_times - lag
        if n >= FEWEST_POINTS:
            mutual_informations(self._x, lag, windows, draws_of_noise(2 * n), self._psi, out)
        return np.moveaxis(out, 2, 0)

    def transfer(self, length: int, exclude: list[bool]) -> Array:
        """Return transfer entropies with `length` past values of the target, one of the source."""
        sources = np.ones((self._n_regions, self._n_regions, 2), dtype=np.int64)
        targets = sources.copy()
        targets[..., 0] = length
        return np.moveaxis(self._transfer(sources, targets, self._windows(exclude)), 2, 0)

    def transfer_with_chosen_histories(
        self, longest: int, widest: int, exclude: list[bool]
    ) -> Array:
        """Return transfer entropies, each region's history storing most about its next value.

        As in JIDT a pair is undefined if its window leaves too few neighbours to even the
        longest history that is tried.
        """
        n_points = self._n_times - 1 - (longest - 1) * widest
        found = []
        for windows in np.moveaxis(self._windows(exclude), 2, 0):
            defined = n_points - NEIGHBOURS > 2 * windows
            np.fill_diagonal(defined, False)
            histories = self._histories(longest, widest, windows, defined)
            pairs = self._transfer(histories, histories.swapaxes(0, 1), windows[..., np.newaxis])
            found.append(np.where(defined, pairs[..., 0], np.nan))
        return np.stack(found)

    def _histories(
        self, longest: int, widest: int, windows: Integers, defined: NDArray[np.bool_]
    ) -> Integers:
        """Return the (length, delay) of each row region in each of its pairs.

        The window of a pair also holds in the search, so a region has one history per
        window that occurs among its pairs.
        """
        draws = draws_of_noise((longest + 1) * self._n_times)
        out = np.ones((*windows.shape, 2), dtype=np.int64)
        for i in range(self._n_regions):
            columns = np.flatnonzero(defined[i])
            used, which = np.unique(windows[i, columns], return_inverse=True)
            if used.size:
                shapes = best_histories(self._x[i], used, longest, widest, draws, self._psi)
                out[i, columns] = shapes[which]
        return out

    def _transfer(self, sources: Integers, targets: Integers, windows: Integers) -> Array:
        out = np.full(windows.shape, np.nan)
        span = max(((shapes[..., 0] - 1) * shapes[..., 1]).max() for shapes in (sources, targets))
        if self._n_times - 1 - span >= FEWEST_POINTS:
            n_variables = sources[..., 0].max() + 1 + targets[..., 0].max()
            draws = draws_of_noise(n_variables * self._n_times)
            transfer_entropies(
                self._x,
                np.ascontiguousarray(sources),
                np.ascontiguousarray(targets),
                np.ascontiguousarray(windows),
                draws,
                self._psi,
                out,
            )
        return out


def theiler_windows(x: Array) -> Integers:
    """Return how near in time two points of a pair are too alike to count as neighbours.

    Twice the sum over all lags of the product of the two autocorrelations, rounded down. The
    sum is at least one half, because the products form a positive definite sequence.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    products = np.stack([np.correlate(series, series, "full") for series in centred])
    correlations = products[:, x.shape[1] - 1 :] / products[:, [x.shape[1] - 1]]
    return np.asarray(2.0 * (correlations @ correlations.T), dtype=np.float64).astype(np.int64)
