"""Compiling the kernels of operators before many processes need them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from sclcs.spi.engine import compute_block
from sclcs.spi.runner import family_members

__all__ = ["warm_up", "warm_ups"]

#: Families that take longest to compile (`benchmarks/bench_start.py`), so that they are not last.
LONGEST = (
    "covariance",
    "nearest_neighbour",
    "granger",
    "dependence",
    "cross_mapping",
    "multitaper",
    "spectral_granger",
    "boxkernel",
    "crosscorrelation",
    "groupdelay",
)
_SAMPLES, _REGIONS = 2, 4


def warm_up(identifiers: Sequence[str], n_times: int) -> None:
    """Run operators once on a tiny batch, so that their kernels are compiled and cached on disk.

    numba compiles a kernel when it is first called. Processes that do so at the same moment
    repeat the work of seconds to minutes, and on a network file system they may break each
    other's cache.

    Parameters
    ----------
    identifiers : sequence of str
        From the catalogue.
    n_times : int
        Time points of the real samples; some operators choose their path by it.
    """
    signals = np.random.default_rng(0).normal(size=(_SAMPLES, _REGIONS, n_times))
    compute_block(signals, identifiers, sample_seeds=np.arange(_SAMPLES, dtype=np.uint64))


def warm_ups(identifiers: Sequence[str], n_times: int) -> list[Callable[[], None]]:
    """Return what :func:`warm_up` does, one family each, for processes that share the compiling.

    Parameters
    ----------
    identifiers : sequence of str
    n_times : int

    Returns
    -------
    list of callable
        Those that take longest first.
    """
    members = family_members(identifiers)
    place = {family: k for k, family in enumerate(LONGEST)}
    order = sorted(members, key=lambda family: place.get(family, len(LONGEST)))
    return [partial(warm_up, members[family], n_times) for family in order]
