"""A question: a target asked of some samples, given covariates. It knows nothing of operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError, checked, name_first
from sclcs.cohort import CoreSet, label_column, site_column
from sclcs.stats.covariates import CovariateForm, covariate_matrix
from sclcs.stats.design import apart as cut_blocks
from sclcs.stats.ordering import window_cells
from sclcs.stats.pairs import PairDesign, PairRules, pair_design
from sclcs.stats.permutations import (
    can_permute,
    half_draws,
    nested,
    permutation_table,
    pool_small_strata,
)
from sclcs.stats.prediction import FoldRules, Harmoniser, Predictor, make_folds
from sclcs.stats.share import ShareModel, independent_columns, make_share_model
from sclcs.stats.targets import (
    Cases,
    Covariates,
    Target,
    TreatAs,
    column_codes,
    covariate_kinds,
    find_target,
    make_cases,
    without_missing,
)

__all__ = ["Question", "make_question"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Question:
    """Who is compared with whom, given what.

    Parameters
    ----------
    target : Target
        What is asked.
    samples : DataFrame
        The facts of all samples of the FC source.
    rows : array of int
        The samples that are asked, in the order of the source.
    weights : array of float
        How often each of them counts.
    covariates : tuple of str
        What is taken out.
    within : str, optional
        Compare inside the groups of this column only.
    exchangeable : str, optional
        The column inside whose groups the target is permuted and subjects are redrawn.
    rules : PairRules
        Which pairs of samples are compared.
    n_timepoints : int, optional
        Length of a window.
    drop_missing : bool
        Leave subjects out whose covariates are unknown.
    folds : FoldRules
        How subjects are divided for prediction.
    seed : int
        Of the division into folds.
    kinds : mapping of str to str
        What the covariates are: ``classes`` or ``number``.
    harmonise : str, optional
        Bring the features of the groups of this column (sites) to one location and scale.
    families : tuple of str
        Columns of relatives, outermost first: they are permuted as wholes, and stay together in
        halves, folds and redraws.
    covariate_form : {"spline", "linear"}
        How numbers are taken out.
    """

    target: Target
    samples: pd.DataFrame
    rows: Integers
    weights: Floats
    covariates: tuple[str, ...] = ()
    within: str | None = None
    exchangeable: str | None = None
    rules: PairRules = field(default_factory=PairRules)
    n_timepoints: int | None = None
    drop_missing: bool = False
    folds: FoldRules = field(default_factory=FoldRules)
    seed: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    harmonise: str | None = None
    families: tuple[str, ...] = ()
    covariate_form: CovariateForm = "spline"

    def places_of(self, rows: Integers) -> Integers:
        """Return where rows of the source stand among the samples of the question."""
        return np.searchsorted(self.rows, rows)

    @cached_property
    def cases(self) -> Cases:
        """The subjects (or subjects under one condition), for labels and numbers."""
        cases = make_cases(self.samples, self.target, self.rows, self.weights)
        columns = [*self.covariates, *(name for name in (self.within, self.harmonise) if name)]
        return without_missing(cases, columns) if self.drop_missing else cases

    @cached_property
    def pair_places(self) -> Integers:
        """Where the samples of the pairs stand among the samples of the question."""
        return self.places_of(self.pairs.rows)

    @cached_property
    def pairs(self) -> PairDesign:
        """The pairs of samples, for labels and fingerprinting."""
        if self.target.kind == "number":
            raise InputError(
                f"{self.target.name} is a number, and numbers make no pairs of equal class; "
                "score it with share or predict."
            )
        rows, weights = self.rows, self.weights
        if self.target.kind == "classes":
            order = np.argsort(self.cases.rows)
            rows, weights = self.cases.rows[order], self.cases.weights[order]
        return pair_design(
            self.samples, self.target, rows, weights,
            rules=self.rules, n_timepoints=self.n_timepoints, within=self.blocks,
        )  # fmt: skip

    @property
    def blocks(self) -> tuple[str, ...]:
        """Columns that two samples must agree in to be a pair: `within`, and every category."""
        categories = [name for name in self.covariates if self.kinds.get(name) != "number"]
        return tuple(dict.fromkeys([*([self.within] if self.within else []), *categories]))

    @cached_property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        if self.target.kind == "subject":
            return self.pairs.n_subjects
        return self.cases.n_subjects

    @property
    def n_samples(self) -> int:
        """Number of samples that have a target."""
        return len(self.used_rows)

    @property
    def used_rows(self) -> Integers:
        """Rows of the source that are compared; samples without a target are not."""
        return self.pairs.rows if self.target.kind == "subject" else self.cases.rows

    @cached_property
    def values(self) -> Floats | Integers:
        """The target of each case: codes of classes, or numbers."""
        column = self.cases.target
        if self.target.kind == "number":
            return column.to_numpy(dtype=np.float64)
        return np.asarray(pd.factorize(column, sort=True)[0], dtype=np.int64)

    @property
    def class_codes(self) -> Integers | None:
        """The class of each case as a number from 0; None if the target is a number."""
        if self.target.kind == "number":
            return None
        return np.asarray(self.values, dtype=np.int64)

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of their codes; none for a number."""
        if self.target.kind != "classes":
            return []
        return [str(name) for name in sorted(self.cases.target.unique())]

    @cached_property
    def covariate_matrix(self) -> Floats:
        """The covariates of each case as numbers, with an intercept."""
        kinds = {name: self.kinds[name] for name in self.covariates}
        if self.within is not None:
            kinds[self.within] = "classes"
        return covariate_matrix(self.cases, kinds, self.covariate_form)

    @cached_property
    def harmoniser(self) -> Harmoniser:
        """Sites, and what is kept of covariates, for ComBat; the target is never among them."""
        if self.harmonise is None:
            raise InputError("The question asks for no harmonisation; give harmonise=.")
        kept = {name: self.kinds[name] for name in self.covariates if name != self.harmonise}
        sites = column_codes(self.cases, self.harmonise)
        names = sorted(self.cases.table[self.harmonise].map(str).unique())
        matrix = covariate_matrix(self.cases, kept, self.covariate_form)
        return Harmoniser(sites, matrix[:, 1:], names)

    @cached_property
    def model(self) -> ShareModel:
        """Target and covariates as a model of the kernel of cases."""
        return make_share_model(
            self.values,
            self.covariate_matrix,
            number=self.target.kind == "number",
            subjects=self.cases.subjects if self.cases.repeated else None,
        )

    @cached_property
    def predictor(self) -> Predictor:
        """Target, covariates and folds, ready for prediction."""
        model, cases, classes = self.model, self.cases, self.class_codes
        columns = self.values[:, None]
        if classes is not None:
            columns = columns == np.arange(len(self.classes))
        if self.folds.leave_out is None:
            folds = make_folds(self.units[cases.subjects], classes, self.folds, self.seed)
        else:
            folds = column_codes(cases, self.folds.leave_out)[None, :]
        if len(np.unique(folds[0])) < 2:
            raise InputError(
                f"Leaving out needs at least two groups, but {self.folds.leave_out} has one value "
                "only; name another column or leave the option out."
            )
        covariates = independent_columns(model.within_subjects(self.covariate_matrix))
        return Predictor(model.within_subjects(columns.astype(np.float64)), covariates, folds)

    @cached_property
    def degenerate(self) -> str:
        """Why the question cannot be answered, and what to do; empty if it can."""
        if self.target.kind == "subject":
            return self.pairs.degenerate
        problem = (
            self._too_few_values() if self.target.kind == "number" else self._too_few_classes()
        )
        if problem:
            return f"task {self.target.name!r}: {problem}"
        return "" if self.rules.exclude_same_subject else self.pairs.degenerate

    def _too_few_values(self) -> str:
        n_subjects, n_values = self.cases.n_subjects, len(np.unique(self.values))
        if n_subjects >= 4 and n_values >= 2:
            return ""
        return (
            f"{n_subjects} subjects with {n_values} different values are too few; take more "
            "samples."
        )

    def _too_few_classes(self) -> str:
        if not len(self.cases):
            return "no sample has a label; choose another column."
        if len(self.classes) < 2:
            return (
                f"all {self.cases.n_subjects} subjects are of one class; take samples of at least "
                "two."
            )
        alone = [self.classes[k] for k in np.flatnonzero(np.bincount(self.values) < 2)]
        if not alone:
            return ""
        return (
            f"there is no pair inside the classes {name_first(alone)}, which have one subject "
            "each; take at least two subjects of every class."
        )

    @cached_property
    def groups(self) -> Integers:
        """The exchangeable group of each case, or of each sample for fingerprinting."""
        if self.target.kind != "subject":
            if self.exchangeable is None:
                return np.zeros(len(self.cases), dtype=np.int64)
            column = self.cases.table[self.exchangeable]
        elif self.exchangeable is None:
            return np.zeros(len(self.pairs), dtype=np.int64)
        else:
            column = self.samples[self.exchangeable].iloc[self.pairs.rows]
        # Subjects of unknown site are a group of their own.
        return np.asarray(pd.factorize(column.map(str), sort=True)[0], dtype=np.int64)

    @cached_property
    def family_codes(self) -> Integers | None:
        """The family of each subject, level by level (level, subject); None without families.

        A subject without a value is a family of its own.
        """
        if not self.families:
            return None
        table = self.samples.iloc[self.used_rows]
        subjects = table["subject"].to_numpy(dtype=str)
        first = np.unique(subjects, return_index=True)[1]
        levels = []
        for name in self.families:
            column = label_column(table, name).map(str, na_action="ignore")
            codes = pd.factorize(column, sort=True)[0]
            seen = pd.DataFrame({"subject": subjects, "code": codes}).drop_duplicates()
            several = seen["subject"][seen["subject"].duplicated()].unique()
            if len(several):
                raise InputError(
                    f"Expected one value of {name} for every subject, but it differs between the "
                    f"samples of {name_first(several)}; correct the column."
                )
            own = codes[first]
            alone = int(codes.max(initial=-1)) + 1 + np.arange(len(first))
            levels.append(np.where(own < 0, alone, own))
        return nested(np.array(levels, dtype=np.int64))

    @cached_property
    def units(self) -> Integers:
        """Who stays together in halves and folds: the family of each subject, or the subject."""
        codes = self.family_codes
        return np.arange(self.n_subjects) if codes is None else codes[0]

    @cached_property
    def strata(self) -> Integers:
        """The stratum of each unit (family or subject), for redrawing: class and site."""
        subjects = self.pairs.subjects if self.target.kind == "subject" else self.cases.subjects
        first = np.unique(self.units[subjects], return_index=True)[1]
        classes = np.zeros(len(first), dtype=np.int64)
        if self.target.kind == "classes" and not self.cases.repeated:
            classes = np.asarray(self.values, dtype=np.int64)[first]
        return pool_small_strata(classes, self.groups[first])

    def halves(self, n_splits: int, seed: int = 0) -> Floats:
        """Return random halves of the subjects, shape (2 * n_splits, subject)."""
        _require_count("n_splits", n_splits)
        return half_draws(self.strata, n_splits, seed)[:, self.units]

    def training_halves(self, n_splits: int, seed: int = 0) -> Floats:
        """Return random halves of the cases, one to train on and one to predict.

        Parameters
        ----------
        n_splits : int
        seed : int

        Returns
        -------
        array, shape (2 * n_splits, case)
            Ones and zeros. Halves of the groups (sites) where groups are left out: who asks
            whether predictions carry over to a new site has new sites in mind.
        """
        _require_count("n_splits", n_splits)
        if self.folds.leave_out is None:
            return self.halves(n_splits, seed)[:, self.cases.subjects]
        groups = column_codes(self.cases, self.folds.leave_out)
        every = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        return half_draws(every, n_splits, seed)[:, groups]

    @cached_property
    def permutable(self) -> bool:
        """Whether permuting inside sites (or subjects) changes anything."""
        if self.target.kind == "subject":
            return True
        return can_permute(self._exchange_blocks, self.values, self._exchange_families)

    @property
    def _exchange_blocks(self) -> Integers:
        return self.cases.subjects if self.cases.repeated else self.groups

    @property
    def _exchange_families(self) -> Integers | None:
        if self.family_codes is None or self.cases.repeated:  # a subject changes by itself
            return None
        return np.asarray(self.family_codes[:, self.cases.subjects])

    def permutations(self, count: int, seed: int = 0, apart: Integers | None = None) -> Integers:
        """Return permutations of the target, shape (count, case); of windows for subjects.

        Parameters
        ----------
        count : int
        seed : int
        apart : array of int, optional
            Cases, whole families of them, that only change places with each other: those that
            some operators are tested on alone.
        """
        _require_count("count", count)
        if self.target.kind == "subject":
            cells = window_cells(self.pairs, self.samples, self.groups)
            return permutation_table(cells, count, seed)
        blocks = self._exchange_blocks
        if apart is not None:
            blocks = cut_blocks(blocks, apart)
        return permutation_table(blocks, count, seed, self._exchange_families)

    def facts(self) -> dict[str, Any]:
        """Return the question as JSON values."""
        return {
            "task": self.target.name,
            "kind": self.target.kind,
            "covariates": list(self.covariates),
            "covariate_kinds": dict(self.kinds),
            "covariate_form": self.covariate_form,
            "families": list(self.families),
            "within": self.within,
            "harmonise": self.harmonise,
            "folds": asdict(self.folds),
            "columns": self._held(),
            "exchangeable": self.exchangeable,
            "exclude_same_subject": self.rules.exclude_same_subject,
            "overlapping": self.rules.overlapping,
            "pooled": self.rules.pooled,
            "samples": self.n_samples,
            "subjects": self.n_subjects,
            "repeated": self.target.kind != "subject" and self.cases.repeated,
            "left_out_subjects": [] if self.target.kind == "subject" else self.cases.left_out,
            "unlabelled_samples": self.n_unlabelled,
        }

    def _held(self) -> dict[str, str]:
        """Say what the target and the covariates were taken for."""
        if self.target.kind == "subject":
            return {}
        columns = {name: self.cases.table[name] for name in self.covariates}
        kinds = {**self.kinds, self.target.name: self.target.kind}
        return {
            name: f"number, {column.min():g} to {column.max():g}"
            if kinds[name] == "number"
            else f"classes, {name_first(sorted(column.dropna().map(str).unique()))}"
            for name, column in {self.target.name: self.cases.target, **columns}.items()
        }

    @property
    def n_unlabelled(self) -> int:
        """Samples that were left out because they have no target."""
        return 0 if self.target.kind == "subject" else self.cases.n_unlabelled


