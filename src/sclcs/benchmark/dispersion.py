"""Whether the matrices of one class scatter more than those of another (PERMDISP).

An effect of a label moves the mean pattern; noise, motion or heterogeneity widen the scatter
around it. The two look alike in many scores, so the test of scatter stands beside every effect
(Anderson 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scatter", "scatter_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BLOCK_NUMBERS = 2_000_000  # numbers in one block of permutations
SMALL = 1e-300


@dataclass(frozen=True, eq=False)
class Scatter:
    """How cases scatter around the mean of their class.

    Parameters
    ----------
    ratio : float
        Variance of the most scattered class by that of the least scattered one.
    widest : int
        The most scattered class.
    statistics : array, shape (1 + permutation,)
        Differences between classes of the mean distance to the centre, by their spread inside
        classes; the observed one first.
    """

    ratio: float
    widest: int
    statistics: Floats


def scatter_of(kernel: Floats, noise: Floats, classes: Integers, permutations: Integers) -> Scatter:
    """Compare the scatter of classes.

    Under every permutation cases are measured from the means of the permuted classes: a case of a
    small class has a large part in its own mean, and measuring from the means as they are would
    find scatter where there is none.

    Parameters
    ----------
    kernel : array, shape (case, case)
        Of the cases beyond the covariates.
    noise : array, shape (case,)
        Squared distance of every case to the mean of its class, without bias, from
        :meth:`sclcs.benchmark.share.ShareModel.noise`.
    classes : array of int, shape (case,)
        From 0 without gaps.
    permutations : array of int, shape (permutation, case)
        Of exchangeable cases.

    Returns
    -------
    Scatter
    """
    member = (classes[:, None] == np.arange(classes.max() + 1)).astype(np.float64)
    variances = noise @ member / member.sum(axis=0)
    orders = np.vstack([np.arange(len(noise))[None, :], permutations])
    step = max(1, BLOCK_NUMBERS // member.size)
    parts = [
        _ratios(kernel, member[orders[start : start + step]])
        for start in range(0, len(orders), step)
    ]
    widest, least = int(variances.argmax()), float(variances.min())
    ratio = float(variances[widest] / least) if least > 0 else float("inf")
    return Scatter(ratio, widest, np.concatenate(parts))


def _ratios(kernel: Floats, member: Floats) -> Floats:
    """Return variance of the mean distances between classes by that inside, per permutation."""
    sizes = member[0].sum(axis=0)
    n_cases, n_classes = member.shape[1:]
    averaging = member / sizes  # permutation, case, class
    flat = np.ascontiguousarray(averaging.transpose(1, 0, 2)).reshape(n_cases, -1)
    products = (kernel @ flat).reshape(n_cases, -1, n_classes).transpose(1, 0, 2)
    own = (products * member).sum(axis=2)  # of a case with the mean of its class
    lengths = (products * averaging).sum(axis=1)  # of the mean of a class with itself
    squares = np.diagonal(kernel) - 2 * own + np.einsum("pnc,pc->pn", member, lengths)
    squares = squares / (1.0 - member @ (1.0 / sizes))
    distances = np.sqrt(np.maximum(squares, 0.0))
    means = np.einsum("pn,pnc->pc", distances, averaging)
    between = ((means - distances.mean(axis=1, keepdims=True)) ** 2) @ sizes
    between = between / max(n_classes - 1, 1)
    inside = (distances - np.einsum("pnc,pc->pn", member, means)) ** 2
    freedom = max(n_cases - n_classes, 1)
    return np.asarray(between / np.maximum(inside.sum(axis=1) / freedom, SMALL))
