"""Barycenters of pairs of series under soft dynamic time warping.

The mean soft-DTW value to both series is minimised from their average on. tslearn does so with
scipy's L-BFGS-B at a tolerance of 1e-3, which stops well before the minimum: the result is a
point on the way. The same way is taken here.
"""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.quasi_newton import Descent, advance, descent, restart
from sclcs.numerics.soft_alignment import SoftTables, soft_alignment_in_band, soft_tables

__all__ = ["soft_means"]


def soft_means(first: Array, second: Array) -> Array:
    """Return the barycenters of pairs of rows, (pair, time)."""
    out = np.empty_like(first)
    n_times = first.shape[-1]
    reversals = np.empty((2, n_times))
    _minimise(first, second, reversals, descent(n_times), soft_tables(n_times), out)
    return out


@kernel
def _minimise(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    first: Array, second: Array, reversals: Array, state: Descent, tables: SoftTables, out: Array
) -> None:
    n_pairs, n_times = first.shape
    bands = np.empty((2, 2, 2 * n_times - 1), dtype=np.int64)
    for pair in range(n_pairs):
        point = out[pair]
        for t in range(n_times):
            x, y = first[pair, t], second[pair, t]
            point[t] = 0.5 * (x + y)
            reversals[0, n_times - 1 - t] = x
            reversals[1, n_times - 1 - t] = y
        restart(state)
        is_first, is_last = True, False
        while not is_last:
            value = 0.0
            for t in range(n_times):
                state.gradient[t] = 0.0
            for series in range(2):
                value += soft_alignment_in_band(
                    point, reversals[series], tables, bands[series], is_first, state.gradient
                )
            is_first = False
            for t in range(n_times):
                state.gradient[t] *= 0.5
            is_last = advance(state, 0.5 * value, point)
