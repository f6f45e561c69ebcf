"""Fingerprinting: how much of the variance of connectivity belongs to the person."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.kernel import Kernel
from sclcs.benchmark.pairs.moments import PairMoments
from sclcs.benchmark.pairs.pair_design import PairDesign

__all__ = ["i2c2", "subject_statistics", "window_cells"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def i2c2(moments: PairMoments) -> Floats:
    """Return the intraclass correlation of images (Shou et al. 2013) of every draw.

    The vectors of samples have length one, so the mean similarity of a sample with itself is 1.
    """
    between = moments.mean_between
    return np.asarray((moments.mean_within - between) / (1.0 - between))


def window_cells(design: PairDesign, samples: pd.DataFrame, sites: Integers) -> Integers:
    """Return the cells inside which windows may be dealt out anew.

    The first windows of all subjects of a site are one cell, their second windows another, and
    so on. Under the null hypothesis that persons do not differ, whose first window stands
    beside whose second one says nothing.

    Parameters
    ----------
    design : PairDesign
        Of fingerprinting.
    samples : DataFrame
        The facts of the FC source's samples.
    sites : array of int, shape (sample of the design,)

    Returns
    -------
    array of int, shape (sample of the design,)
    """
    windows = samples["window"].to_numpy()[design.rows]
    keys = pd.DataFrame({"subject": design.subjects, "block": design.blocks, "window": windows})
    # The number of a sample among those of its subject, sessions before windows.
    slots = keys.sort_values(["subject", "block", "window"]).groupby("subject").cumcount()
    return np.asarray(slots.sort_index().to_numpy() * (sites.max() + 1) + sites)


def subject_statistics(kernel: Kernel, design: PairDesign, permutations: Integers) -> Floats:
    """Return the mean similarity inside subjects, as it is and with windows dealt out anew.

    Parameters
    ----------
    kernel : Kernel
        Of the samples of the design, in its order.
    design : PairDesign
    permutations : array of int, shape (permutation, sample)
        Inside the cells of :func:`window_cells`.

    Returns
    -------
    array, shape (1 + permutation,)
        The observed one first; subjects count alike.
    """
    first, second, weights = _own_pairs(design)
    similarity = kernel.similarity
    found = np.empty(1 + len(permutations))
    found[0] = weights @ similarity[first, second]
    for number, order in enumerate(permutations, start=1):
        found[number] = weights @ similarity[order[first], order[second]]
    return found


def _own_pairs(design: PairDesign) -> tuple[Integers, Integers, Floats]:
    """Return the compared pairs inside subjects, and weights with which subjects count alike."""
    firsts, seconds = [], []
    for members in design.members_by_subject_size:
        compared = design.compared(members[:, :, None], members[:, None, :])
        subject, one, other = np.nonzero(np.triu(compared, k=1))
        firsts.append(members[subject, one])
        seconds.append(members[subject, other])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    counts = np.bincount(design.subjects[first], minlength=design.n_subjects)
    weights = 1.0 / counts[design.subjects[first]]
    return first, second, weights / weights.sum()
