"""One posterior of population scores, and the set of operators that could be the best.

A score on these subjects is a noisy measurement of the score on everyone. The noise, with its
correlations between operators, is read off halves of the subjects: what does not repeat is noise.
The prior is a Gaussian process over the geometry of operators whose mean, amplitude and
smoothness are those under which the scores are least surprising. Estimated operators stand
in the same posterior: their own uncertainty is added to their noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, generator
from sclcs.decision.evidence import Prediction
from sclcs.stats import half_draws

__all__ = ["BestSet", "HalfScores", "Population", "best_set", "learn_population", "score_halves"]

Floats = NDArray[np.float64]
#: True differences fall off with the power of a direction's size in the geometry.
POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
#: Of true differences, by the variance of the scores.
AMPLITUDES = np.geomspace(1e-3, 3.0, 20)
DRAWS = 2000
FEWEST_EXACT = 4
SMALL = 1e-6  # the smallest direction of a geometry
#: Factors on the predictive spread that calibration chooses among.
WIDTHS = np.array([0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0])


@dataclass(frozen=True, eq=False)
class HalfScores:
    """Scores of operators on all subjects and on random halves.

    Parameters
    ----------
    operators : tuple of str
    whole : array, shape (operator,)
        The share of the target's variance that goes with connectivity, chance at zero.
    halves : array, shape (operator, 2 * split)
        Columns 2i and 2i + 1 are the two halves of split i.
    geometry : array, shape (operator, operator)
        Similarity of the centred kernels, one on the diagonal.
    """

    operators: tuple[str, ...]
    whole: Floats
    halves: Floats
    geometry: Floats

    @property
    def noise(self) -> Floats:
        """The covariance of the sampling errors of `whole`.

        The halves of a split are disjoint, each with twice the variance of the whole.
        """
        differences = self.halves[:, ::2] - self.halves[:, 1::2]
        count = differences.shape[1]
        found = differences @ differences.T / (4.0 * count)
        return np.asarray(found)

    @cached_property
    def directions(self) -> tuple[Floats, Floats]:
        """Sizes and vectors of the directions of the geometry."""
        return _directions(self.geometry)


def score_halves(
    kernels: Iterable[tuple[str, NDArray[np.floating]]],
    problem: Prediction,
    *,
    splits: int = 100,
    seed: int = 0,
) -> HalfScores:
    """Score every operator on all subjects and on halves, one kernel at a time.

    The score of a set of subjects is the sum over pairs of the product of their targets (beyond
    the covariates, learned in that set) times their similarity: all halves are one product of
    the kernel with a narrow matrix.

    Parameters
    ----------
    kernels : iterable of (str, array of shape (subject, subject))
        Beyond the mean or the covariates, with a trace of the number of subjects.
    problem : Prediction
    splits : int
    seed : int

    Returns
    -------
    HalfScores
    """
    count = len(problem.target)
    strata = np.zeros(count, dtype=np.int64) if problem.classes is None else problem.classes
    draws = np.vstack([np.ones((1, count)), half_draws(strata, splits, seed)])
    targets = np.zeros((count, len(draws), problem.target.shape[1]))
    for place, draw in enumerate(draws):
        rows = np.flatnonzero(draw)
        targets[rows, place] = problem.part(rows).beyond
    flat = targets.reshape(count, -1)
    single = flat.astype(np.float32)
    total = (targets**2).sum(axis=(0, 2))
    first, second = _pairs(count, seed)
    names, table, columns = [], [], []
    for name, kernel in kernels:
        found = (flat * (kernel @ single)).sum(axis=0)
        found -= (flat**2 * np.diagonal(kernel)[:, None]).sum(axis=0)
        table.append(found.reshape(len(draws), -1).sum(axis=1) / total)
        column = np.asarray(kernel[first, second], dtype=np.float64)
        column -= column.mean()
        columns.append(column / max(float(np.linalg.norm(column)), 1e-12))
        names.append(name)
    if len(names) < 2:
        raise InputError(f"A posterior over operators needs at least 2 of them, got {len(names)}.")
    scores, stacked = np.array(table) / count, np.array(columns)
    return HalfScores(tuple(names), scores[:, 0], scores[:, 1:] * 2.0, stacked @ stacked.T)


def _pairs(count: int, seed: int, most: int = 60_000) -> tuple[NDArray[np.int64], ...]:
    """Return random pairs of different subjects; geometry does not need all of them."""
    if count * (count - 1) // 2 <= most:
        first, second = np.triu_indices(count, 1)
        return first.astype(np.int64), second.astype(np.int64)
    random = generator(seed, "geometry pairs")
    first = random.integers(count, size=most)
    second = (first + random.integers(1, count, size=most)) % count
    return first, second


@dataclass(frozen=True, eq=False)
class Population:
    """What is known about the scores of operators on everyone.

    Parameters
    ----------
    operators : tuple of str
    mean : array, shape (operator,)
    covariance : array, shape (operator, operator)
    signal : float
        The variance between operators that repeats, by the variance of a score's error.
    """

    operators: tuple[str, ...]
    mean: Floats
    covariance: Floats
    signal: float

    @property
    def chosen(self) -> int:
        """The operator of least expected regret: that of the highest mean."""
        return int(np.argmax(self.mean))

    @property
    def order(self) -> NDArray[np.intp]:
        """Operators from the highest mean to the lowest."""
        return np.argsort(-self.mean, kind="stable")

    def draws(self, count: int = DRAWS, width: float = 1.0, seed: int = 0) -> Floats:
        """Draw scores together, shape (operator, count)."""
        root = _root(self.covariance)
        normal = generator(seed, "population").standard_normal((len(self.mean), count))
        return np.asarray(self.mean[:, None] + width * (root @ normal))

    def regret(self, drawn: Floats | None = None) -> Floats:
        """Return by how much the best is expected to be better than each operator."""
        drawn = self.draws() if drawn is None else drawn
        return np.asarray((drawn.max(axis=0) - drawn).mean(axis=1))

    def front(self, count: int = 3, unlike: float = 0.98) -> list[str]:
        """Return the few operators to compare out of sample, none nearly twice.

        Parameters
        ----------
        count : int
        unlike : float
            The highest correlation, under the posterior, of two of them.
        """
        deviation = np.sqrt(np.maximum(np.diagonal(self.covariance), 1e-30))
        correlation = self.covariance / np.outer(deviation, deviation)
        kept: list[int] = []
        for place in self.order:
            if all(correlation[place, other] < unlike for other in kept):
                kept.append(int(place))
            if len(kept) == count:
                break
        return [self.operators[place] for place in kept]


def learn_population(
    scores: HalfScores,
    *,
    whole: Floats | None = None,
    noise: Floats | None = None,
    estimated: Floats | None = None,
) -> Population:
    """Learn prior and posterior of population scores.

    Everything happens along the directions of the geometry: how large errors are in each is a
    power law fitted to what halves do not repeat, how large true differences are another one,
    under which the scores are least surprising. A full covariance of errors, estimated from
    overlapping halves, was tried first: it takes operators that are nearly alike for known
    exactly, and its choice was worse than none (population regret .95 instead of .51).

    Parameters
    ----------
    scores : HalfScores
    whole, noise : array, optional
        Other scores to condition on, with their noise (of a half, for replay).
    estimated : array, shape (operator, operator), optional
        Covariance of the errors of scores that were estimated and not computed; zero for
        exact ones, see :class:`sclcs.decision.Estimate`.

    Returns
    -------
    Population
    """
    value = scores.whole if whole is None else whole
    error = scores.noise if noise is None else noise
    if estimated is None:
        sizes, vectors = scores.directions
        law = _least_surprising(value, error, sizes, vectors)
        ones, turned = vectors.sum(axis=0), vectors.T @ value
        gain = law.prior / (law.prior + law.noise)
        mean = vectors @ (law.middle * ones + gain * (turned - law.middle * ones))
        left = (vectors * (gain * law.noise)) @ vectors.T
        signal = float(law.prior.sum() / law.noise.sum())
        return Population(scores.operators, mean, left, signal)
    exact = np.flatnonzero(np.diagonal(estimated) <= 0)
    if len(exact) < FEWEST_EXACT:
        raise InputError(
            f"The posterior needs the exact scores of at least {FEWEST_EXACT} operators, "
            f"got {len(exact)}."
        )
    inner = np.ix_(exact, exact)
    law = _least_surprising(value[exact], error[inner], *_directions(scores.geometry[inner]))
    sizes, vectors = scores.directions
    shape = sizes**law.power
    shape *= law.prior.sum() / len(exact) * len(value) / shape.sum()
    prior = (vectors * shape) @ vectors.T
    noisy = (vectors * _power_law(error, sizes, vectors)) @ vectors.T
    pulled = np.linalg.solve(prior + noisy + estimated, prior).T
    left = prior - pulled @ prior
    mean = law.middle + pulled @ (value - law.middle)
    signal = float(np.trace(prior) / np.trace(noisy + estimated))
    return Population(scores.operators, mean, (left + left.T) / 2, signal)


@dataclass(frozen=True, eq=False)
class _Law:
    """Variances of true scores and of errors along directions of the geometry, and the mean."""

    prior: Floats
    noise: Floats
    middle: float
    power: float


def _directions(geometry: Floats) -> tuple[Floats, Floats]:
    sizes, vectors = np.linalg.eigh(geometry)
    return np.maximum(sizes, SMALL), vectors


def _power_law(error: Floats, sizes: Floats, vectors: Floats) -> Floats:
    """Return the variances of errors along directions, smoothed by a power of their size."""
    found = np.maximum(np.einsum("ka,kl,la->a", vectors, error, vectors, optimize=True), 1e-30)
    logs = np.log(sizes)
    return np.asarray(np.exp(np.polyval(np.polyfit(logs, np.log(found), 1), logs)))


def _least_surprising(value: Floats, error: Floats, sizes: Floats, vectors: Floats) -> _Law:
    """Return the law under which the scores are least surprising (restricted likelihood)."""
    noise = _power_law(error, sizes, vectors)
    turned, ones = vectors.T @ value, vectors.sum(axis=0)
    spread = max(float(np.var(value)) * len(value), 1e-30)
    best, kept = np.inf, _Law(noise, noise, 0.0, 1.0)
    for power in POWERS:
        shape = sizes**power / (sizes**power).sum()
        for amplitude in AMPLITUDES * spread:
            total = amplitude * shape + noise
            slope = float((ones**2 / total).sum())
            middle = float((ones * turned / total).sum()) / slope
            rest = turned - middle * ones
            surprise = float((rest**2 / total).sum() + np.log(total).sum() + np.log(slope))
            if surprise < best:
                best, kept = surprise, _Law(amplitude * shape, noise, middle, power)
    return kept


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True, eq=False)
class BestSet:
    """Operators that could be the best for everyone, and how well such sets held in replay.

    Parameters
    ----------
    operators : tuple of str
        The most probable first.
    level : float
        How often the set is to hold the best.
    width : float
        The factor on the posterior's spread at which sets held in replay.
    coverage : float
        How often sets made on one half held the best of the other half, at that width. Those
        sets allow for the noise of the other half, too.
    replay_size : float
        Their mean size.
    """

    operators: tuple[str, ...]
    level: float
    width: float
    coverage: float
    replay_size: float


def best_set(
    scores: HalfScores, population: Population, *, level: float = 0.9, replays: int = 40
) -> BestSet:
    """Return the set of the best, its width calibrated by replay inside the cohort.

    Scores of one half, and the posterior that they make, predict which operator has the highest
    score on the other half, whose noise is part of the prediction. The width of the posterior is
    that at which this prediction holds as often as promised; then it speaks of everyone.

    Parameters
    ----------
    scores : HalfScores
    population : Population
        Learned from the scores of all subjects.
    level : float
    replays : int
        How many halves are replayed.
    """
    noise = 2.0 * scores.noise
    root = _root(noise)
    held = np.zeros((len(WIDTHS), 0))
    sizes = np.zeros((len(WIDTHS), 0))
    for place in range(min(replays, scores.halves.shape[1])):
        other = int(np.argmax(scores.halves[:, place ^ 1]))
        mine = learn_population(scores, whole=scores.halves[:, place], noise=noise)
        random = generator(place, "replay of the set")
        normal = random.standard_normal((2, len(noise), DRAWS // 4))
        inner, outer = _root(mine.covariance) @ normal[0], root @ normal[1]
        one = [_smallest(mine.mean[:, None] + width * (inner + outer), level) for width in WIDTHS]
        held = np.column_stack([held, [float(other in members) for members in one]])
        sizes = np.column_stack([sizes, [float(len(members)) for members in one]])
    coverage = held.mean(axis=1)
    enough = np.flatnonzero(coverage >= level)
    at = int(enough[0]) if len(enough) else len(WIDTHS) - 1
    members = _smallest(population.draws(width=float(WIDTHS[at])), level)
    return BestSet(
        tuple(population.operators[k] for k in members),
        level,
        float(WIDTHS[at]),
        float(coverage[at]),
        float(sizes[at].mean()),
    )


def _smallest(drawn: Floats, level: float) -> list[int]:
    """Return the fewest operators that hold the best of the draws with some probability."""
    wins = np.bincount(drawn.argmax(axis=0), minlength=len(drawn)) / drawn.shape[1]
    order = np.argsort(-wins, kind="stable")
    count = int(np.searchsorted(np.cumsum(wins[order]), level - 1e-12)) + 1
    return [int(k) for k in order[:count]]
