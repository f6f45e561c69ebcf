"""Kriging: the scores of operators that were not computed on everybody, from those that were.

A criterion is nearly linear in the kernel of an operator. If the kernel of an expensive
operator is close to a combination of kernels of cheap ones, its score is close to the same
combination of their scores, and the combination can be read off the geometry between operators.
In the language of statistics: a Gaussian process over operators, whose covariance is their
similarity, is conditioned on the exact scores of the cheap ones.

An operator's own score on the core-set is a second, noisy witness. How noisy it is, is known from
the cheap operators, whose scores on everybody are known as well: the differences are a process of
their own. Both together give the posterior (cokriging).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.core.arguments import checked, checked_methods
from sclcs.core.errors import InputError
from sclcs.core.seeds import generator
from sclcs.estimation.process import Carried, Process, left_out_halves

__all__ = ["Estimate", "krige"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
#: What an operator has on its own, relative to what geometry explains; left-out families choose.
NUGGETS = (0.03, 0.1, 0.3, 1.0)
#: The same of the errors of the core-set, which are mostly each operator's own.
ERROR_NUGGETS = (0.3, 1.0, 3.0)
FEWEST_KNOWN = 4
#: Own scores whose noise is more than four times what geometry leaves open say nothing: how noisy
#: they are is known from a handful of families only.
LEAST_WEIGHT = 0.2


@checked_methods
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
        Degrees of freedom of the scale: how many families there were to learn it, less one.
    nugget : float
        The part of an operator that geometry does not explain.
    own_weight : float
        How much an operator's own score on the core-set counts, from 0 (only its geometry) to
        1 (only its own score).
    """

    operators: list[str]
    mean: Floats
    covariance: Floats
    exact: Booleans
    freedom: float
    nugget: float
    own_weight: float = 0.0

    @property
    def deviation(self) -> Floats:
        """Standard error of every score; 0 for exact ones."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    @checked
    def interval(self, confidence: float = 0.9) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold a score with the given confidence."""
        from scipy.stats import t

        reach = t.ppf(0.5 + confidence / 2, self.freedom) * self.deviation
        return self.mean - reach, self.mean + reach

    @checked
    def draws(self, count: int, seed: int = 0) -> Floats:
        """Draw all scores together, shape (operator, count): a multivariate t."""
        if count < 1:
            raise InputError(f"Expected at least one draw, got {count}.")
        random = generator(seed, "estimate")
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal = root @ random.standard_normal((len(self.mean), count))
        scale = np.sqrt(self.freedom / random.chisquare(self.freedom, size=count))
        drawn: Floats = self.mean[:, None] + normal * scale
        drawn[self.exact] = self.mean[self.exact][:, None]
        return drawn


