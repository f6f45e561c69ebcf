"""Evidence: what candidates are worth on subjects they were not trained on, with paired errors.

Every candidate is a kernel. Kernel ridge regression is cross-validated repeatedly inside the
cohort; covariates, centring and penalty are learned in the training folds. All candidates are
tested on the same folds, so what folds have in common cancels in their differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.stats import FoldRules, Predictor, independent_columns, make_folds

__all__ = ["Evidence", "Measure", "Prediction", "measure_candidates", "score_predictions"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Measure = Literal["auc", "r", "identification"]
RULES = FoldRules(folds=5, repeats=6)


@dataclass(frozen=True, eq=False)
class Prediction:
    """What is to be predicted: a target and covariates of subjects.

    Parameters
    ----------
    target : array, shape (subject, column)
        The number, or one column of ones and zeros per class.
    nuisance : array, shape (subject, column)
        Covariates with an intercept (sites as ones and zeros); independent columns.
    classes : array of int, shape (subject,), optional
        None for a number.
    """

    target: Floats
    nuisance: Floats
    classes: Integers | None

    @classmethod
    def make(cls, target: NDArray[np.generic], covariates: Floats | None = None) -> Prediction:
        """Make a prediction of a target (text or booleans: classes) and covariate columns."""
        count = len(target)
        columns = [np.ones((count, 1))] + ([] if covariates is None else [covariates])
        nuisance = independent_columns(np.hstack(columns))
        if target.dtype.kind in "iuf":
            numbers = target.astype(np.float64)
            spread = float(numbers.std())
            if not spread > 0:
                raise InputError("The target is the same for all subjects; there is nothing in it.")
            return cls(((numbers - numbers.mean()) / spread)[:, None], nuisance, None)
        names, codes = np.unique(target.astype(str), return_inverse=True)
        if len(names) < 2:
            raise InputError(f"Expected at least 2 classes, found only {names[0]!r} in the target.")
        members = (codes[:, None] == np.arange(len(names))).astype(np.float64)
        return cls(members, nuisance, codes.astype(np.int64))

    @property
    def measure(self) -> Measure:
        """What predictions of the target are scored with."""
        return "r" if self.classes is None else "auc"

    @property
    def beyond(self) -> Floats:
        """The target beyond its covariates, shape (subject, column)."""
        fit = np.linalg.lstsq(self.nuisance, self.target, rcond=None)[0]
        return np.asarray(self.target - self.nuisance @ fit)

    def part(self, rows: Integers) -> Prediction:
        """Return the prediction of some subjects, with nothing of the others in it."""
        return Prediction(
            self.target[rows],
            independent_columns(self.nuisance[rows]),
            None if self.classes is None else self.classes[rows],
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of candidates on the same held-out folds.

    Parameters
    ----------
    names : tuple of str
        The candidates.
    scores : array, shape (candidate, fold)
    test_by_train : float
        How many subjects a fold tests, relative to those it is trained on.
    measure : {"auc", "r", "identification"}
    n_subjects : int
    """

    names: tuple[str, ...]
    scores: Floats
    test_by_train: float
    measure: Measure
    n_subjects: int

    def covariance(self, rows: Floats) -> Floats:
        """Return the covariance of the means of rows (quantity, fold).

        Folds share training subjects, so their spread is too small for the error of a mean;
        corrected as Nadeau & Bengio 2003, Mach Learn 52:239.
        """
        count = rows.shape[1]
        spread = np.atleast_2d(np.cov(rows))
        return np.asarray(spread * (1.0 / count + self.test_by_train))

    def score(self, name: str) -> tuple[float, float]:
        """Return a candidate's mean score and its standard error."""
        rows = self.scores[[self.names.index(name)]]
        return float(rows.mean()), float(np.sqrt(self.covariance(rows)[0, 0]))

    def differences(self, names: Sequence[str], reference: str) -> tuple[Floats, Floats]:
        """Return mean gains over the reference and their covariance."""
        rows = np.stack([self.scores[self.names.index(name)] for name in names])
        rows = rows - self.scores[self.names.index(reference)]
        return rows.mean(axis=1), self.covariance(rows)


def score_predictions(predicted: Floats, target: Floats, classes: Integers | None) -> float:
    """Return AUC (mean over pairs of classes) or r of predictions (subject, column)."""
    if classes is None:
        one, two = predicted[:, 0] - predicted[:, 0].mean(), target[:, 0] - target[:, 0].mean()
        length = float(np.linalg.norm(one) * np.linalg.norm(two))
        return float(one @ two) / length if length > 0 else 0.0
    from scipy.stats import rankdata

    found = []
    for first, second in combinations(np.unique(classes), 2):
        members = (classes == first) | (classes == second)
        ranks = rankdata(predicted[members, first] - predicted[members, second])
        positive = classes[members] == first
        n_one, n_two = int(positive.sum()), int((~positive).sum())
        found.append((float(ranks[positive].sum()) - n_one * (n_one + 1) / 2) / (n_one * n_two))
    return float(np.mean(found)) if found else float("nan")


def measure_candidates(
    kernels: Mapping[str, NDArray[np.floating]],
    problem: Prediction,
    *,
    rules: FoldRules = RULES,
    seed: int = 0,
) -> Evidence:
    """Cross-validate kernel ridge regression of every candidate on the same folds.

    Parameters
    ----------
    kernels : mapping of str to array, shape (subject, subject)
        With a trace of about the number of subjects.
    problem : Prediction
    rules : FoldRules
    seed : int
        Of the division into folds.

    Returns
    -------
    Evidence
        Folds in which a class is missing are left out.
    """
    count = len(problem.target)
    folds = make_folds(np.arange(count), problem.classes, rules, seed)
    predictor = Predictor(problem.target, problem.nuisance, folds)
    beyond = predictor.residual_target
    table = np.array(
        [
            _fold_scores(
                predictor.out_of_fold(np.asarray(kernel, dtype=np.float64)), beyond, folds, problem
            )
            for kernel in kernels.values()
        ]
    )
    table = table[:, np.isfinite(table).all(axis=0)]
    if table.shape[1] < 2:
        raise InputError("Too few subjects of every class to measure anything out of sample.")
    n_folds = int(folds.max()) + 1
    return Evidence(tuple(kernels), table, 1.0 / (n_folds - 1), problem.measure, count)


def _fold_scores(
    predicted: Floats, beyond: Floats, folds: Integers, problem: Prediction
) -> list[float]:
    found = []
    for repeat, row in enumerate(folds):
        for fold in np.unique(row):
            cases = np.flatnonzero(row == fold)
            classes = None if problem.classes is None else problem.classes[cases]
            found.append(
                score_predictions(predicted[repeat, cases], beyond[repeat, cases], classes)
            )
    return found
