"""Distance between arc-length profiles (``gwtau``).

Each row enters through its own arc length only, so this operator carries no information about
how two regions move together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array, reducing_kernel
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "ArcLengthParameters", "compute"]


@dataclass(frozen=True)
class ArcLengthParameters:
    """The arc-length distance has nothing to choose."""


MEMBERS: Mapping[str, ArcLengthParameters] = MappingProxyType({"gwtau": ArcLengthParameters()})


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the root mean square difference of the arc lengths of all pairs of rows.

    The arc length of the graph (t, x[t]) up to m is L(m) = sum over s <= m of
    sqrt(1 + (x[s] - x[s - 1])²), m = 1 .. T - 1.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: the arc lengths are as large as the signals.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    lengths = np.cumsum(np.sqrt(1.0 + np.diff(signals, axis=-1) ** 2), axis=-1)
    n_samples, n_regions, _ = signals.shape
    distance = np.zeros((n_samples, n_regions, n_regions))
    _root_mean_squares(lengths, distance)
    return dict.fromkeys(members, distance)


@reducing_kernel
def _root_mean_squares(lengths: Array, out: Array) -> None:
    n_samples, n_regions, n_steps = lengths.shape
    for sample in range(n_samples):
        for i in range(n_regions):
            for j in range(i):
                x, y = lengths[sample, i], lengths[sample, j]
                total = 0.0
                for m in range(n_steps):
                    total += (x[m] - y[m]) ** 2
                out[sample, i, j] = out[sample, j, i] = np.sqrt(total / n_steps)
