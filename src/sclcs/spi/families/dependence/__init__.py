"""Dependence of any form: distance correlation, HSIC, MGC and HHG, as hyppo defines them.

``dcorr`` and ``mgc`` compare the distance matrices of two series. Their lagged forms add up
the statistics of lags 0 to L, the first series later, weighted by (T - lag) / T. hyppo cuts the
distance matrices for a lag and takes the result for series of points: from lag 1 on the
statistic compares distances between rows of distance matrices.

Distance matrices, their ranks and their centring are made once per region and lag, from the
largest lag on, of which the smaller ones need only one more term of every sum; regions are worked
off in blocks whose matrices fit in the memory.
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
from sclcs.spi.families.dependence.series_distances import LaggedDistances, series_distances

__all__ = ["MEMBERS", "DependenceParameters", "compute"]

Statistic = Literal["dcorr", "dcorr_biased", "mgc", "hsic", "hsic_biased", "hhg"]

# Distances of the series and of their rows, sums of squares of these, centred distances, their
# transpose, in lanes or sorted by rank again, ranks twice or places.
_BYTES_PER_DISTANCE = 56
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
    compared = [p for p in asked if p.statistic in _COMPARISONS]
    if compared:
        found |= _compare(rows, compared, memory_bytes)
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


def _compare(
    rows: Array, asked: Collection[DependenceParameters], memory_bytes: int
) -> dict[tuple[Statistic, int], Array]:
    """Compare the distance matrices of all pairs at all lags, the first of a pair later."""
    n_regions, n_times = rows.shape
    wanted = {(p.statistic, lag) for p in asked for lag in range(p.max_lag + 1)}
    out = {key: np.zeros((n_regions, n_regions)) for key in wanted}
    per_region = 2 * _BYTES_PER_DISTANCE * n_times**2
    budget = max(memory_bytes, _LEAST_MEMORY)
    size = int(np.clip(budget // per_region, 1, n_regions))
    blocks = [slice(start, min(start + size, n_regions)) for start in range(0, n_regions, size)]
    for above in blocks:
        for beside in blocks:
            _compare_blocks(rows, above, beside, out)
    return out


def _compare_blocks(
    rows: Array, above: slice, beside: slice, out: Mapping[tuple[Statistic, int], Array]
) -> None:
    """Fill in one block of every matrix."""
    largest = max(lag for _, lag in out)
    # Without a lag the statistics are symmetric: half of the blocks are mirrored.
    mirrored = above.start > beside.start
    if mirrored and largest == 0:
        return
    distances = series_distances(np.ascontiguousarray(rows[above]))
    others = distances
    if above != beside:
        others = series_distances(np.ascontiguousarray(rows[beside]))
    later = LaggedDistances(distances, largest, later=True)
    earlier = LaggedDistances(others, largest, later=False)
    for lag in range(largest, 0, -1):
        first, second = _Distances(later.at(lag)), _Distances(earlier.at(lag))
        for statistic in (s for s, at in out if at == lag):
            out[statistic, lag][above, beside] = _COMPARISONS[statistic](first, second)
    if not mirrored:
        first = _Distances(distances)
        second = first if above == beside else _Distances(others)
        for statistic in (s for s, at in out if at == 0):
            block = _COMPARISONS[statistic](first, second)
            out[statistic, 0][above, beside] = block
            out[statistic, 0][beside, above] = block.T
