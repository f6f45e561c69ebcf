"""Statistics of barycenters under time warping (``bary[-sq]_{dtw,sgddtw,softdtw}_{mean,max}``).

The barycenter of a pair is found once for its four statistics. All three methods start from the
average of the two rows and stop early, as tslearn's do: ``dtw`` after at most 30 rounds of
averaging, ``sgddtw`` after at most 30 epochs of subgradient steps in random order (seeded by
the sample), ``softdtw`` where L-BFGS no longer gains a thousandth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.core.seeds import generator
from sclcs.numerics.arrays import Array
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.elastic_barycenter.soft_mean import soft_means
from sclcs.spi.families.elastic_barycenter.warped_mean import (
    MAX_EPOCHS,
    averaged_means,
    descended_means,
)

__all__ = ["MEMBERS", "ElasticBarycenterParameters", "compute"]

Method = Literal["dtw", "sgddtw", "softdtw"]
_METHODS: tuple[Method, ...] = ("dtw", "sgddtw", "softdtw")
_BYTES_PER_PAIR = 4 * 8  # and time point: two rows, the barycenter, its square
_STATISTICS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "mean": lambda centers: centers.mean(axis=1),
        "max": lambda centers: centers.max(axis=1),
        "mean of squares": lambda centers: (centers * centers).mean(axis=1),
        "max of squares": lambda centers: (centers * centers).max(axis=1),
    }
)


@dataclass(frozen=True)
class ElasticBarycenterParameters:
    """Which barycenter, and which statistic of it.

    Parameters
    ----------
    method : {"dtw", "sgddtw", "softdtw"}
        How the barycenter is defined and found.
    statistic : str
        Over time: ``mean``, ``max``, ``mean of squares`` or ``max of squares``.
    """

    method: Method
    statistic: str


MEMBERS: Mapping[str, ElasticBarycenterParameters] = MappingProxyType(
    {
        f"bary{form}_{method}_{statistic}": ElasticBarycenterParameters(
            method, f"{statistic} of squares" if form else statistic
        )
        for form in ("", "-sq")
        for method in _METHODS
        for statistic in ("mean", "max")
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
        Its seeds order the subgradient steps; pairs are worked off in blocks that fit in its
        memory budget.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, n_times = signals.shape
    out = {name: np.zeros((n_samples, n_regions, n_regions)) for name in members}
    later, earlier = np.tril_indices(n_regions, -1)
    # A pair needs its two rows and its barycenter.
    size = max(1, int(context.memory_bytes // (_BYTES_PER_PAIR * n_times)))
    for sample, rows in enumerate(signals):
        for method in {MEMBERS[name].method for name in members}:
            leads = _orders(int(context.sample_seeds[sample]), len(later))
            for start in range(0, len(later), size):
                i, j = later[start : start + size], earlier[start : start + size]
                centers = _barycenters(method, rows[i], rows[j], leads[start : start + size])
                for name in members:
                    if MEMBERS[name].method == method:
                        values = _STATISTICS[MEMBERS[name].statistic](centers)
                        out[name][sample, i, j] = out[name][sample, j, i] = values
    return out


def _barycenters(
    method: Method, first: Array, second: Array, second_leads: NDArray[np.bool_]
) -> Array:
    if method == "dtw":
        return averaged_means(first, second)
    if method == "sgddtw":
        return descended_means(first, second, second_leads)
    return soft_means(first, second)


def _orders(seed: int, n_pairs: int) -> NDArray[np.bool_]:
    """Draw, for every pair and epoch, whether its second series comes first."""
    draws = generator(seed, "subgradient order").random((n_pairs, MAX_EPOCHS), dtype=np.float32)
    return draws < 0.5
