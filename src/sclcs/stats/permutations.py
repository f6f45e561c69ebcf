"""Permutations of the target among exchangeable cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs._core import FEWEST_PER_STRATUM, generator

__all__ = [
    "can_permute",
    "half_draws",
    "nested",
    "permutation_table",
    "pool_small_strata",
]


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
TRIED = 100  # permutations, to see whether any of them changes the target


def permutation_table(
    blocks: Integers, count: int, seed: int = 0, families: Integers | None = None
) -> Integers:
    """Draw permutations that never leave a block, and never tear families apart.

    Families of the same structure exchange as wholes, and the members of a family exchange among
    themselves (Winkler et al. 2015, NeuroImage 123:253, whole-block and within-block exchange).
    Two families are of the same structure if they have as many members in every block, and, level
    by level, nested families of the same structure.

    Parameters
    ----------
    blocks : array of int, shape (case,)
        Cases of one block may change places: those of one site, or of one subject.
    count : int
        How many permutations; the identity is not among them on purpose.
    seed : int
    families : array of int, shape (level, case), optional
        The family of each case, from the outermost level (families) to the innermost (twin
        pairs). A case without relatives is a family of its own.

    Returns
    -------
    array of int, shape (count, case)
        Row p says whose target each case gets.
    """
    random = generator(seed, "permutations", len(blocks))
    levels = np.empty((0, len(blocks)), np.int64) if families is None else nested(families)
    structures = _structures(blocks, levels)
    # Sorting random keys inside structures shuffles all families of a permutation at once; what
    # stands at one place of two sorted families of one structure may be exchanged.
    order = _sorted(blocks, structures, levels.astype(np.float64), np.arange(len(blocks)))
    table = np.empty((count, len(blocks)), dtype=np.int64)
    for row in table:
        own = random.random(len(blocks))
        keys = np.array([random.random(int(level.max()) + 1)[level] for level in levels])
        row[order] = _sorted(blocks, structures, keys, own)
    return table


def nested(families: Integers) -> Integers:
    """Renumber families so that those of an inner level lie inside one of the level before."""
    found = np.empty_like(families)
    for level, codes in enumerate(families):
        outer = np.zeros_like(codes) if not level else found[level - 1]
        pairs = outer * (int(codes.max(initial=0)) + 1) + codes
        found[level] = np.unique(pairs, return_inverse=True)[1]
    return found


def _sorted(
    blocks: Integers, structures: Integers, keys: Floats, own: NDArray[np.generic]
) -> NDArray[np.intp]:
    """Sort cases by structure and key of their families, from outside, then by block and key."""
    by_level = [part for pair in zip(structures, keys, strict=True) for part in pair]
    return np.lexsort([own, blocks, *reversed(by_level)])


def _structures(blocks: Integers, levels: Integers) -> Integers:
    """Return a code of the structure of every case's family, shape (level, case)."""
    found = np.empty_like(levels)
    inside = blocks
    for level in range(len(levels) - 1, -1, -1):
        codes = levels[level]
        order = np.lexsort([inside, codes])
        members = np.split(inside[order], np.flatnonzero(np.diff(codes[order])) + 1)
        known: dict[bytes, int] = {}
        by_family = [known.setdefault(each.tobytes(), len(known)) for each in members]
        found[level] = np.array(by_family, dtype=np.int64)[codes]
        inside = found[level]
    return found


def can_permute(
    blocks: Integers, target: NDArray[np.generic], families: Integers | None = None
) -> bool:
    """Say whether any permutation inside the blocks changes the target at all."""
    if families is None:
        return any(len(np.unique(target[blocks == block])) > 1 for block in np.unique(blocks))
    return bool((target[permutation_table(blocks, TRIED, 0, families)] != target).any())


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
