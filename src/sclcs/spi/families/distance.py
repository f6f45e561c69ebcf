"""Distances between two z-scored rows (``pdist_*``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array, reducing_kernel
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
def _fill(signals: Array, metric: int, out: Array) -> None:  # noqa: C901, PLR0912 - compiled once
    """Look the metric up by its place in `_METRICS`: compiled code has no dictionaries."""
    n_samples, n_regions, n_times = signals.shape
    for sample in range(n_samples):
        for i in range(n_regions):
            x = signals[sample, i]
            for j in range(i):
                y = signals[sample, j]
                total = size = other = 0.0
                if metric == 0:
                    for t in range(n_times):
                        total += abs(x[t] - y[t])
                elif metric == 1:
                    for t in range(n_times):
                        total = max(total, abs(x[t] - y[t]))
                elif metric == 2:
                    for t in range(n_times):
                        size = abs(x[t]) + abs(y[t])
                        total += abs(x[t] - y[t]) / size if size > 0.0 else 0.0
                elif metric == 3:
                    for t in range(n_times):
                        total += abs(x[t] - y[t])
                        size += abs(x[t] + y[t])
                    total /= size
                elif metric == 4:
                    for t in range(n_times):
                        total += (x[t] - y[t]) ** 2
                    total = np.sqrt(total)
                else:
                    for t in range(n_times):
                        total += x[t] * y[t]
                        size += x[t] * x[t]
                        other += y[t] * y[t]
                    total = 1.0 - total / np.sqrt(size * other)
                out[sample, i, j] = out[sample, j, i] = total