@checked
def krige(
    operators: Sequence[str],
    geometry: Floats,
    scores: Floats,
    families: Sequence[str],
    *,
    chance: float = 0.0,
    scale: Floats | None = None,
    own: Floats | None = None,
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
    own : array, shape (operator,), optional
        Scores on the core-set, NaN where there is none. Never of a core-set that was chosen by
        scores: the errors of the known operators were searched away there.

    Returns
    -------
    Estimate
    """
    _require_shapes(operators, geometry, scores, families, {"scale": scale, "own": own})
    known = np.isfinite(scores)
    names = np.asarray(families, dtype=str)
    if not _enough(names[known]):
        raise InputError(
            f"Estimating needs the exact scores of at least {FEWEST_KNOWN} operators of two "
            f"families, got {int(known.sum())}."
        )
    factor = np.ones(len(scores)) if scale is None else scale
    target = (scores - chance) * factor
    process = Process.learn(
        geometry[np.ix_(known, known)], target[known], names[known].tolist(), NUGGETS
    )
    found = _carry(process, geometry, known, ~known)
    weight = 0.0
    if own is not None:
        witness = _Witness.of(geometry, target, (own - chance) * factor, names, process)
        if witness is not None:
            found, weight = witness.join(found)
    mean, covariance = scores.copy(), np.zeros_like(geometry)
    mean[~known] = chance + found.mean / factor[~known]
    covariance[np.ix_(~known, ~known)] = found.covariance / np.outer(factor[~known], factor[~known])
    freedom = float(max(len(np.unique(names[known])) - 1, 1))
    return Estimate(list(operators), mean, covariance, known, freedom, process.nugget, weight)


def _require_shapes(
    operators: Sequence[str],
    geometry: Floats,
    scores: Floats,
    families: Sequence[str],
    others: Mapping[str, Floats | None],
) -> None:
    count = len(operators)
    given = {"geometry": geometry.shape, "scores": scores.shape, "families": (len(families),)}
    given |= {name: values.shape for name, values in others.items() if values is not None}
    for name, shape in given.items():
        expected = (count, count) if name == "geometry" else (count,)
        if shape != expected:
            raise InputError(
                f"Expected {name} of {count} operators to have the shape {expected}, got {shape}."
            )


def _enough(families: NDArray[np.str_]) -> bool:
    return len(families) >= FEWEST_KNOWN and len(set(families)) > 1


def _carry(process: Process, geometry: Floats, known: Booleans, others: Booleans) -> Carried:
    return process.carry(geometry[np.ix_(known, others)], geometry[np.ix_(others, others)])


@dataclass(frozen=True, eq=False)
class _Witness:
    """The scores on the core-set: of operators to estimate, with the errors to expect of them.

    Parameters
    ----------
    seen : array of bool, shape (unknown,)
        Which of the operators to estimate have a score on the core-set.
    told : array, shape (seen,)
        Their scores there.
    expected : Carried
        The errors of these scores.
    errors : Process
        Errors of the operators that are known on everybody too.
    truth : Process
        Exact scores of the same operators.
    parts : list of array of int
        Which of them are left out together.
    """

    seen: Booleans
    told: Floats
    expected: Carried
    errors: Process
    truth: Process
    parts: list[NDArray[np.int64]]

    @classmethod
    def of(
        cls,
        geometry: Floats,
        target: Floats,
        own: Floats,
        names: NDArray[np.str_],
        process: Process,
    ) -> _Witness | None:
        """Learn the errors; None if too little is known."""
        known, there = np.isfinite(target), np.isfinite(own)
        both, seen = known & there, ~known & there
        if not _enough(names[both]) or not seen.any():
            return None
        inner, families = geometry[np.ix_(both, both)], names[both].tolist()
        errors = Process.learn(inner, (own - target)[both], families, ERROR_NUGGETS)
        return cls(
            seen[~known],
            own[seen],
            _carry(errors, geometry, both, seen),
            errors,
            Process(inner, target[both], process.nugget, process.variance),
            left_out_halves(families),
        )

    def join(self, prior: Carried) -> tuple[Carried, float]:
        """Add the witness to what geometry says; return the posterior and the witness's weight."""
        noise = self.expected.covariance
        before = prior.covariance[np.ix_(self.seen, self.seen)]
        weight = float(np.trace(before) / (np.trace(before) + np.trace(noise)))
        if weight < LEAST_WEIGHT:
            return prior, 0.0
        gain = np.linalg.solve(before + noise, prior.covariance[self.seen]).T
        surprise = self.told - prior.mean[self.seen] - self.expected.mean
        left = prior.covariance - gain @ prior.covariance[self.seen]
        return Carried(prior.mean + gain @ surprise, self._widen() * left), weight

    def _widen(self) -> float:
        """Return how much larger squared errors of left-out halves are than they should be.

        Geometry and own scores are two models, and their errors need not be independent as the
        posterior takes them to be. The known operators, left out in halves, show what that costs.
        """
        ratios, sizes = [], []
        for score, error in zip(
            self.truth.leave_out(self.parts), self.errors.leave_out(self.parts), strict=True
        ):
            gain = np.linalg.solve(score.covariance + error.covariance, score.covariance).T
            missed = score.error - gain @ (score.error + error.error)
            expected = np.diagonal(score.covariance - gain @ score.covariance)
            ratios.append(float(np.mean(missed**2 / expected)))
            sizes.append(np.sqrt(len(missed)))
        return max(1.0, float(np.average(ratios, weights=sizes)))
