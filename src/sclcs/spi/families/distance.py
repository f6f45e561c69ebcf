"""Distances between two z-scored rows (``pdist_*``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.context import Array, FamilyContext
from sclcs.spi.families._jit import reducing_kernel

__all__ = ["MEMBERS", "DistanceParameters", "compute"]

_METRICS = ("cityblock", "chebyshev", "canberra", "braycurtis", "euclidean", "cosine")


@dataclass(frozen=True)
class DistanceParameters:
    """Which distance.

    Parameters
    ----------
    metric : str
        With d = x - y: ``cityblock`` sum |d|, ``chebyshev`` max |d|, ``canberra``
        sum |d| / (|x| + |y|) with 0/0 = 0, ``braycurtis`` sum |d| / sum |x + y|,
        ``euclidean`` sqrt(sum d²), ``cosine`` 1 - x·y / (‖x‖ ‖y‖).
    """

    metric: str


MEMBERS: Mapping[str, DistanceParameters] = MappingProxyType(
    {f"pdist_{metric}": DistanceParameters(metric) for metric in _METRICS}
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested distances of all pairs of rows.

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
    n_samples, n_regions, _ = signals.shape
    distances = np.zeros((len(_METRICS), n_samples, n_regions, n_regions))
    _all_distances(np.ascontiguousarray(signals), distances)
    return {name: distances[_METRICS.index(MEMBERS[name].metric)] for name in members}


@reducing_kernel
def _all_distances(signals: Array, out: Array) -> None:
    n_samples, n_regions, _ = signals.shape
    for sample in range(n_samples):
        rows = signals[sample]
        for i in range(n_regions):
            for j in range(i):
                values = _pair(rows[i], rows[j])
                for metric in range(6):
                    out[metric, sample, i, j] = values[metric]
                    out[metric, sample, j, i] = values[metric]


@reducing_kernel
def _pair(x: Array, y: Array) -> tuple[float, float, float, float, float, float]:
    cityblock = chebyshev = canberra = added = squared = product = xx = yy = 0.0
    for t in range(x.size):
        difference = abs(x[t] - y[t])
        size = abs(x[t]) + abs(y[t])
        cityblock += difference
        chebyshev = max(chebyshev, difference)
        canberra += difference / size if size > 0.0 else 0.0
        added += abs(x[t] + y[t])
        squared += difference * difference
        product += x[t] * y[t]
        xx += x[t] * x[t]
        yy += y[t] * y[t]
    cosine = 1.0 - product / np.sqrt(xx * yy)
    return cityblock, chebyshev, canberra, cityblock / added, np.sqrt(squared), cosine
