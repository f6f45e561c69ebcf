"""Permutations of the target among exchangeable cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs._core.constants import FEWEST_PER_STRATUM
from sclcs._core.identity import generator

__all__ = ["bootstrap_draws", "can_permute", "half_draws", "permutation_table", "pool_small_strata"]


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


Floats = NDArray[np.float64]


def bootstrap_draws(strata: Integers, n_draws: int, seed: int = 0) -> Floats:
    """Draw subjects with replacement, as many of every stratum as there are.

    Parameters
    ----------
    strata : array of int, shape (subject,)
        Class and site of each subject as one code. What the cohort's design fixed stays fixed.
    n_draws : int
    seed : int

    Returns
    -------
    array, shape (n_draws, subject)
        How often each subject was drawn.
    """
    random = generator(seed, "bootstrap", len(strata))
    draws = np.zeros((n_draws, len(strata)))
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        equal = np.full(len(members), 1.0 / len(members))
        draws[:, members] = random.multinomial(len(members), equal, size=n_draws)
    return draws


def half_draws(strata: Integers, n_splits: int, seed: int = 0) -> Floats:
    """Split the subjects into random halves, the same share of every stratum in both.

    Parameters
    ----------
    strata : array of int, shape (subject,)
    n_splits : int
    seed : int

    Returns
    -------
    array, shape (2 * n_splits, subject)
        Ones and zeros; rows 2i and 2i + 1 are the two halves of split i.
    """
    draws = np.zeros((2 * n_splits, len(strata)))
    for split in range(n_splits):
        keys = generator(seed, "halves", split).random(len(strata))
        order = np.lexsort((keys, strata))  # shuffled inside each stratum
        # Dealing in turn over the strata halves each of them, give or take one subject.
        draws[2 * split, order[::2]] = 1.0
        draws[2 * split + 1, order[1::2]] = 1.0
    return draws


def pool_small_strata(classes: Integers, sites: Integers) -> Integers:
    """Return strata of class and site; small sites of a class are one stratum.

    Parameters
    ----------
    classes, sites : array of int, shape (subject,)

    Returns
    -------
    array of int, shape (subject,)
        Codes from 0 without gaps.

    Examples
    --------
    >>> sites = np.array([0] * 6 + [1] + [0] * 2 + [1] * 5)
    >>> pool_small_strata(np.repeat([0, 1], 7), sites).tolist()
    [1, 1, 1, 1, 1, 1, 0, 2, 2, 3, 3, 3, 3, 3]
    """
    cells = classes * (sites.max() + 1) + sites
    sizes = np.bincount(cells)
    small = sizes[cells] < FEWEST_PER_STRATUM
    codes = np.where(small, -1, sites) + classes * (sites.max() + 2)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
