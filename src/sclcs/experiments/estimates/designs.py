"""Label-free designs: samples that may show best how operators lie to each other.

All of them look at one kernel of the samples, the mean of those of a few cheap operators.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sclcs.core.seeds import generator

__all__ = ["DESIGNS"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RIDGE = 1e-3  # of the mean variance


def _centred(kernel: Floats) -> Floats:
    """Take the mean out: what all samples share shows nothing."""
    rows = kernel.mean(axis=0)
    return np.asarray(kernel - rows - rows[:, None] + rows.mean(), dtype=np.float64)


def draw_by_leverage(kernel: Floats, size: int, seed: int) -> Integers:
    """Draw samples that are hard to replace more often: in proportion to ridge leverage."""
    centred = _centred(kernel)
    ridge = np.trace(centred) / size * np.eye(len(centred))
    leverage = np.diagonal(np.linalg.solve(centred + ridge, centred)).clip(min=1e-12)
    lots = generator(seed, "leverage").exponential(size=len(kernel)) / leverage
    return np.argsort(lots)[:size].astype(np.int64)


def spread_volume(kernel: Floats, size: int, seed: int) -> Integers:
    """Take the sample that adds most volume, again and again (D-optimal, pivoted Cholesky)."""
    centred = _centred(kernel)
    left = np.diagonal(centred) + RIDGE * np.trace(centred) / len(centred)
    chosen = [int(generator(seed, "d-optimal").integers(len(kernel)))]
    columns = np.zeros((len(kernel), size))
    for step in range(size):
        pivot = chosen[step]
        column = centred[:, pivot] - columns[:, :step] @ columns[pivot, :step]
        columns[:, step] = column / np.sqrt(max(left[pivot], 1e-12))
        left = left - columns[:, step] ** 2
        left[chosen] = -np.inf
        chosen.append(int(left.argmax()))
    return np.array(chosen[:size], dtype=np.int64)


def cover(kernel: Floats, size: int, seed: int) -> Integers:
    """Take the sample that is farthest from those already taken (k-center of the kernel)."""
    own = np.diagonal(kernel)
    chosen = [int(generator(seed, "kernel k-center").integers(len(kernel)))]
    nearest = np.full(len(kernel), np.inf)
    while len(chosen) < size:
        last = chosen[-1]
        nearest = np.minimum(nearest, own + own[last] - 2 * kernel[:, last])
        nearest[chosen] = -np.inf
        chosen.append(int(nearest.argmax()))
    return np.array(chosen, dtype=np.int64)


#: From a kernel of all samples, a size and a seed to the places of the chosen ones.
DESIGNS: dict[str, Callable[[Floats, int, int], Integers]] = {
    "leverage": draw_by_leverage,
    "d-optimal": spread_volume,
    "kernel-center": cover,
}
