"""What may be said about operators: is there an effect, which could be the best, what it is worth.

Everything here works on tables of scores (operator, draw) or statistics (operator,
permutation); it knows nothing of matrices. Operators without a score are NaN throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError, checked, generator
from sclcs.cohort import Cohort, CoreSet
from sclcs.stats.concordance import Gain, agreement
from sclcs.stats.criteria import CRITERIA, find_criterion
from sclcs.stats.evaluation import Inquiry, Measure, evaluate
from sclcs.stats.pairs import PairRules
from sclcs.stats.question import make_question
from sclcs.stats.sources import FCSource, as_source
from sclcs.stats.targets import Target

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "EffectTest",
    "Worth",
    "best_set_p",
    "effect_test",
    "joint_draws",
    "new_subjects_worth",
    "score_covariance",
    "score_reliability",
    "split_half_ceiling",
]


Floats = NDArray[np.float64]
TIE = 1e-9  # statistics that differ by less are equal
CLEARLY_WORSE = 1e-12


@dataclass(frozen=True, eq=False)
class EffectTest:
    """Does any operator see the target? From permutations only.

    Parameters
    ----------
    p : array, shape (operator,)
        Chance to see as much by luck in *any* of the operators (family-wise).
    p_single : array, shape (operator,)
        The same for the operator alone, as if no other had been tried.
    """

    p: Floats
    p_single: Floats


def effect_test(statistics: Floats) -> EffectTest:
    """Compare observed statistics with permuted ones.

    Every operator's statistic is standardised by its own permutations first: their spreads
    differ, and without that the widest one would decide (STATISTICS 4; Westfall & Young 1993).

    Parameters
    ----------
    statistics : array, shape (operator, 1 + permutation)
        The observed one first; higher is more.

    Returns
    -------
    EffectTest
    """
    count = statistics.shape[1]
    mean = statistics.mean(axis=1, keepdims=True)
    spread = statistics.std(axis=1, keepdims=True)
    flat = spread[:, 0] <= TIE * np.maximum(np.abs(mean[:, 0]), TIE)  # nothing to permute
    scores = (statistics - mean) / np.where(flat[:, None], 1.0, spread)
    usable = np.isfinite(scores).all(axis=1)
    p, p_single = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    if usable.any():
        kept = scores[usable]
        largest = kept.max(axis=0)
        p[usable] = (largest[None, :] >= kept[:, :1] - TIE).sum(axis=1) / count
        p_single[usable] = (kept >= kept[:, :1] - TIE).sum(axis=1) / count
    return EffectTest(p, p_single)


def best_set_p(point: Floats, drawn: Floats, n_subjects: int) -> Floats:
    """Return for every operator the p of "this is the best one".

    A comparison with the best (Hsu 1984) from draws of subjects: an operator is left out of
    the confidence set if some other one is ahead of it by more than chance allows, all others
    considered at once. Others that are clearly behind do not count against it (Hansen 2005).
    The set of all operators with p above 0.1 holds the best one with 90 % confidence.

    Parameters
    ----------
    point : array, shape (operator,)
        Scores on all subjects; higher is better.
    drawn : array, shape (operator, draw)
        Scores under draws of subjects, the same draws for every operator.
    n_subjects : int
        How many there are.

    Returns
    -------
    array, shape (operator,)
        NaN for operators without a score.
    """
    p = np.full(len(point), np.nan)
    known = np.flatnonzero(np.isfinite(point))
    draws = drawn[known][:, np.isfinite(drawn[known]).all(axis=0)]
    if len(known) and draws.shape[1] >= 2:
        deviations = draws - draws.mean(axis=1, keepdims=True)
        scores = point[known]
        for place, operator in enumerate(known):
            p[operator] = _not_behind(place, scores, deviations, n_subjects)
    return p


def _not_behind(place: int, scores: Floats, deviations: Floats, n_subjects: int) -> float:
    """Return the p of the hypothesis that no other operator is better than this one."""
    differences = deviations - deviations[place]
    spread = differences.std(axis=1, ddof=1)
    scale = max(float(np.abs(scores).max()), TIE)
    rivals = spread > CLEARLY_WORSE * scale
    rivals[place] = False
    ahead = scores - scores[place]
    if (ahead[~rivals] > TIE * scale).any():
        return 0.0  # always ahead by the same amount, whoever is drawn
    if not rivals.any():
        return 1.0
    ratio = ahead[rivals] / spread[rivals]
    observed = max(float(ratio.max()), 0.0)
    noise = differences[rivals] / spread[rivals][:, None]
    limit = -np.sqrt(2 * np.log(np.log(max(n_subjects, 3))))
    centre = np.where(ratio < limit, ratio, 0.0)
    highest = np.maximum((noise + centre[:, None]).max(axis=0), 0.0)
    return float((highest >= observed - TIE).mean())


@dataclass(frozen=True)
class Worth:
    """What the chosen operator is worth on subjects that did not choose it.

    Parameters
    ----------
    new_subjects : float
        Mean score on the halves that did not choose.
    same_subjects : float
        Mean score on the halves that did: what a look at the winner's own score promises.
    low, high : float
        Central 90 % of the splits of `new_subjects`.
    """

    new_subjects: float
    same_subjects: float
    low: float
    high: float


def new_subjects_worth(halves: Floats, on_others: Floats | None = None) -> Worth | None:
    """Choose the best operator on one half of the subjects, score it on the other; repeat.

    Parameters
    ----------
    halves : array, shape (operator, 2 * split)
        Scores on halves; columns 2i and 2i + 1 are the two halves of split i.
    on_others : array, shape (operator, 2 * split), optional
        What an operator that is chosen on a half scores on the other one, where that is not
        simply its score there: if it learns, the half that chooses it also trains it.

    Returns
    -------
    Worth or None
        None if no split has scores.
    """
    if on_others is None:
        on_others = halves[:, np.arange(halves.shape[1]) ^ 1]
    finite = np.isfinite(halves) & np.isfinite(on_others)
    known = finite.any(axis=1)
    whole = finite[known].all(axis=0).reshape(-1, 2).all(axis=1).repeat(2)
    scores, others = halves[known][:, whole], on_others[known][:, whole]
    if not scores.size:
        return None
    chosen = scores.argmax(axis=0)
    places = np.arange(scores.shape[1])
    own, other = scores[chosen, places], others[chosen, places]
    by_split = other.reshape(-1, 2).mean(axis=1)
    low, high = np.percentile(by_split, [5, 95])
    return Worth(float(other.mean()), float(own.mean()), float(low), float(high))


LARGEST_PAIR_PART = 0.5
SMALL = 1e-10


def score_covariance(point: Floats, halves: Floats) -> Floats:
    """Estimate the covariance of the operators' scores over draws of subjects.

    Parameters
    ----------
    point : array, shape (operator,)
        Scores on all subjects, all finite.
    halves : array, shape (operator, 2 * split)
        Scores on halves; columns 2i and 2i + 1 are the two halves of split i.

    Returns
    -------
    array, shape (operator, operator)
        Positive semi-definite.
    """
    one, other = halves[:, ::2], halves[:, 1::2]
    apart = (one - other) / 2
    together = (one + other) / 2 - point[:, None]
    together = together - together.mean(axis=1, keepdims=True)  # a score may grow with the sample
    n_splits = apart.shape[1]
    whole = apart @ apart.T / n_splits
    values, vectors = np.linalg.eigh(whole)
    kept = values > SMALL * max(float(values[-1]), 0.0)
    if not kept.any():
        return np.zeros_like(whole)
    root = vectors[:, kept] * np.sqrt(values[kept])
    whitened = (vectors[:, kept] / np.sqrt(values[kept])).T @ together
    part, directions = np.linalg.eigh(whitened @ whitened.T / max(n_splits - 1, 1))
    left = directions * np.sqrt(1.0 - np.clip(part, 0.0, LARGEST_PAIR_PART))
    factor = root @ left
    return np.asarray(factor @ factor.T)


def joint_draws(point: Floats, halves: Floats, n_draws: int, seed: int = 0) -> Floats:
    """Draw scores as they would come out with other subjects, all operators together.

    Parameters
    ----------
    point : array, shape (operator,)
        NaN for operators without a score.
    halves : array, shape (operator, 2 * split)
        See :func:`score_covariance`. Splits in which a half has no score are left out.
    n_draws : int
    seed : int

    Returns
    -------
    array, shape (operator, n_draws)
        Normal around the scores; NaN for operators without one.
    """
    drawn = np.full((len(point), n_draws), np.nan)
    known = np.isfinite(point)
    usable = _whole_splits(halves[known])
    if not known.any() or usable.sum() < 4:
        return drawn
    covariance = score_covariance(point[known], halves[known][:, usable])
    values, vectors = np.linalg.eigh(covariance)
    normal = generator(seed, "redraws").standard_normal((int(known.sum()), n_draws))
    # The symmetric root: signs and order of eigenvectors, which processors choose, do not matter.
    noise = (vectors * np.sqrt(np.maximum(values, 0.0))) @ (vectors.T @ normal)
    drawn[known] = point[known][:, None] + noise
    return drawn


def _whole_splits(halves: Floats) -> NDArray[np.bool_]:
    """Say which columns belong to splits in which every operator has both scores."""
    if not halves.size:
        return np.zeros(halves.shape[1], dtype=bool)
    return np.isfinite(halves).all(axis=0).reshape(-1, 2).all(axis=1).repeat(2)


@checked
def split_half_ceiling(
    source: Cohort | FCSource | xr.DataArray,
    task: str | Target = "subject",
    spis: str | Sequence[str] | None = None,
    coreset: CoreSet | None = None,
    score: str | None = None,
    *,
    cohort: Cohort | None = None,
    covariates: str | Sequence[str] = (),
    rules: PairRules | None = None,
    splits: int = 50,
    k: Sequence[int] = (5, 10, 20),
    gain: Gain = "minmax",
    seed: int = 0,
    measure: Measure | None = None,
    n_jobs: int = 1,
) -> dict[str, dict[str, float]]:
    """Rank on two random halves of the subjects, many times, and compare the rankings.

    A core-set that agrees with the full ranking better than two halves agree with each
    other reproduces noise as well as signal; differences above this ceiling mean nothing.

    Parameters
    ----------
    source, task, spis, coreset, score, cohort, covariates, n_jobs
        As for :func:`sclcs.stats.rank`.
    rules : PairRules, optional
        Which pairs of samples are compared.
    splits : int
        Number of random splits.
    k, gain
        As for :func:`sclcs.stats.concordance`.
    seed : int
        Seed of the splits.
    measure : Measure, optional
        How matrices are compared.

    Returns
    -------
    dict of str to dict
        For every measure of :func:`sclcs.stats.concordance` its ``mean``, ``low`` and
        ``high`` (central 90 % of the splits).
    """
    chosen = None if score is None else (score,)
    (scores,) = _half_scores(
        source,
        task,
        spis,
        coreset,
        chosen,
        cohort,
        covariates,
        rules,
        splits,
        seed,
        measure,
        n_jobs,
    ).values()
    found = pd.DataFrame(
        [agreement(one, two, k, gain) for one, two in _finite_halves(scores)]
    ).drop(columns="operators")
    summary = {"mean": found.mean(), "low": found.quantile(0.05), "high": found.quantile(0.95)}
    return {
        str(name): {what: float(values[name]) for what, values in summary.items()}
        for name in found.columns
    }


@checked
def score_reliability(
    source: Cohort | FCSource | xr.DataArray,
    task: str | Target = "subject",
    spis: str | Sequence[str] | None = None,
    scores: Sequence[str] | None = None,
    *,
    cohort: Cohort | None = None,
    coreset: CoreSet | None = None,
    covariates: str | Sequence[str] = (),
    rules: PairRules | None = None,
    splits: int = 50,
    k: int = 10,
    seed: int = 0,
    measure: Measure | None = None,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Measure how well each score repeats itself on another half of the subjects.

    Parameters
    ----------
    source, task, spis, coreset, cohort, covariates, n_jobs
        As for :func:`sclcs.stats.rank`.
    scores : sequence of str, optional
        Which scores; by default all that can score the target. They share one kernel per
        operator.
    rules : PairRules, optional
        Which pairs of samples are compared.
    splits : int
        Number of random splits of the subjects.
    k : int
        Cut-off of nDCG.
    seed : int
        Seed of the splits.
    measure : Measure, optional
        How matrices are compared.

    Returns
    -------
    DataFrame
        One row per score: correlation over operators of the scores on two halves
        (``pearson``, ``spearman``, ``kendall``) and ``ndcg@k`` with the gains ``raw`` and
        ``minmax``, averaged over splits.
    """
    names = tuple(CRITERIA) if scores is None else tuple(scores)
    halves = _half_scores(
        source, task, spis, coreset, names, cohort, covariates, rules, splits, seed, measure, n_jobs
    )
    rows = []
    for name, values in halves.items():
        found = [_reliability(one, two, k) for one, two in _finite_halves(values)]
        rows.append({"score": name, **pd.DataFrame(found).mean().to_dict()})
    return pd.DataFrame(rows)


