"""Compiling the kernels of operators before many processes need them at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sclcs.spi.engine import compute_block

__all__ = ["warm_up"]

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
