"""Rank operators by how well they see a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sclcs.benchmark.covariates import Covariates
from sclcs.benchmark.criteria import Criterion, find_criterion
from sclcs.benchmark.evaluate import Inquiry, Measure, evaluate
from sclcs.benchmark.features import Similarity, Vectorize
from sclcs.benchmark.findings import find
from sclcs.benchmark.pairs.pair_design import PairRules
from sclcs.benchmark.prediction import FoldRules
from sclcs.benchmark.question import Question, make_question
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.sources import FCSource, as_source
from sclcs.benchmark.targets import Target, TreatAs
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.core.provenance import plain, versions

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["rank"]


@checked
def rank(
    source: Cohort | FCSource | xr.DataArray,
    task: str | Target = "subject",
    spis: str | Sequence[str] | None = None,
    coreset: CoreSet | None = None,
    score: str | Criterion | None = None,
    *,
    cohort: Cohort | None = None,
    covariates: str | Sequence[str] | Covariates = (),
    within: str | Literal[False] | None = None,
    harmonise: str | None = None,
    treat_as: TreatAs = None,
    drop_missing: bool = False,
    folds: int = 10,
    repeats: int = 10,
    leave_out: str | None = None,
    permutations: int = 1000,
    bootstrap: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    pooled: bool = False,
    overlapping: bool = False,
    exclude_same_subject: bool = True,
    across_sessions: bool | None = None,
    vectorize: Vectorize = "offdiag",
    similarity: Similarity = "spearman",
    max_nonfinite: float = 0.0,
    max_constant: float = 0.01,
    n_jobs: int = 1,
) -> Ranking:
    """Rank operators by how well they see a target.

    Parameters
    ----------
    source : Cohort, FC store or xarray.DataArray
        Where the matrices come from. A cohort is computed on the fly (only the samples of
        the core-set, if there is one); an array from :func:`sclcs.spi.compute` needs
        `cohort` as well.
    task : str or Target
        ``"subject"`` (fingerprinting), a label column, or a column of numbers.
    spis : str or sequence of str, optional
        Which operators, see :func:`sclcs.spi.resolve`; by default all of a store or array,
        ``"paper-fast"`` of a cohort.
    coreset : CoreSet, optional
        Rank on these samples only. Where it was chosen by labels and connectivity together
        (guided, a classifier) scores say nothing but the order: there are no intervals and no p.
        Operators that are not finite or constant are recognised
        on all samples of the source, so that every core-set ranks the same operators.
    score : str, optional
        See :data:`sclcs.benchmark.CRITERIA`; by default ``"share"`` for labels and numbers,
        ``"cohen_d"`` for fingerprinting.
    cohort : Cohort, optional
        The facts of the samples of an array.
    covariates : str, sequence of str or Covariates
        Columns whose influence is taken out, for example ``["site", "mean_fd", "age", "sex"]``.
        Scores of pairs (such as ``cohen_d``) compare inside categories only.
    within : str or False, optional
        Compare inside the groups of this column only. By default, if there is a column
        ``site``, the target is permuted and subjects are redrawn inside sites, and nothing
        else is changed; False permutes freely.
    harmonise : str, optional
        Bring the features of the groups of this column (sites) to one location and scale first,
        by ComBat that keeps the covariates and never sees the target; it learns from the
        training subjects of every fold.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell: ``"number"``, ``"classes"``, or
        ``"age=number"`` for one of several columns.
    drop_missing : bool
        Leave subjects out whose covariates are unknown, instead of an error.
    folds, repeats : int
        For ``score="predict"``: into how many parts subjects are divided, how many times.
    leave_out : str, optional
        For ``score="predict"``: the groups of this column are the folds (``"site"``).
    permutations : int
        Of the target, for p; 0 for none.
    bootstrap : int
        Redraws of the subjects (halves, see :mod:`sclcs.benchmark.redraws`), for intervals and
        for the set of operators that could be the best; 0 for none.
    confidence : float
        Coverage of the intervals.
    seed : int
        Seed of redraws and permutations (and, for a cohort, of operators that draw random
        numbers).
    pooled : bool
        Let every pair count alike instead of every class, as the paper does; no effect on
        scores of subjects such as share.
    overlapping : bool
        Compare windows that share time points, as the paper does.
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
    >>> small = simulate_cohort(8, 2, 5, length=40, stride=40, seed=1)
    >>> ranking = rank(small, "subject", ["kendalltau", "pearson"], permutations=50, bootstrap=50)
    >>> len(ranking)
    2
    """
    _check_numbers(bootstrap, permutations, confidence)
    measure = Measure(vectorize, similarity, max_nonfinite, max_constant)
    fingerprint = source.fingerprint if isinstance(source, Cohort | FCSource) else None
    if isinstance(source, Cohort) and coreset is not None:
        rows = np.sort(coreset.rows(source.sample_ids))  # in the order of a store of them
        source = source.take([source.sample_ids[row] for row in rows])
    matrices, operators = as_source(source, cohort, spis=spis, n_jobs=n_jobs, seed=seed)
    question = make_question(
        matrices.samples,
        task,
        coreset,
        treat_as=treat_as,
        covariates=covariates,
        within=within,
        harmonise=harmonise,
        rules=PairRules(exclude_same_subject, across_sessions, overlapping, pooled),
        folds=FoldRules(folds, repeats, leave_out),
        n_timepoints=matrices.n_timepoints,
        drop_missing=drop_missing,
        seed=seed,
    )
    criterion = find_criterion(score, question.target)
    criterion.check(question)
    follows = coreset is not None and coreset.follows_target
    if follows:  # redraws and permutations of samples that were chosen by the target are no test
        bootstrap = permutations = 0
    (evaluation,) = evaluate(
        matrices,
        operators,
        [make_inquiry(question, criterion, bootstrap, permutations, seed)],
        measure,
        n_jobs=n_jobs,
    )
    table, findings = find(
        evaluation,
        question,
        criterion,
        n_draws=bootstrap,
        confidence=confidence,
        ranks_only=similarity == "spearman",
        seed=seed,
    )
    if coreset is not None:
        table["source"] = "core-set"
    facts = {
        "question": question.facts(),
        "score": criterion.name,
        "score_version": criterion.version,
        "measure": asdict(measure),
        "bootstrap": {"draws": bootstrap, "confidence": confidence, "of": "subjects"},
        "permutations": permutations,
        "seed": seed,
        "cohort_fingerprint": fingerprint or matrices.fingerprint,
        "versions": versions(),
    }
    return Ranking(
        table if coreset is None else table.assign(source="core-set"),
        question.target.name,
        criterion.name,
        _coreset_facts(coreset, question),
        facts,
        plain(findings),
    )


def make_inquiry(
    question: Question, criterion: Criterion, bootstrap: int, permutations: int, seed: int
) -> Inquiry:
    """Return the inquiry of a ranking, with halves of the subjects and permutations."""
    if question.degenerate:
        return Inquiry(question, (criterion,))
    return Inquiry(
        question,
        (criterion,),
        question.halves(-(-bootstrap // 2), seed) if bootstrap else None,
        question.permutations(permutations, seed) if permutations else None,
    )


def _check_numbers(bootstrap: int, permutations: int, confidence: float) -> None:
    for name, value, what in (
        ("bootstrap", bootstrap, "draws"),
        ("permutations", permutations, "permutations"),
    ):
        if value < 0:
            raise InputError(f"{name} must be 0 or a number of {what}, not {value}.")
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence must lie between 0 and 1, for example 0.95, not {confidence}."
        )


def _coreset_facts(coreset: CoreSet | None, question: Question) -> dict[str, Any] | None:
    if coreset is None:
        return None
    return {
        "method": coreset.method,
        "parameters": dict(coreset.parameters),
        "seed": coreset.seed,
        "samples": len(coreset),
        "subjects": question.n_subjects,
        "weighted": coreset.weight is not None,
        "guided": coreset.follows_target,
    }
