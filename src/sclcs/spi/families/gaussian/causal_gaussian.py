"""Entropies of Gaussian histories of two regions: causal conditioning and interaction.

Histories of m values (lags 0 to m - 1) of all regions share one set of observations,
t = m-1 .. T-1. Their covariances are one matrix product per m; a pair only needs a few rows
of a Cholesky factor.
"""

from __future__ import annotations

from math import log, pi

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.small_linalg import SMALLEST_PIVOT, append_if_independent

__all__ = ["ENTROPY_OF_UNIT_VARIANCE", "causal_entropies", "stochastic_interaction"]

ENTROPY_OF_UNIT_VARIANCE = 0.5 * (1.0 + log(2.0 * pi))


def causal_entropies(x: Array, longest: int, memory_bytes: int) -> tuple[Array, Array]:
    """Return entropies with causal conditioning, and block entropies per value.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    longest : int
        Histories have 1 to `longest` values.
    memory_bytes : int
        Budget for the covariances of pairs.

    Returns
    -------
    conditioned : array, shape (region, region)
        Sum over m of the entropy of the column at t given its m - 1 values before t and the
        m values of the row up to t.
    blocks : array, shape (region,)
        Sum over m of the entropy of m consecutive values divided by m.
    """
    n_regions = x.shape[0]
    conditioned = np.zeros((n_regions, n_regions))
    blocks = np.zeros(n_regions)
    for length in range(1, longest + 1):
        lagged = _histories(x, length)
        if lagged.shape[2] < 2:
            return np.full_like(conditioned, np.nan), np.full_like(blocks, np.nan)
        within = lagged @ lagged.transpose(0, 2, 1)
        _add_block_entropies(within, blocks)
        tile = max(1, memory_bytes // (8 * length**2 * n_regions))
        columns = lagged.reshape(-1, lagged.shape[2]).T
        for first in range(0, n_regions, tile):
            rows = slice(first, first + tile)
            cross = lagged[rows].reshape(-1, lagged.shape[2]) @ columns
            shape = (-1, length, n_regions, length)
            _add_conditioned(within, cross.reshape(shape), first, conditioned)
    return conditioned, blocks


def stochastic_interaction(x: Array, memory_bytes: int) -> Array:
    """Return H(x_t | x_t-1) + H(y_t | y_t-1) - H(x_t, y_t | x_t-1, y_t-1) of all pairs."""
    n_regions = x.shape[0]
    out = np.full((n_regions, n_regions), np.nan)
    lagged = _histories(x, 2)
    if lagged.shape[2] < 2:
        return out
    within = lagged @ lagged.transpose(0, 2, 1)
    tile = max(1, memory_bytes // (32 * n_regions))
    columns = lagged.reshape(-1, lagged.shape[2]).T
    for first in range(0, n_regions, tile):
        cross = lagged[first : first + tile].reshape(-1, lagged.shape[2]) @ columns
        _interactions(within, cross.reshape(-1, 2, n_regions, 2), first, out)
    return out


def _histories(x: Array, length: int) -> Array:
    """Return centred lags 0 .. length-1, (region, lag, t), whose products are covariances."""
    n = x.shape[1] - length + 1
    lagged = np.stack([x[:, length - 1 - lag :][:, :n] for lag in range(length)], axis=1)
    lagged = lagged - lagged.mean(axis=2, keepdims=True)
    return np.asarray(lagged / np.sqrt(max(n - 1, 1)))


@kernel
def _add_block_entropies(within: Array, out: Array) -> None:
    """Add the entropy of each region's history divided by its length."""
    n_regions, length, _ = within.shape
    factor = np.empty((length, length))
    for i in range(n_regions):
        total = length * ENTROPY_OF_UNIT_VARIANCE
        for a in range(length):
            pivot = append_if_independent(factor, a, within[i, a], within[i, a, a])
            total += 0.5 * log(pivot) if pivot >= SMALLEST_PIVOT else np.nan
        out[i] += total / length


@kernel
def _add_conditioned(within: Array, cross: Array, first: int, out: Array) -> None:
    """Add entropies of the present of every target given its past and a source's history.

    `cross` is (source, lag, target, lag) for the sources from `first` on.
    """
    n_sources, length, n_targets, _ = cross.shape
    factor = np.empty((2 * length, 2 * length))
    row = np.empty(2 * length)
    for i in range(n_sources):
        own = within[first + i]
        regular = True
        for a in range(length):
            pivot = append_if_independent(factor, a, own[a], own[a, a])
            regular = regular and pivot >= SMALLEST_PIVOT
        for j in range(n_targets):
            pivot = np.nan
            if regular and j != first + i:
                pivot = _present_given_rest(factor, row, cross[i, :, j], within[j])
            out[first + i, j] += ENTROPY_OF_UNIT_VARIANCE + 0.5 * log(pivot)


@kernel
def _present_given_rest(factor: Array, row: Array, cross: Array, own: Array) -> float:
    """Return the variance of a target's present, NaN if anything is linearly dependent.

    The source's history is in the factor; the target's past follows, its present comes last.
    """
    length = own.shape[0]
    pivot = np.nan
    for a in range(1, length + 1):
        place = a if a < length else 0
        for b in range(length):
            row[b] = cross[b, place]
        for b in range(1, a):
            row[length + b - 1] = own[place, b]
        pivot = append_if_independent(factor, length + a - 1, row, own[place, place])
        if not pivot >= SMALLEST_PIVOT:
            return np.nan
    return pivot


@kernel
def _interactions(within: Array, cross: Array, first: int, out: Array) -> None:
    """Write the stochastic interaction of the sources from `first` on with later regions."""
    n_sources, _, n_targets, _ = cross.shape
    factor = np.empty((4, 4))
    covariance = np.empty((4, 4))
    for i in range(first, first + n_sources):
        for j in range(i + 1, n_targets):
            for a in range(2):  # the past (lag 1) of both first, then the present of both
                covariance[2 * a, 2 * a] = within[i, 1 - a, 1 - a]
                covariance[2 * a + 1, 2 * a + 1] = within[j, 1 - a, 1 - a]
                covariance[2 * a + 1, 2 * a] = cross[i - first, 1 - a, j, 1 - a]
            covariance[2, 0], covariance[3, 1] = within[i, 0, 1], within[j, 0, 1]
            covariance[2, 1] = cross[i - first, 0, j, 1]
            covariance[3, 0] = cross[i - first, 1, j, 0]
            joint, regular = 1.0, True
            for a in range(4):
                pivot = append_if_independent(factor, a, covariance[a], covariance[a, a])
                regular = regular and pivot >= SMALLEST_PIVOT
                joint *= pivot if a >= 2 else 1.0
            apart = _innovation(within[i]) * _innovation(within[j])
            out[i, j] = out[j, i] = 0.5 * log(apart / joint) if regular else np.nan


@kernel
def _innovation(own: Array) -> float:
    """Return the variance of a region's present given its previous value."""
    return float(own[0, 0] - own[0, 1] ** 2 / own[1, 1])
