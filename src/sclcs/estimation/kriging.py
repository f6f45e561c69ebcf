"""Kriging: the scores of operators that were not computed on everybody, from those that were.

A criterion is nearly linear in the kernel of an operator. If the kernel of an expensive
operator is close to a combination of kernels of cheap ones, its score is close to the same
combination of their scores, and the combination can be read off the geometry between operators.
In the language of statistics: a Gaussian process over operators, whose covariance is their
similarity, is conditioned on the exact scores of the cheap ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import InputError
from sclcs.core.seeds import generator

__all__ = ["Estimate", "krige"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: What an operator has on its own, relative to what geometry explains; chosen by left-out families.
NUGGETS = (0.03, 0.1, 0.3, 1.0)
FEWEST_KNOWN = 4


@dataclass(frozen=True, eq=False)
class Estimate:
    """Scores of operators on everybody, exact or estimated, with joint uncertainty.

    Parameters
    ----------
    operators : list of str
    mean : array, shape (operator,)
    covariance : array, shape (operator, operator)
        Zero for operators whose score is exact.
    exact : array of bool, shape (operator,)
    freedom : float
        Degrees of freedom of the scale: how many families were left out to learn it.
    nugget : float
        The part of an operator that geometry does not explain.
    """

    operators: list[str]
    mean: Floats
    covariance: Floats
    exact: NDArray[np.bool_]
    freedom: float
    nugget: float

    @property
    def deviation(self) -> Floats:
        """Standard error of every score; 0 for exact ones."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    def interval(self, confidence: float = 0.9) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold a score with the given confidence."""
        from scipy.stats import t

        reach = t.ppf(0.5 + confidence / 2, self.freedom) * self.deviation
        return self.mean - reach, self.mean + reach

    def draws(self, count: int, seed: int = 0) -> Floats:
        """Draw all scores together, shape (operator, count): a multivariate t."""
        random = generator(seed, "estimate")
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal = root @ random.standard_normal((len(self.mean), count))
        scale = np.sqrt(self.freedom / random.chisquare(self.freedom, size=count))
        drawn: Floats = self.mean[:, None] + normal * scale
        drawn[self.exact] = self.mean[self.exact][:, None]
        return drawn


def krige(
    operators: Sequence[str],
    geometry: Floats,
    scores: Floats,
    families: Sequence[str],
    *,
    chance: float = 0.0,
    scale: Floats | None = None,
) -> Estimate:
    """Estimate the scores that are missing.

    Parameters
    ----------
    operators : sequence of str
    geometry : array, shape (operator, operator)
        Similarity of operators, 1 on the diagonal.
    scores : array, shape (operator,)
        On everybody; NaN for the operators to estimate.
    families : sequence of str
        Of each operator. Operators of one family are alike, so the error to expect is learned by
        leaving whole families out.
    chance : float
        The score of an operator without any information.
    scale : array, shape (operator,), optional
        A score times this is what geometry carries over, see
        :attr:`sclcs.estimation.Geometry.share_scale`.

    Returns
    -------
    Estimate
    """
    known = np.isfinite(scores)
    if known.sum() < FEWEST_KNOWN or len(set(np.asarray(families)[known])) < 2:
        raise InputError(
            f"Estimating needs the exact scores of at least {FEWEST_KNOWN} operators of two "
            f"families, got {int(known.sum())}."
        )
    factor = np.ones(len(scores)) if scale is None else scale
    target = ((scores - chance) * factor)[known]
    groups = _group_codes(np.asarray(families, dtype=object)[known])
    inner = geometry[np.ix_(known, known)]
    nugget, variance = _choose_nugget(inner, target, groups)
    weights = np.linalg.solve(inner + nugget * np.eye(len(inner)), geometry[np.ix_(known, ~known)])
    mean = scores.copy()
    mean[~known] = chance + (weights.T @ target) / factor[~known]
    spread = geometry[np.ix_(~known, ~known)] - geometry[np.ix_(~known, known)] @ weights
    spread = variance * (spread + nugget * np.eye(len(spread)))
    covariance = np.zeros_like(geometry)
    covariance[np.ix_(~known, ~known)] = spread / np.outer(factor[~known], factor[~known])
    freedom = float(max(len(np.unique(groups)) - 1, 1))
    return Estimate(list(operators), mean, covariance, known, freedom, nugget)


def _group_codes(names: NDArray[np.object_]) -> Integers:
    return np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64)


def _choose_nugget(inner: Floats, target: Floats, groups: Integers) -> tuple[float, float]:
    """Return the nugget under which left-out families are least surprising, and the variance."""
    found = [(nugget, *_left_out_families(inner, target, groups, nugget)) for nugget in NUGGETS]
    nugget, variance, _ = min(found, key=lambda row: row[2])
    return nugget, variance


def _left_out_families(
    inner: Floats, target: Floats, groups: Integers, nugget: float
) -> tuple[float, float]:
    """Return the variance that left-out families call for, and how surprising they are with it.

    The errors of a family that is left out, and their covariance, come from the inverse of the
    whole matrix. A family counts with the square root of its size: its members are alike.
    """
    inverse = np.linalg.inv(inner + nugget * np.eye(len(inner)))
    pulled = inverse @ target
    squares, sizes, volumes = [], [], []
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        block = inverse[np.ix_(members, members)]
        error = np.linalg.solve(block, pulled[members])
        squares.append(float(error @ block @ error) / len(members))
        volumes.append(-np.linalg.slogdet(block)[1] / len(members))
        sizes.append(np.sqrt(len(members)))
    weights = np.array(sizes) / np.sum(sizes)
    variance = float(weights @ np.array(squares))
    surprise = float(np.log(max(variance, np.finfo(float).tiny)) + weights @ np.array(volumes))
    return variance, surprise
