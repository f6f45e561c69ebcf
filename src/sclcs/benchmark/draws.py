"""Draws of subjects: how often each one counts, as a table (draw, subject)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign
from sclcs.core.seeds import generator

__all__ = ["bootstrap_draws", "half_draws"]

Floats = NDArray[np.float64]


def bootstrap_draws(design: PairDesign, n_draws: int, seed: int = 0) -> Floats:
    """Draw subjects with replacement, as many as there are.

    Parameters
    ----------
    design : PairDesign
    n_draws : int
    seed : int

    Returns
    -------
    array, shape (n_draws, subject)
        How often each subject was drawn. Samples of a subject are drawn together, because
        they are not independent.
    """
    n_subjects = design.n_subjects
    random = generator(seed, "bootstrap", n_subjects)
    equal = np.full(n_subjects, 1.0 / n_subjects)
    return random.multinomial(n_subjects, equal, size=n_draws).astype(np.float64)


def half_draws(design: PairDesign, n_splits: int, seed: int = 0) -> Floats:
    """Split the subjects into random halves, the same share of every class in both.

    Parameters
    ----------
    design : PairDesign
    n_splits : int
    seed : int

    Returns
    -------
    array, shape (2 * n_splits, subject)
        Ones and zeros; rows 2i and 2i + 1 are the two halves of split i. For
        fingerprinting, where every subject is a class, the split is plain.
    """
    firsts = np.flatnonzero(np.r_[True, np.diff(design.subjects) != 0])
    classes = design.classes[firsts]
    if len(np.unique(classes)) == design.n_subjects:
        classes = np.zeros_like(classes)
    draws = np.zeros((2 * n_splits, design.n_subjects))
    for split in range(n_splits):
        random = generator(seed, "halves", split)
        keys = random.random(design.n_subjects)
        order = np.lexsort((keys, classes))  # shuffled inside each class
        # Dealing in turn over the classes halves each of them, give or take one subject.
        draws[2 * split, order[::2]] = 1.0
        draws[2 * split + 1, order[1::2]] = 1.0
    return draws
