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
        Differences between classes of the mean distance to the centre; the observed one first.
    """

    ratio: float
    widest: int
    statistics: Floats


def scatter_of(noise: Floats, classes: Integers, permutations: Integers) -> Scatter:
    """Compare the scatter of classes.

    Parameters
    ----------
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
    sizes = member.sum(axis=0)
    variances = noise @ member / sizes
    distances = np.sqrt(np.maximum(noise, 0.0))
    orders = np.vstack([np.arange(len(noise))[None, :], permutations])
    means = distances[orders] @ member / sizes
    statistics = ((means - distances.mean()) ** 2) @ sizes
    widest, least = int(variances.argmax()), float(variances.min())
    ratio = float(variances[widest] / least) if least > 0 else float("inf")
    return Scatter(ratio, widest, np.asarray(statistics))