@checked
def make_question(
    samples: pd.DataFrame,
    target: str | Target,
    coreset: CoreSet | None = None,
    *,
    treat_as: TreatAs = None,
    covariates: str | Sequence[str] | Covariates = (),
    within: str | Literal[False] | None = None,
    harmonise: str | None = None,
    families: str | Sequence[str] = (),
    covariate_form: CovariateForm = "spline",
    rules: PairRules | None = None,
    folds: FoldRules | None = None,
    n_timepoints: int | None = None,
    drop_missing: bool = False,
    seed: int = 0,
) -> Question:
    """Prepare a question about the samples of an FC source.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample.
    target : str or Target
        ``"subject"``, or a column.
    coreset : CoreSet, optional
        Ask these samples only, with their weights.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell: ``"number"``, ``"classes"``, or
        ``"age=number"`` for one column.
    covariates : str, sequence of str or Covariates
        Columns whose influence is taken out.
    within : str or False, optional
        Compare inside the groups of this column only (sites): pairs of other groups are not
        compared, the target is permuted inside groups, and differences between groups are
        taken out. By default, if there is a column of sites, the target is permuted and
        subjects are redrawn inside sites, and nothing else is changed; False permutes freely.
    harmonise : str, optional
        Bring the features of the groups of this column to one location and scale first
        (ComBat), learned from training subjects where there are folds.
    families : str or sequence of str
        Columns of relatives, from the outermost (families) to the innermost (twin pairs).
    covariate_form : {"spline", "linear"}
        How covariates that are numbers are taken out.
    rules : PairRules, optional
        Which pairs of samples are compared.
    folds : FoldRules, optional
        How subjects are divided for prediction.
    n_timepoints : int, optional
        Length of a window, to know which windows overlap.
    drop_missing : bool
        Leave subjects out whose covariates are unknown, instead of an error.
    seed : int
        Of the division into folds.

    Returns
    -------
    Question
    """
    found = find_target(samples, target, treat_as)
    given = covariates if isinstance(covariates, Covariates) else Covariates(covariates)
    names = tuple(given.names)
    relatives = tuple(Covariates(families).names)
    for name in (name for name in (within, harmonise, *relatives) if name):
        label_column(samples, name)
    if names and found.kind == "subject":
        raise InputError("Fingerprinting compares persons with themselves; it takes no covariates.")
    _refuse_infinite(samples, (found.name, *names))
    rows, weights = _chosen(samples, coreset)
    question = Question(
        found,
        samples,
        rows,
        weights,
        names,
        within or None,
        _exchangeable(samples, found, within),
        rules or PairRules(),
        n_timepoints,
        drop_missing or given.drop_missing,
        folds or FoldRules(),
        seed,
        covariate_kinds(samples, names, given.treat_as or treat_as),
        harmonise,
        relatives,
        covariate_form,
    )
    _check_question(question)
    return question


