"""Rank operators by how well they see a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sclcs._core import InputError, checked, get_logger, plain, takes, versions
from sclcs.cohort import (
    Cohort,
    CoreSet,
    cautions,
    check_design,
    labelled_since,
    samples_for,
)
from sclcs.settings import QuestionSettings, RankSettings
from sclcs.stats.criteria import Criterion, find_criterion
from sclcs.stats.evaluation import Evaluation, Inquiry, Measure, evaluate
from sclcs.stats.findings import find
from sclcs.stats.memory import within as memory_within
from sclcs.stats.pairs import PairRules
from sclcs.stats.prediction import FoldRules
from sclcs.stats.question import Question, make_question
from sclcs.stats.ranking_table import Ranking
from sclcs.stats.sources import FCSource, as_source
from sclcs.stats.targets import Covariates, Target, TreatAs, covariate_kinds, find_target

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = [
    "Effort",
    "folds_of",
    "make_inquiry",
    "make_ranking",
    "measure_of",
    "rank",
    "rules_of",
]

_log = get_logger(__name__)

TRAINED_SPLITS = 5  # of the subjects, to train on one half and predict the other


@checked
@takes(RankSettings)
def rank(
    source: Cohort | FCSource | xr.DataArray,
    task: str | Target = "subject",
    spis: str | Sequence[str] | None = None,
    coreset: CoreSet | None = None,
    score: str | Criterion | None = None,
    *,
    cohort: Cohort | None = None,
    covariates: str | Sequence[str] | Covariates = (),
    **options: Any,  # noqa: ANN401 - fields of RankSettings
) -> Ranking:
    """Rank operators by how well they see a target.

    Parameters
    ----------
    source : Cohort, FC store or xarray.DataArray
        Where the matrices come from. A cohort is computed on the fly (only the samples of
        the core-set, if there is one; halves of scans where ``"subject"`` is asked and no
        subject has two samples); an array from :func:`sclcs.spi.compute` needs
        `cohort` as well.
    coreset : CoreSet, optional
        Rank on these samples only. Where it was chosen by labels and connectivity together
        (by a classifier) scores say nothing but the order: there are no intervals and no p.
        Operators that are not finite or constant are recognised
        on all samples of the source, so that every core-set ranks the same operators.
    cohort : Cohort, optional
        The samples' metadata, for an array.
    {options}

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
    asked = RankSettings(**options)
    seed, n_jobs = asked.seed, asked.n_jobs
    effort, measure = Effort.of(asked).on(coreset), measure_of(asked)
    if isinstance(source, Cohort) and coreset is None:
        source = samples_for(source, task.name if isinstance(task, Target) else task)
    _refuse_strangers(source, coreset)
    fingerprint = source.fingerprint if hasattr(type(source), "fingerprint") else None
    if isinstance(source, Cohort) and coreset is not None:
        task, covariates = _told_by_all(source.samples, task, covariates, asked.treat_as)
        source = _taken(source, coreset)
    matrices, operators = as_source(source, cohort, spis=spis, n_jobs=n_jobs, seed=seed)
    question = make_question(
        matrices.samples,
        task,
        coreset,
        treat_as=asked.treat_as,
        covariates=covariates,
        within=asked.within,
        harmonise=asked.harmonise,
        families=asked.families,
        covariate_form=asked.covariate_form,
        rules=rules_of(asked),
        folds=folds_of(asked),
        n_timepoints=matrices.n_timepoints,
        drop_missing=asked.drop_missing,
        seed=seed,
    )
    criterion = find_criterion(score, question.target)
    criterion.check(question)
    for text in _confounded(question):
        _log.warning("%s", text)
    with memory_within(asked.memory, len(question.rows), n_jobs):
        inquiry = make_inquiry(question, criterion, effort)
        (evaluation,) = evaluate(matrices, operators, [inquiry], measure, n_jobs=n_jobs)
    return make_ranking(
        evaluation,
        inquiry,
        effort,
        fingerprint or matrices.fingerprint,
        measure=measure,
        coreset=coreset,
        home=_home(source),
    )


def _confounded(question: Question) -> list[str]:
    """Say what the target goes with that is not taken out."""
    name = question.target.name
    if question.target.kind == "subject":
        return []
    found = [problem.to_dict() for problem in check_design(question.samples, [name])]
    others = [column for column in (question.within, question.harmonise) if column]
    ties = [one for one in found if one["kind"].startswith(("goes-with", "same-as"))]
    return cautions(ties, name, {*question.covariates, *others})


def _home(source: object) -> str | None:
    """Return where the cohort is that a source was made from, if it is known."""
    path = getattr(source, "path", None) if isinstance(source, Cohort) else None
    path = path or getattr(source, "cohort_path", None)
    return None if path is None else str(path.absolute())


def _refuse_strangers(source: object, coreset: CoreSet | None) -> None:
    """Raise if a core-set is of another cohort, or if a store has labels that were replaced."""
    fingerprint = getattr(source, "fingerprint", None)
    if fingerprint is None:
        return
    provenance = getattr(source, "provenance", {})
    if not isinstance(source, Cohort):
        provenance = provenance.get("cohort", {})
        stale = labelled_since(_home(source), fingerprint)
        if stale:
            raise InputError(
                f"{stale} The same `sclcs compute` again gives the store the new ones; nothing is "
                "computed twice."
            )
    if coreset is not None:
        coreset.require_cohort(fingerprint, provenance)


def measure_of(asked: QuestionSettings) -> Measure:
    """Return how options compare matrices."""
    return Measure(asked.vectorize, asked.similarity, asked.max_nonfinite, asked.max_constant)


def rules_of(asked: QuestionSettings) -> PairRules:
    """Return which pairs options compare."""
    return PairRules(not asked.same_subject, asked.across_sessions, asked.overlapping, asked.pooled)


def folds_of(asked: QuestionSettings) -> FoldRules:
    """Return how options divide subjects for prediction."""
    return FoldRules(asked.folds, asked.repeats, asked.leave_out)


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

    @classmethod
    def of(cls, asked: QuestionSettings) -> Effort:
        """Return the effort that options ask for."""
        return cls(asked.bootstrap, asked.permutations, asked.confidence, asked.seed)

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
    home: str | None = None,
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
    home : str, optional
        Where the cohort is.

    Returns
    -------
    Ranking
    """
    facts = _facts(inquiry, measure or Measure(), effort, fingerprint) | {"cohort": home}
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
        "follows_target": coreset.follows_target,
    }
