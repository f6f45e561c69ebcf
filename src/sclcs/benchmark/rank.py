"""Rank operators by how well they see a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sclcs.benchmark.covariates import Covariates, covariate_kinds
from sclcs.benchmark.criteria import Criterion, find_criterion
from sclcs.benchmark.evaluate import Evaluation, Inquiry, Measure, evaluate
from sclcs.benchmark.features import Similarity, Vectorize
from sclcs.benchmark.findings import find
from sclcs.benchmark.memory import within as memory_within
from sclcs.benchmark.pairs.pair_design import PairRules
from sclcs.benchmark.prediction import FoldRules
from sclcs.benchmark.question import Question, make_question
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.sources import FCSource, as_source
from sclcs.benchmark.targets import Target, TreatAs, find_target
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.core.provenance import plain, versions

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Effort", "make_inquiry", "make_ranking", "rank"]

TRAINED_SPLITS = 5  # of the subjects, to train on one half and predict the other


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
    memory: str | float | None = None,
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
    memory : str or number, optional
        How much the process may take, for example ``"4G"``: vectors that do not fit are kept in a
        temporary file. It does not change the result. Too little for the tables of all pairs
        of samples is an error before any work.
    n_jobs : int
        Threads, each with memory of its own. It does not change the result.

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
    effort = Effort(bootstrap, permutations, confidence, seed).on(coreset)
    measure = Measure(vectorize, similarity, max_nonfinite, max_constant)
    fingerprint = source.fingerprint if isinstance(source, Cohort | FCSource) else None
    if isinstance(source, Cohort) and coreset is not None:
        task, covariates = _told_by_all(source.samples, task, covariates, treat_as)
        source = _taken(source, coreset)
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
    with memory_within(memory, len(question.rows), n_jobs):
        inquiry = make_inquiry(question, criterion, effort)
        (evaluation,) = evaluate(matrices, operators, [inquiry], measure, n_jobs=n_jobs)
    return make_ranking(
        evaluation,
        inquiry,
        effort,
        fingerprint or matrices.fingerprint,
        measure=measure,
        coreset=coreset,
    )


@dataclass(frozen=True)
class Effort:
    """How often a score is repeated, and how sure an interval shall be.

    Parameters
    ----------
    bootstrap, permutations : int
    confidence : float
    seed : int
    """

    bootstrap: int
    permutations: int
    confidence: float
    seed: int

    def __post_init__(self) -> None:
        for name, value, what in (
            ("bootstrap", self.bootstrap, "draws"),
            ("permutations", self.permutations, "permutations"),
        ):
            if value < 0:
                raise InputError(f"{name} must be 0 or a number of {what}, not {value}.")
        if not 0 < self.confidence < 1:
            raise InputError(
                f"confidence must lie between 0 and 1, for example 0.95, not {self.confidence}."
            )

    def on(self, coreset: CoreSet | None) -> Effort:
        """Redraws and permutations of samples that were chosen by the target are no test."""
        if coreset is None or not coreset.follows_target:
            return self
        return replace(self, bootstrap=0, permutations=0)


def _taken(cohort: Cohort, coreset: CoreSet) -> Cohort:
    """Return the samples of a core-set, in the order of a store of them."""
    rows = np.sort(coreset.rows(cohort.sample_ids))
    return cohort.take([cohort.sample_ids[row] for row in rows])


def _facts(
    inquiry: Inquiry, measure: Measure, effort: Effort, fingerprint: str | None
) -> dict[str, Any]:
    """Return what the scores depend on, as it is written beside them."""
    (criterion,) = inquiry.criteria
    drawn = {"draws": effort.bootstrap, "confidence": effort.confidence, "of": "subjects"}
    return {
        "question": inquiry.question.facts(),
        "score": criterion.name,
        "score_version": criterion.version,
        "measure": asdict(measure),
        "bootstrap": drawn,
        "permutations": effort.permutations,
        "seed": effort.seed,
        "cohort_fingerprint": fingerprint,
        "versions": versions(),
    }


def make_ranking(
    evaluation: Evaluation,
    inquiry: Inquiry,
    effort: Effort,
    fingerprint: str | None,
    *,
    measure: Measure | None = None,
    coreset: CoreSet | None = None,
) -> Ranking:
    """Put scores, tests and facts together.

    Parameters
    ----------
    evaluation : Evaluation
        The answers to the inquiry.
    inquiry : Inquiry
        From :func:`make_inquiry`, with the same effort.
    effort : Effort
    fingerprint : str, optional
        Of the cohort.
    measure : Measure, optional
        How matrices were compared.
    coreset : CoreSet, optional
        Where scores are of its samples only.

    Returns
    -------
    Ranking
    """
    facts = _facts(inquiry, measure or Measure(), effort, fingerprint)
    (criterion,), question = inquiry.criteria, inquiry.question
    table, findings = find(
        evaluation,
        question,
        criterion,
        n_draws=effort.bootstrap,
        confidence=effort.confidence,
        ranks_only=facts["measure"]["similarity"] == "spearman",
        seed=effort.seed,
    )
    return Ranking(
        table if coreset is None else table.assign(source="core-set"),
        question.target.name,
        criterion.name,
        _coreset_facts(coreset, question),
        facts,
        plain(findings),
    )


def _told_by_all(
    samples: pd.DataFrame,
    task: str | Target,
    covariates: str | Sequence[str] | Covariates,
    treat_as: TreatAs,
) -> tuple[Target, Covariates]:
    """Settle what columns hold before the core-set is taken: a few samples may not tell."""
    given = covariates if isinstance(covariates, Covariates) else Covariates(covariates)
    kinds = covariate_kinds(samples, given.names, given.treat_as or treat_as)
    return find_target(samples, task, treat_as), replace(given, treat_as=kinds)


def make_inquiry(question: Question, criterion: Criterion, effort: Effort) -> Inquiry:
    """Return the inquiry of a ranking, with halves of the subjects and permutations.

    Parameters
    ----------
    question : Question
    criterion : Criterion
    effort : Effort

    Returns
    -------
    Inquiry
    """
    bootstrap, permutations, seed = effort.bootstrap, effort.permutations, effort.seed
    if question.degenerate:
        return Inquiry(question, (criterion,))
    splits = -(-bootstrap // 2)
    trains = splits and criterion.predictions is not None
    return Inquiry(
        question,
        (criterion,),
        question.halves(splits, seed) if splits else None,
        question.permutations(permutations, seed) if permutations else None,
        question.training_halves(min(splits, TRAINED_SPLITS), seed) if trains else None,
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
