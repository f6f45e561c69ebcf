"""Longest common subsequence of two rows (``lcss*``), over their length."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.alignment import (
    Constraint,
    Limits,
    antidiagonal_band,
    fill_common_lengths,
)
from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "LcssParameters", "compute"]


@dataclass(frozen=True)
class LcssParameters:
    """When two values match, and which pairs of time points are tried.

    Parameters
    ----------
    tolerance : float
        Values no further apart than this match.
    constraint : {"none", "itakura", "sakoe-chiba"}
        The Itakura parallelogram has slope 2, the Sakoe-Chiba band radius one: time points (s, t)
        with abs(s - t) <= 1.
    """

    tolerance: float
    constraint: Constraint


MEMBERS: Mapping[str, LcssParameters] = MappingProxyType(
    {
        "lcss": LcssParameters(tolerance=1.0, constraint="none"),
        "lcss_constraint-itakura": LcssParameters(tolerance=1.0, constraint="itakura"),
        "lcss_constraint-sakoe-chiba": LcssParameters(tolerance=1.0, constraint="sakoe-chiba"),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute LCSS similarities of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: the table of one pair is allocated, nothing else.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    signals = np.ascontiguousarray(signals)
    n_samples, n_regions, n_times = signals.shape
    out: dict[str, Array] = {}
    for name in members:
        parameters = MEMBERS[name]
        similarity = np.zeros((n_samples, n_regions, n_regions))
        if parameters.constraint == "sakoe-chiba":  # three cells wide: no table is needed
            _narrow_similarities(signals, parameters.tolerance, similarity)
        else:
            first, last = antidiagonal_band(parameters.constraint, n_times)
            _similarities(signals, parameters.tolerance, first, last, similarity)
        out[name] = similarity
    return out


@kernel
def _similarities(
    signals: Array, tolerance: float, first: Limits, last: Limits, out: Array
) -> None:
    n_samples, n_regions, n_times = signals.shape
    table = np.empty((3, n_times + 2))
    for sample in range(n_samples):
        for i in range(n_regions):
            reversed_row = signals[sample, i, ::-1].copy()
            for j in range(i):
                length = fill_common_lengths(
                    signals[sample, j], reversed_row, tolerance, first, last, table
                )
                out[sample, i, j] = out[sample, j, i] = length / n_times


@kernel
def _narrow_similarities(signals: Array, tolerance: float, out: Array) -> None:
    n_samples, n_regions, n_times = signals.shape
    for sample in range(n_samples):
        for i in range(n_regions):
            for j in range(i):
                length = _common_length(signals[sample, i], signals[sample, j], tolerance)
                out[sample, i, j] = out[sample, j, i] = length / n_times


@kernel
def _common_length(x: Array, y: Array, tolerance: float) -> int:
    """Fill the banded table row by row, keeping the three cells of one row.

    ``below``, ``middle`` and ``above`` are the cells (s, s - 1), (s, s) and (s, s + 1). A cell
    with a match adds one to its diagonal predecessor, which is the same cell of the last row;
    without one it takes the larger of its left and upper neighbours, zero outside the band.
    """
    last = x.size - 1
    below = 0
    middle = 1 if abs(x[0] - y[0]) <= tolerance else 0
    above = 1 if abs(x[0] - y[min(1, last)]) <= tolerance else middle
    for s in range(1, last + 1):
        below = below + 1 if abs(x[s] - y[s - 1]) <= tolerance else middle
        middle = middle + 1 if abs(x[s] - y[s]) <= tolerance else max(below, above)
        if s < last:
            above = above + 1 if abs(x[s] - y[s + 1]) <= tolerance else middle
    return middle
