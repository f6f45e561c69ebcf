"""Longest common subsequence in a Sakoe-Chiba band (``lcss_constraint-sakoe-chiba``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.context import Array, FamilyContext
from sclcs.spi.families._jit import kernel

__all__ = ["MEMBERS", "LcssParameters", "compute"]


@dataclass(frozen=True)
class LcssParameters:
    """When two values match, and which cells of the table exist.

    Parameters
    ----------
    tolerance : float
        Values no further apart than this match.
    radius : int
        Cells with abs(s - t) <= radius are in the band.
    """

    tolerance: float
    radius: int


MEMBERS: Mapping[str, LcssParameters] = MappingProxyType(
    {"lcss_constraint-sakoe-chiba": LcssParameters(tolerance=1.0, radius=1)}
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
        _similarities(signals, MEMBERS[name].tolerance, MEMBERS[name].radius, similarity)
        out[name] = similarity
    return out


@kernel
def _similarities(signals: Array, tolerance: float, radius: int, out: Array) -> None:
    n_samples, n_regions, n_times = signals.shape
    row = np.zeros(2 * radius + 3, dtype=np.int64)
    for sample in range(n_samples):
        for i in range(n_regions):
            for j in range(i):
                length = _common_length(
                    signals[sample, i], signals[sample, j], tolerance, radius, row
                )
                out[sample, i, j] = out[sample, j, i] = length / n_times


@kernel
def _common_length(
    x: Array, y: Array, tolerance: float, radius: int, row: NDArray[np.int64]
) -> np.int64:
    """Fill the banded table row by row, keeping one row.

    ``row[k]`` is the cell (s, s + k - radius - 1): k = 0 and k = 2 radius + 2 are the cells just
    outside the band, which stay zero, as does everything outside the table.
    When cell k is about to be overwritten it holds the value of the row above one column to the
    left (the diagonal predecessor), k + 1 the one straight above, k - 1 the one to the left.
    """
    n_times = x.size
    row[:] = 0
    for s in range(n_times):
        for k in range(1, 2 * radius + 2):
            t = s + k - radius - 1
            if t < 0 or t >= n_times:
                row[k] = 0
            elif abs(x[s] - y[t]) <= tolerance:
                row[k] += 1
            else:
                row[k] = max(row[k - 1], row[k + 1])
    length: np.int64 = row[radius + 1]
    return length
