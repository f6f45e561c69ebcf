"""Longest common subsequence in a Sakoe-Chiba band (``lcss_constraint-sakoe-chiba``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.context import Array, FamilyContext
from sclcs.spi.families._jit import kernel

__all__ = ["MEMBERS", "LcssParameters", "compute"]


@dataclass(frozen=True)
class LcssParameters:
    """When two values match. The band has radius one: cells (s, t) with abs(s - t) <= 1.

    Parameters
    ----------
    tolerance : float
        Values no further apart than this match.
    """

    tolerance: float


MEMBERS: Mapping[str, LcssParameters] = MappingProxyType(
    {"lcss_constraint-sakoe-chiba": LcssParameters(tolerance=1.0)}
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the banded LCSS similarity of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: nothing but the output is allocated.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    signals = np.ascontiguousarray(signals)
    n_samples, n_regions, _ = signals.shape
    out: dict[str, Array] = {}
    for name in members:
        similarity = np.zeros((n_samples, n_regions, n_regions))
        _similarities(signals, MEMBERS[name].tolerance, similarity)
        out[name] = similarity
    return out


@kernel
def _similarities(signals: Array, tolerance: float, out: Array) -> None:
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