def _refuse_infinite(samples: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise if a number that is asked about or taken out is infinite."""
    for name in (name for name in columns if name in samples):
        column = samples[name]
        if column.dtype.kind == "f" and np.isinf(column.to_numpy()).any():
            raise InputError(
                f"Expected finite numbers in the column {name}, but it is infinite for "
                f"{name_first(samples.index[np.isinf(column.to_numpy())])}; correct them, or leave "
                "them empty."
            )


def _check_question(question: Question) -> None:
    """Raise before any long work: missing covariates, what cannot be harmonised."""
    target, harmonise = question.target, question.harmonise
    if harmonise is not None:
        if target.kind == "subject" or target.name == harmonise:
            raise InputError(
                f"Harmonising {harmonise} takes what is asked about {target.name} out as well; "
                "leave it out."
            )
        if question.folds.leave_out == harmonise:
            raise InputError(
                f"A {harmonise} that is left out cannot be harmonised: nothing is known of it "
                "while training. Choose one of leave_out and harmonise."
            )
    if target.kind == "subject" or question.degenerate:
        return
    if question.covariates or question.within or question.cases.repeated:
        _ = question.model  # names missing covariates, and those that explain the target
    if harmonise is not None and question.cases.repeated:
        raise InputError(
            f"{target.name} changes within subjects, who are compared with themselves: sites "
            "cancel out. Leave harmonise out."
        )
    if not question.rules.exclude_same_subject and question.cases.repeated:
        raise InputError(
            f"{target.name} changes within subjects; their samples can be compared with "
            "same_subject=False only."
        )


def _chosen(samples: pd.DataFrame, coreset: CoreSet | None) -> tuple[Integers, Floats]:
    if coreset is None:
        return np.arange(len(samples)), np.ones(len(samples))
    rows = coreset.rows(samples.index)
    weights = np.ones(len(rows)) if coreset.weight is None else np.asarray(coreset.weight)
    order = np.argsort(rows)
    return rows[order], weights[order].astype(np.float64)


def _exchangeable(
    samples: pd.DataFrame, target: Target, within: str | Literal[False] | None
) -> str | None:
    if within is False:
        return None
    if within is not None:
        return within
    return site_column(samples, leave_out=target.name)


def _require_count(name: str, value: int) -> None:
    if value < 0:
        raise InputError(f"Expected {name} of at least 0, got {value}.")
