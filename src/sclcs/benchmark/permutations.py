"""Permutations of the target among exchangeable cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.core.seeds import generator

__all__ = ["can_permute", "permutation_table"]

Integers = NDArray[np.int64]


def permutation_table(blocks: Integers, count: int, seed: int = 0) -> Integers:
    """Draw permutations that never leave a block.

    Parameters
    ----------
    blocks : array of int, shape (case,)
        Cases of one block may change places: those of one site, or of one subject.
    count : int
        How many permutations; the identity is not among them on purpose.
    seed : int

    Returns
    -------
    array of int, shape (count, case)
        Row p says whose target each case gets.
    """
    random = generator(seed, "permutations", len(blocks))
    # Sorting random keys inside blocks shuffles all blocks of a permutation at once.
    order = np.argsort(blocks, kind="stable")
    table = np.empty((count, len(blocks)), dtype=np.int64)
    for row in table:
        shuffled = np.lexsort((random.random(len(blocks)), blocks))
        row[order] = shuffled
    return table


def can_permute(blocks: Integers, target: NDArray[np.generic]) -> bool:
    """Say whether any permutation inside the blocks changes the target at all."""
    return any(len(np.unique(target[blocks == block])) > 1 for block in np.unique(blocks))
