"""Greedy maximisation of facility location: every sample is represented by its best choice."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

__all__ = ["lazy_greedy", "represented"]

Matrix = NDArray[np.float32]


def represented(benefit: Matrix, chosen: NDArray[np.int64]) -> float:
    """Return the sum over samples of the best benefit among the chosen ones."""
    if not len(chosen):
        return 0.0
    return float(benefit[chosen].max(axis=0).sum(dtype=np.float64))


def lazy_greedy(benefit: Matrix, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose candidates one by one, each time the one that adds most.

    A candidate's gain can only fall as others are chosen, so an old gain is an upper bound:
    gains are computed again only for candidates whose old gain is the highest.

    Parameters
    ----------
    benefit : array, shape (candidate, sample)
        What choosing a candidate does for a sample; not negative.
    size : int
        How many to choose, at most the number of candidates.

    Returns
    -------
    chosen : array of int
        In the order of choice; ties go to the lowest number.
    gains : array of float
        What each added, never increasing.
    """
    covered = np.zeros(benefit.shape[1], dtype=benefit.dtype)
    heap = [(-float(total), row) for row, total in enumerate(benefit.sum(axis=1, dtype=np.float64))]
    heapq.heapify(heap)
    chosen: list[int] = []
    gains: list[float] = []
    gain = np.empty_like(covered)
    while len(chosen) < size:
        _, row = heap[0]
        np.subtract(benefit[row], covered, out=gain)
        np.maximum(gain, 0, out=gain)
        renewed = (-float(gain.sum(dtype=np.float64)), row)
        heapq.heapreplace(heap, renewed)
        if heap[0] == renewed:  # still the best, also against the others' upper bounds
            heapq.heappop(heap)
            chosen.append(row)
            gains.append(-renewed[0])
            np.maximum(covered, benefit[row], out=covered)
    return np.array(chosen, dtype=np.int64), np.array(gains)
