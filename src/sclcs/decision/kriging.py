"""A Gaussian process over operators: what is known about some is carried over to the others.

Its covariance is the similarity of operators, plus a part that each has on its own (the nugget).
How large both are is learned from the operators that are known: half of their families is left
out and carried over from the other half, again and again. One family at a time would be too easy
a test, because the operators that are asked about are of many families at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    ERROR_NUGGETS,
    FEWEST_KNOWN,
    LEAST_WEIGHT,
    NUGGETS,
    InputError,
    checked,
    generator,
)

__all__ = [
    "ESTIMATION_VERSION",
    "Carried",
    "Estimate",
    "LeftOut",
    "Outlook",
    "Process",
    "krige",
    "left_out_halves",
    "look_ahead",
    "next_operator",
    "next_purchase",
]

#: Raised when the same scores and geometry would be estimated differently.
ESTIMATION_VERSION = 3


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
HALVINGS = 10


def left_out_halves(families: Sequence[str]) -> list[Integers]:
    """Return the places of operators to leave out together: random halves of the families."""
    names, codes = np.unique(np.asarray(families, dtype=str), return_inverse=True)
    random, parts = generator(0, "left-out families"), list[Integers]()
    for _ in range(HALVINGS):
        order = random.permutation(len(names))
        for half in (order[: len(order) // 2], order[len(order) // 2 :]):
            parts.append(np.flatnonzero(np.isin(codes, half)).astype(np.int64))
    return parts


@dataclass(frozen=True, eq=False)
class Carried:
    """What is expected of operators, and how uncertain that is together."""

    mean: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Operators that were left out: by how much they were missed, and what was to be expected."""

    members: Integers
    error: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Process:
    """A process with mean 0, conditioned on what is known.

    Parameters
    ----------
    similarity : array, shape (known, known)
    values : array, shape (known,)
    nugget : float
        The part of an operator that geometry does not explain, relative to what it does.
    variance : float
        Scale of the covariance.
    """

    similarity: Floats
    values: Floats
    nugget: float
    variance: float

    @classmethod
    def learn(
        cls,
        similarity: Floats,
        values: Floats,
        families: Sequence[str],
        nuggets: Sequence[float],
    ) -> Process:
        """Return the process under which left-out halves of the families are least surprising."""
        parts = left_out_halves(families)
        found = [_try(similarity, values, nugget, parts) for nugget in nuggets]
        return min(found, key=lambda pair: pair[0])[1]

    @property
    def inverse(self) -> Floats:
        """Inverse of the covariance of the known ones, without its scale."""
        own = self.nugget * np.eye(len(self.values))
        return np.asarray(np.linalg.inv(self.similarity + own), dtype=np.float64)

    def carry(self, across: Floats, among: Floats) -> Carried:
        """Carry over to other operators.

        Parameters
        ----------
        across : array, shape (known, other)
            Similarities of known operators and others.
        among : array, shape (other, other)
            Similarities among the others.

        Returns
        -------
        Carried
        """
        own = self.nugget * np.eye(len(self.values))
        weights = np.linalg.solve(self.similarity + own, across)
        rest = among - across.T @ weights + self.nugget * np.eye(len(among))
        return Carried(weights.T @ self.values, self.variance * rest)

    def leave_out(self, parts: Sequence[Integers]) -> Iterator[LeftOut]:
        """Leave operators out and carry over to them; all comes from the inverse of the whole."""
        inverse = self.inverse
        pulled = inverse @ self.values
        for members in parts:
            block = inverse[np.ix_(members, members)]
            spread = np.asarray(np.linalg.inv(block), dtype=np.float64)
            yield LeftOut(members, spread @ pulled[members], self.variance * spread)


def _try(
    similarity: Floats, values: Floats, nugget: float, parts: Sequence[Integers]
) -> tuple[float, Process]:
    """Return how surprising left-out operators are with a nugget and the variance they call for.

    A part counts with the square root of its size: operators of a family are alike.
    """
    plain = Process(similarity, values, nugget, 1.0)
    squares, volumes, sizes = [], [], []
    for out in plain.leave_out(parts):
        count = len(out.members)
        squares.append(float(out.error @ np.linalg.solve(out.covariance, out.error)) / count)
        volumes.append(float(np.linalg.slogdet(out.covariance)[1]) / count)
        sizes.append(np.sqrt(count))
    weights = np.array(sizes) / np.sum(sizes)
    variance = max(float(weights @ np.array(squares)), float(np.finfo(np.float64).tiny))
    surprise = float(np.log(variance) + weights @ np.array(volumes))
    return surprise, Process(similarity, values, nugget, variance)


