"""Distances between two z-scored rows (``pdist_*``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array, reducing_kernel
from sclcs.spi.numerics.vector import dot
from sclcs.spi.own import FamilyContext

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
    signals = np.ascontiguousarray(signals)
    n_samples, n_regions, _ = signals.shape
    out: dict[str, Array] = {}
    for name in members:
        out[name] = np.zeros((n_samples, n_regions, n_regions))
        _fill(signals, _METRICS.index(MEMBERS[name].metric), out[name])
    return out


@reducing_kernel
def _fill(signals: Array, metric: int, out: Array) -> None:
    n_samples, n_regions, _ = signals.shape
    for sample in range(n_samples):
        for i in range(n_regions):
            for j in range(i):
                value = _distance(signals[sample, i], signals[sample, j], metric)
                out[sample, i, j] = out[sample, j, i] = value


@reducing_kernel
def _distance(x: Array, y: Array, metric: int) -> float:
    """Look the metric up by its place in `_METRICS`: compiled code has no dictionaries."""
    if metric == 0:
        return _cityblock(x, y)
    if metric == 1:
        return _chebyshev(x, y)
    if metric == 2:
        return _canberra(x, y)
    if metric == 3:
        return _bray_curtis(x, y)
    if metric == 4:
        return _euclidean(x, y)
    return _cosine(x, y)


@reducing_kernel
def _cityblock(x: Array, y: Array) -> float:
    total = 0.0
    for t in range(x.size):
        total += abs(x[t] - y[t])
    return total


@reducing_kernel
def _chebyshev(x: Array, y: Array) -> float:
    largest = 0.0
    for t in range(x.size):
        largest = max(largest, abs(x[t] - y[t]))
    return largest


@reducing_kernel
def _canberra(x: Array, y: Array) -> float:
    total = 0.0
    for t in range(x.size):
        size = abs(x[t]) + abs(y[t])
        total += abs(x[t] - y[t]) / size if size > 0.0 else 0.0
    return total


@reducing_kernel
def _bray_curtis(x: Array, y: Array) -> float:
    apart = together = 0.0
    for t in range(x.size):
        apart += abs(x[t] - y[t])
        together += abs(x[t] + y[t])
    return apart / together


@reducing_kernel
def _euclidean(x: Array, y: Array) -> float:
    total = 0.0
    for t in range(x.size):
        total += (x[t] - y[t]) ** 2
    return float(np.sqrt(total))


@reducing_kernel
def _cosine(x: Array, y: Array) -> float:
    return float(1.0 - dot(x, y) / np.sqrt(dot(x, x) * dot(y, y)))
