"""Rank operators by how well they separate the classes of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign, make_design
from sclcs.benchmark.draws import bootstrap_draws
from sclcs.benchmark.evaluate import Evaluation, Measure, Question, evaluate
from sclcs.benchmark.fc_source import FCSource, as_source
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.ranks import descending_ranks, equivalence_groups, share_scores
from sclcs.benchmark.scores import DEFAULT_SCORE, Score, find_score
from sclcs.benchmark.similarity import Similarity, Vectorize
from sclcs.benchmark.tasks import Task, make_task
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.core.provenance import versions

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["rank"]

Floats = NDArray[np.float64]


def rank(
    source: Cohort | FCSource | xr.DataArray,
    task: str | Task = "subject",
    spis: str | Sequence[str] | None = None,
    coreset: CoreSet | None = None,
    score: str | Score = DEFAULT_SCORE,
    *,
    cohort: Cohort | None = None,
    bootstrap: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
    exclude_same_subject: bool = True,
    across_sessions: bool | None = None,
    vectorize: Vectorize = "offdiag",
    similarity: Similarity = "spearman",
    max_nonfinite: float = 0.0,
    max_constant: float = 0.01,
    n_jobs: int = 1,
) -> Ranking:
    """Rank operators by how well they separate the classes of a task.

    Parameters
    ----------
    source : Cohort, FC store or xarray.DataArray
        Where the matrices come from. A cohort is computed on the fly (only the samples of
        the core-set, if there is one); an array from :func:`sclcs.spi.compute` needs
        `cohort` as well.
    task : str or Task
        ``"subject"`` (fingerprinting) or a label column.
    spis : str or sequence of str, optional
        Which operators, see :func:`sclcs.spi.resolve`; by default all of a store or array,
        ``"paper-fast"`` of a cohort.
    coreset : CoreSet, optional
        Rank on these samples only. Operators that are not finite or constant are recognised
        on all samples of the source, so that every core-set ranks the same operators.
    score : str
        See :data:`sclcs.benchmark.scores.SCORES`.
    cohort : Cohort, optional
        The facts of the samples of an array.
    bootstrap : int
        Number of draws of subjects for the intervals; 0 for none.
    confidence : float
        Coverage of the intervals.
    seed : int
        Seed of the draws (and, for a cohort, of operators that draw random numbers).
    exclude_same_subject : bool
        For label tasks: never compare samples of one subject.
    across_sessions : bool, optional
        For fingerprinting: compare a subject's samples only across sessions. By default
        when there are several.
    vectorize : {"offdiag", "upper", "sym_upper"}
        Which entries of the matrices.
    similarity : {"spearman", "pearson"}
        How two matrices are compared.
    max_nonfinite, max_constant : float
        Share of samples that may be not finite, or constant, before an operator is left out.
    n_jobs : int
        Threads. It does not change the result.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sclcs import simulate_cohort
    >>> small = simulate_cohort(6, 2, 5, length=40, seed=1)
    >>> ranking = rank(small, "subject", ["kendalltau", "cov_EmpiricalCovariance"])
    >>> len(ranking)
    2
    """
    _check_numbers(bootstrap, confidence)
    chosen_score = find_score(score)
    chosen_task = make_task(
        task, exclude_same_subject=exclude_same_subject, across_sessions=across_sessions
    )
    measure = Measure(vectorize, similarity, max_nonfinite, max_constant)
    fingerprint = source.fingerprint if isinstance(source, Cohort | FCSource) else None
    if isinstance(source, Cohort) and coreset is not None:
        coreset.rows(source.sample_ids)  # names the samples that are not there
        source = source.take(list(coreset.sample_ids))
    matrices, operators = as_source(source, cohort, spis=spis, n_jobs=n_jobs, seed=seed)
    design = make_design(matrices.samples, chosen_task, coreset)
    drawing = bootstrap > 0 and not design.degenerate
    draws = bootstrap_draws(design, bootstrap, seed) if drawing else None
    question = Question(design, (chosen_score,), draws)
    (evaluation,) = evaluate(matrices, operators, [question], measure, n_jobs=n_jobs)
    facts = {
        "measure": asdict(measure),
        "bootstrap": {"draws": bootstrap, "confidence": confidence, "of": "subjects"},
        "seed": seed,
        "cohort_fingerprint": fingerprint or matrices.fingerprint,
    }
    table = ranking_table(evaluation, chosen_score.name, confidence, similarity == "spearman")
    facts = _design_facts(design, chosen_score) | facts
    return Ranking(
        table, chosen_task.name, chosen_score.name, _coreset_facts(coreset, design), facts
    )


def _check_numbers(bootstrap: int, confidence: float) -> None:
    if bootstrap < 0:
        raise InputError(f"bootstrap must be 0 or a number of draws, not {bootstrap}.")
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence must lie between 0 and 1, for example 0.95, not {confidence}."
        )


def _design_facts(design: PairDesign, score: Score) -> dict[str, Any]:
    return {
        "task": design.task.facts(),
        "score": score.name,
        "samples": len(design),
        "subjects": design.n_subjects,
        "unlabelled_samples": design.n_unlabelled,
        "versions": versions(),
    }


def _coreset_facts(coreset: CoreSet | None, design: PairDesign) -> dict[str, Any] | None:
    if coreset is None:
        return None
    return {
        "method": coreset.method,
        "parameters": dict(coreset.parameters),
        "seed": coreset.seed,
        "samples": len(coreset),
        "subjects": design.n_subjects,
        "weighted": coreset.weight is not None,
    }


def ranking_table(
    evaluation: Evaluation, score: str, confidence: float, ranks_only: bool
) -> pd.DataFrame:
    """Turn the scores of the operators into the table of a ranking.

    Parameters
    ----------
    evaluation : Evaluation
    score : str
        Which of its scores.
    confidence : float
        Coverage of the intervals.
    ranks_only : bool
        Whether similarities are made of ranks, so that equivalent operators tie.

    Returns
    -------
    DataFrame
    """
    groups = equivalence_groups(evaluation.operators)
    if not ranks_only:
        groups = [""] * len(groups)
    point = share_scores(evaluation.point[score], groups)
    drawn = share_scores(evaluation.drawn[score], groups)
    scored = np.isfinite(point)
    blank = np.full(len(point), np.nan)
    columns: dict[str, Any] = {"spi": evaluation.operators, "score": point}
    for name in ("low", "high", "rank", "rank_low", "rank_high"):
        columns[name] = blank.copy()
    if scored.any():
        columns["rank"][scored] = descending_ranks(point[scored])
        if drawn.shape[1]:
            tails = [50 * (1 - confidence), 50 * (1 + confidence)]
            columns["low"][scored], columns["high"][scored] = _interval(drawn[scored], tails)
            ranks = descending_ranks(drawn[scored])
            limits = np.percentile(ranks, tails, axis=1, method="closest_observation")
            columns["rank_low"][scored], columns["rank_high"][scored] = limits
    columns["n_samples"] = evaluation.n_samples
    columns["status"], columns["reason"] = evaluation.status, evaluation.reason
    columns["rank_group"] = groups
    return pd.DataFrame(columns)


def _interval(drawn: Floats, tails: list[float]) -> tuple[Floats, Floats]:
    """Return percentiles over the draws in which the score exists; NaN if there is none."""
    low, high = np.full(len(drawn), np.nan), np.full(len(drawn), np.nan)
    some = np.isfinite(drawn).any(axis=1)
    if some.any():
        low[some], high[some] = np.nanpercentile(drawn[some], tails, axis=1)
    return low, high