Booleans = NDArray[np.bool_]


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

    def interval(self, confidence: float = 0.9) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold a score with the given confidence."""
        from scipy.stats import t

        reach = t.ppf(0.5 + confidence / 2, self.freedom) * self.deviation
        return self.mean - reach, self.mean + reach

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
        :attr:`sclcs.decision.Geometry.share_scale`.
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


DRAWS = 4000


@dataclass(frozen=True, eq=False)
class Outlook:
    """Probabilities and regret, from joint draws of all scores.

    Parameters
    ----------
    best : array, shape (operator,)
        Probability to have the highest score on the whole cohort.
    top : array, shape (operator,)
        Probability to be among the `k` highest.
    chosen : int
        The operator to take now: the best of those whose score is exact.
    regret : float
        Expected loss of taking it: the highest score of all, less its own.
    gain : array, shape (operator,)
        Expected improvement over the chosen one if this operator were computed on everybody.
    members : array of bool, shape (operator,)
        The smallest set that holds the best operator with the asked probability.
    drawn : array, shape (operator, draw)
        The draws themselves.
    ahead : array, shape (operator, draw)
        By how much an operator is ahead of the chosen one in each draw; 0 where it is behind.
    """

    best: Floats
    top: Floats
    chosen: int
    regret: float
    gain: Floats
    members: NDArray[np.bool_]
    drawn: Floats
    ahead: Floats

    def gain_of(self, operators: Sequence[int]) -> float:
        """Return the expected improvement if all these operators were computed on everybody."""
        places = list(operators)
        if not places or not set(places) <= set(range(len(self.ahead))):
            raise InputError(
                f"Expected places of operators from 0 to {len(self.ahead) - 1}, got {places}."
            )
        return float(self.ahead[places].max(axis=0).mean())


@checked
def look_ahead(
    estimate: Estimate, *, k: int = 10, confidence: float = 0.9, seed: int = 0
) -> Outlook:
    """Look at joint draws of an estimate.

    Parameters
    ----------
    estimate : Estimate
        With at least one exact score.
    k : int
        Size of the top.
    confidence : float
        Of the set that holds the best operator.
    seed : int

    Returns
    -------
    Outlook
    """
    if k < 1:
        raise InputError(f"Expected k of at least 1, got {k}.")
    drawn = estimate.draws(DRAWS, seed)
    places = drawn.argmax(axis=0)
    best = np.bincount(places, minlength=len(drawn)) / DRAWS
    k = min(k, len(drawn))
    limits = np.partition(drawn, len(drawn) - k, axis=0)[len(drawn) - k]
    exact = np.where(estimate.exact, estimate.mean, -np.inf)
    chosen = int(exact.argmax())
    ahead = np.maximum(drawn - exact[chosen], 0.0)
    gain = np.where(estimate.exact, 0.0, ahead.mean(axis=1))
    order = np.argsort(-best, kind="stable")
    enough = int(np.searchsorted(np.cumsum(best[order]), confidence)) + 1
    members = np.zeros(len(drawn), dtype=bool)
    members[order[:enough]] = True
    members[chosen] = True
    return Outlook(
        best,
        (drawn >= limits).mean(axis=1),
        chosen,
        float(ahead.max(axis=0).mean()),
        gain,
        members,
        drawn,
        ahead,
    )


def next_operator(outlook: Outlook, seconds: Floats) -> int | None:
    """Return the operator whose computation is expected to gain most per second.

    Parameters
    ----------
    outlook : Outlook
    seconds : array, shape (operator,)
        What computing each operator on everybody costs; infinite if it does not fit any more.

    Returns
    -------
    int or None
        None if nothing promises a gain.
    """
    rate = np.where(np.isfinite(seconds), outlook.gain / np.maximum(seconds, 1e-9), 0.0)
    place = int(rate.argmax())
    return place if rate[place] > 0 else None


@checked
def next_purchase(
    outlooks: Sequence[Outlook],
    scales: Sequence[float],
    bundles: Sequence[Sequence[int]],
    seconds: Sequence[float],
    left: float,
) -> int | None:
    """Return the bundle of operators that promises most per second, all tasks considered.

    Parameters
    ----------
    outlooks : sequence of Outlook
        One per task, over the same operators.
    scales : sequence of float
        What a gain of 1 is worth in each task: best minus median of its scores.
    bundles : sequence of sequence of int
        Operators that could be computed together, by place.
    seconds : sequence of float
        What each bundle costs.
    left : float
        Seconds that may still be spent.

    Returns
    -------
    int or None
        None if nothing that fits promises a gain.
    """
    if len(scales) != len(outlooks) or len(seconds) != len(bundles):
        raise InputError(
            "Expected one scale per outlook and the seconds of every bundle, got "
            f"{len(scales)} of {len(outlooks)} and {len(seconds)} of {len(bundles)}."
        )
    best, place = 0.0, None
    for number, (bundle, cost) in enumerate(zip(bundles, seconds, strict=True)):
        if cost > left:
            continue
        gain = sum(
            look.gain_of(bundle) / scale for look, scale in zip(outlooks, scales, strict=True)
        )
        if gain / max(cost, 1e-9) > best:
            best, place = gain / max(cost, 1e-9), number
    return place
