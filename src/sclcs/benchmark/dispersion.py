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
BLOCK_NUMBERS = 500_000  # numbers in one block of permutations: four of them stay in a cache
SMALL = 1e-300  # instead of a zero to divide by


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


def scatter_of(noise: Floats, classes: Integers, permutations: Integers) -> Scatter:
    """Compare the scatter of classes.

    Under every permutation cases are measured from what a model of the *permuted* classes
    expects: a case of a small class has a large part in its own mean, and measuring from the
    means as they are would find scatter where there is none. The means of the real classes are
    left in, so that cases without any difference are exchangeable and the test is exact,
    however small a class is. A difference of the means hides some scatter and never makes any.

    Parameters
    ----------
    noise : array, shape (1 + permutation, case)
        Squared distance of every case to what the model expects, without bias, from
        :meth:`sclcs.benchmark.share.ShareModel.permuted_noise`.
    classes : array of int, shape (case,)
        From 0 without gaps.
    permutations : array of int, shape (permutation, case)
        Of exchangeable cases.

    Returns
    -------
    Scatter
    """
    known = np.isfinite(noise[0])
    n_classes = int(classes.max()) + 1
    sizes = np.bincount(classes[known], minlength=n_classes)
    variances = np.bincount(classes[known], noise[0, known], n_classes) / np.maximum(sizes, 1)
    orders = np.vstack([np.arange(len(classes))[None, :], permutations])
    step = max(1, BLOCK_NUMBERS // len(classes))
    parts = [
        _ratios(noise[start : start + step], classes[orders[start : start + step]], n_classes)
        for start in range(0, len(orders), step)
    ]
    widest, least = int(variances.argmax()), float(variances.min())
    ratio = float(variances[widest] / least) if least > 0 else float("inf")
    return Scatter(ratio, widest, np.concatenate(parts))


def _ratios(noise: Floats, labels: Integers, n_classes: int) -> Floats:
    """Return variance of the mean distances between classes by that inside, per permutation."""
    known = np.isfinite(noise)
    distances = np.sqrt(np.maximum(np.where(known, noise, 0.0), 0.0))
    grand = distances.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    between, explained = np.zeros(len(noise)), np.zeros(len(noise))
    for code in range(n_classes):
        member = known & (labels == code)
        size = member.sum(axis=1)
        mean = (distances * member).sum(axis=1) / np.maximum(size, 1)
        between += size * (mean - grand) ** 2 / max(n_classes - 1, 1)
        explained += size * mean**2
    inside = ((distances**2).sum(axis=1) - explained) / np.maximum(known.sum(axis=1) - n_classes, 1)
    return np.asarray(between / np.maximum(inside, SMALL))