def _half_scores(  # noqa: PLR0917
    source: Cohort | FCSource | xr.DataArray,
    task: str | Target,
    spis: str | Sequence[str] | None,
    coreset: CoreSet | None,
    scores: tuple[str, ...] | None,
    cohort: Cohort | None,
    covariates: str | Sequence[str],
    rules: PairRules | None,
    splits: int,
    seed: int,
    measure: Measure | None,
    n_jobs: int,
) -> dict[str, Floats]:
    """Return the scores (operator, half) of the operators that have one on all samples."""
    if splits < 1:
        raise InputError(f"splits must be at least 1, not {splits}.")
    matrices, operators = as_source(source, cohort, spis=spis, n_jobs=n_jobs, seed=seed)
    question = make_question(
        matrices.samples,
        task,
        coreset,
        covariates=covariates,
        rules=rules,
        n_timepoints=matrices.n_timepoints,
    )
    if question.degenerate:
        raise InputError(f"Halves cannot be compared: {question.degenerate}")
    kind = question.target.kind
    if scores is not None and len(scores) > 1:
        scores = tuple(name for name in scores if kind in find_criterion(name).kinds)
    chosen = tuple(find_criterion(name, question.target) for name in scores or (None,))
    inquiry = Inquiry(question, chosen, question.halves(splits, seed))
    (evaluation,) = evaluate(matrices, operators, [inquiry], measure, n_jobs=n_jobs)
    usable = np.array([status == "ok" for status in evaluation.status])
    if usable.sum() < 2:
        raise InputError(
            f"Agreement of halves needs at least two operators with a score, got {usable.sum()}."
        )
    return {name: values[usable] for name, values in evaluation.drawn.items()}


def _finite_halves(scores: Floats) -> list[tuple[Floats, Floats]]:
    """Return the pairs of halves in which every operator has a score."""
    pairs = [(scores[:, place], scores[:, place + 1]) for place in range(0, scores.shape[1], 2)]
    usable = [pair for pair in pairs if np.isfinite(pair).all()]
    if not usable:
        raise InputError(
            "No half of the subjects has both within and between pairs; there are too few "
            "subjects to measure agreement."
        )
    return usable


def _reliability(one: Floats, two: Floats, k: int) -> dict[str, float]:
    by_gain = {"raw": agreement(one, two, (k,), "raw"), "minmax": agreement(one, two, (k,))}
    varied = np.ptp(one) > 0 and np.ptp(two) > 0
    return {
        "pearson": float(np.corrcoef(one, two)[0, 1]) if varied else float("nan"),
        "spearman": by_gain["raw"]["spearman"],
        "kendall": by_gain["raw"]["kendall"],
        f"ndcg@{k} raw": by_gain["raw"][f"ndcg@{k}"],
        f"ndcg@{k} minmax": by_gain["minmax"][f"ndcg@{k}"],
    }
