"""Run a whole family; oracles of symmetric operators."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from sclcs.spi.own import FamilyContext

Array = np.ndarray


def run(family: ModuleType, signals: Array, **context) -> dict[str, Array]:
    """Compute all members of a family, with NaN on the diagonals."""
    seeds = np.arange(7, 7 + len(signals), dtype=np.uint64)
    out = family.compute(signals, list(family.MEMBERS), FamilyContext(seeds, **context))
    assert set(out) == set(family.MEMBERS)
    diagonal = np.arange(signals.shape[1])
    for matrix in out.values():
        assert matrix.shape == (len(signals), signals.shape[1], signals.shape[1])
        assert matrix.dtype == np.float64
        matrix[:, diagonal, diagonal] = np.nan
    return {name: matrix.copy() for name, matrix in out.items()}


def pairs(signals: Array, function: Callable[[Array, Array], float]) -> Array:
    """Fill symmetric matrices with function(x_b, x_a) for regions a < b."""
    n_samples, n_regions, _ = signals.shape
    out = np.full((n_samples, n_regions, n_regions), np.nan)
    for sample in range(n_samples):
        for b in range(n_regions):
            for a in range(b):
                value = function(signals[sample, b], signals[sample, a])
                out[sample, a, b] = out[sample, b, a] = value
    return out
