"""What is noise: how well two halves of the subjects agree with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.consistency import Gain, agreement
from sclcs.benchmark.criteria import CRITERIA, find_criterion
from sclcs.benchmark.evaluate import Inquiry, Measure, evaluate
from sclcs.benchmark.pairs.pair_design import PairRules
from sclcs.benchmark.question import make_question
from sclcs.benchmark.sources import FCSource, as_source
from sclcs.benchmark.targets import Target
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["score_reliability", "split_half_ceiling"]

Floats = NDArray[np.float64]


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
        As for :func:`sclcs.benchmark.rank`.
    rules : PairRules, optional
        Which pairs of samples are compared.
    splits : int
        Number of random splits.
    k, gain
        As for :func:`sclcs.benchmark.consistency`.
    seed : int
        Seed of the splits.
    measure : Measure, optional
        How matrices are compared.

    Returns
    -------
    dict of str to dict
        For every measure of :func:`sclcs.benchmark.consistency` its ``mean``, ``low`` and
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
        As for :func:`sclcs.benchmark.rank`.
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
