"""Dependence of any form: distance correlation, HSIC, MGC and HHG, as hyppo defines them.

``dcorr`` and ``mgc`` compare the distance matrices of two series. Their lagged forms add up
the statistics of lags 0 to L, the first series later, weighted by (T - lag) / T. hyppo cuts the
distance matrices for a lag and takes the result for series of points: from lag 1 on the
statistic compares distances between rows of distance matrices.

Distance matrices, their ranks and their centring are made once per region and lag; regions are
worked off in blocks whose matrices fit in the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.spi.context import MEBIBYTE, FamilyContext
from sclcs.spi.families.dependence.distance_correlation import centred_sums, correlate, own_sums
from sclcs.spi.families.dependence.graph_association import association_statistics
from sclcs.spi.families.dependence.kernel_dependence import kernel_correlations
from sclcs.spi.families.dependence.multiscale import (
    Neighbourhoods,
    multiscale_correlations,
    neighbourhoods,
)
from sclcs.spi.families.dependence.series_distances import distances_of_rows, series_distances

__all__ = ["MEMBERS", "DependenceParameters", "compute"]

Statistic = Literal["dcorr", "dcorr_biased", "mgc", "hsic", "hsic_biased", "hhg"]

# Distances, centred distances, their transpose, ranks twice and an order to sort by.
_BYTES_PER_DISTANCE = 40
# With smaller blocks, the distances of a region would be made again for almost every partner.
_LEAST_MEMORY = 16 * MEBIBYTE


@dataclass(frozen=True)
class DependenceParameters:
    """Which statistic, and up to which lag.

    Parameters
    ----------
    statistic : str
        ``dcorr``, ``hsic`` (also ``_biased``), ``mgc`` or ``hhg``.
    max_lag : int, optional
        Add the statistics of the lags 0 to this one; without it, lag 0 alone.
    """

    statistic: Statistic
    max_lag: int = 0


MEMBERS: Mapping[str, DependenceParameters] = MappingProxyType(
    {
        "dcorr": DependenceParameters("dcorr"),
        "dcorr_biased": DependenceParameters("dcorr_biased"),
        "mgc": DependenceParameters("mgc"),
        "hsic": DependenceParameters("hsic"),
        "hsic_biased": DependenceParameters("hsic_biased"),
        "hhg": DependenceParameters("hhg"),
        "mgcx_maxlag-1": DependenceParameters("mgc", max_lag=1),
        "mgcx_maxlag-10": DependenceParameters("mgc", max_lag=10),
        "dcorrx_maxlag-1": DependenceParameters("dcorr", max_lag=1),
        "dcorrx_maxlag-10": DependenceParameters("dcorr", max_lag=10),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested dependence statistics of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Distance matrices of a block of regions fit in its memory budget.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    samples = [_compute_sample(rows, members, context.memory_bytes) for rows in signals]
    return {name: np.stack([sample[name] for sample in samples]) for name in members}


def _compute_sample(rows: Array, members: Collection[str], memory_bytes: int) -> dict[str, Array]:
    asked = [MEMBERS[name] for name in members]
    wanted = {parameters.statistic for parameters in asked}
    found: dict[tuple[Statistic, int], Array] = {}
    if "hhg" in wanted:
        found["hhg", 0] = association_statistics(rows, memory_bytes)
    if wanted & {"hsic", "hsic_biased"}:
        found["hsic", 0], found["hsic_biased", 0] = kernel_correlations(rows)
    for lag in range(max(parameters.max_lag for parameters in asked) + 1):
        active = {p.statistic for p in asked if p.max_lag >= lag} & _COMPARISONS.keys()
        if active:
            matrices = _compare_at_lag(rows, active, lag, memory_bytes)
            found |= {(statistic, lag): matrix for statistic, matrix in matrices.items()}
    return {name: _sum_over_lags(found, MEMBERS[name], rows.shape[-1]) for name in members}


def _sum_over_lags(
    found: Mapping[tuple[Statistic, int], Array], parameters: DependenceParameters, n_times: int
) -> Array:
    terms = [
        (n_times - lag) / n_times * found[parameters.statistic, lag]
        for lag in range(parameters.max_lag + 1)
    ]
    total: Array = np.sum(terms, axis=0)
    return total


@dataclass(frozen=True)
class _Distances:
    """Distance matrices of some regions, (region, time, time), and what is made of them."""

    values: Array

    @cached_property
    def neighbourhoods(self) -> Neighbourhoods:
        return neighbourhoods(self.values)

    @cached_property
    def own_sums(self) -> Array:
        return own_sums(self.values, biased=False)

    @cached_property
    def own_sums_biased(self) -> Array:
        return own_sums(self.values, biased=True)


def _distance_correlations(first: _Distances, second: _Distances) -> Array:
    products = centred_sums(first.values, second.values, biased=False)
    return correlate(products, first.own_sums, second.own_sums, biased=False)


def _biased_distance_correlations(first: _Distances, second: _Distances) -> Array:
    products = centred_sums(first.values, second.values, biased=True)
    return correlate(products, first.own_sums_biased, second.own_sums_biased, biased=True)


def _multiscale_correlations(first: _Distances, second: _Distances) -> Array:
    return multiscale_correlations(
        first.neighbourhoods, second.neighbourhoods, only_upper=first is second
    )


_COMPARISONS: Mapping[Statistic, Callable[[_Distances, _Distances], Array]] = MappingProxyType(
    {
        "dcorr": _distance_correlations,
        "dcorr_biased": _biased_distance_correlations,
        "mgc": _multiscale_correlations,
    }
)


def _compare_at_lag(
    rows: Array, statistics: Collection[Statistic], lag: int, memory_bytes: int
) -> dict[Statistic, Array]:
    """Compare the distance matrices of all pairs, the first of a pair later by ``lag``."""
    n_regions, n_times = rows.shape
    out = {statistic: np.zeros((n_regions, n_regions)) for statistic in statistics}
    per_region = 2 * _BYTES_PER_DISTANCE * n_times**2
    budget = max(memory_bytes, _LEAST_MEMORY)
    size = int(np.clip(budget // per_region, 1, n_regions))
    blocks = [slice(start, min(start + size, n_regions)) for start in range(0, n_regions, size)]
    for number, above in enumerate(blocks):
        first = _distances_at_lag(rows[above], lag, later=True)
        # Without a lag the statistics are symmetric: half of the blocks are mirrored.
        for beside in blocks if lag else blocks[number:]:
            same = lag == 0 and above == beside
            second = first if same else _distances_at_lag(rows[beside], lag, later=False)
            for statistic, matrix in out.items():
                block = _COMPARISONS[statistic](first, second)
                matrix[above, beside] = block
                if lag == 0:
                    matrix[beside, above] = block.T
    return out


def _distances_at_lag(rows: Array, lag: int, *, later: bool) -> _Distances:
    """Return plain distances for lag 0, else those between rows of the cut distance matrices."""
    distances = series_distances(np.ascontiguousarray(rows))
    if lag == 0:
        return _Distances(distances)
    cut = slice(lag, None) if later else slice(None, -lag)
    return _Distances(distances_of_rows(distances[:, cut, cut]))
