"""Cross-validated prediction: folds, kernel ridge regression, scores, harmonised features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, generator
from sclcs.spi import raising_kernel
from sclcs.stats.combat import Combat, Harmoniser, fit_combat
from sclcs.stats.share import independent_columns

__all__ = [
    "PENALTIES",
    "Combat",
    "FoldRules",
    "Harmoniser",
    "Predictor",
    "Scorer",
    "area_under_curve",
    "correlation",
    "cross_fit",
    "explained_variance",
    "fit_combat",
    "make_folds",
]


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Vectors have length one, so the scale of a useful penalty does not depend on the cohort.
PENALTIES = 10.0 ** np.linspace(-2, 3, 11)
FEWEST_FOLDS = 2
SMALL = 1e-9  # relative size of what rounding leaves of zero


@dataclass(frozen=True)
class FoldRules:
    """How subjects are divided for cross-validation.

    Parameters
    ----------
    folds : int
        Into how many parts; each is predicted from the others.
    repeats : int
        With how many random divisions.
    leave_out : str, optional
        A column whose groups are the parts (``"site"``: leave one site out); there is one
        division then.
    """

    folds: int = 10
    repeats: int = 10
    leave_out: str | None = None

    def __post_init__(self) -> None:
        if self.folds < FEWEST_FOLDS:
            raise InputError(f"Expected at least {FEWEST_FOLDS} folds, got {self.folds}.")
        if self.repeats < 1:
            raise InputError(f"Expected at least 1 repeat, got {self.repeats}.")


def make_folds(
    subjects: Integers, classes: Integers | None, rules: FoldRules, seed: int = 0
) -> Integers:
    """Deal subjects to folds, the same share of every class in each.

    Parameters
    ----------
    subjects : array of int, shape (case,)
        Cases of one subject are never in different folds.
    classes : array of int, shape (case,), optional
        None for a number.
    rules : FoldRules
        Without `leave_out`.
    seed : int

    Returns
    -------
    array of int, shape (repeat, case)
        The fold of every case.
    """
    first = np.unique(subjects, return_index=True)[1]
    strata = np.zeros(len(first), dtype=np.int64) if classes is None else classes[first]
    n_folds = min(rules.folds, len(first))
    table = np.empty((rules.repeats, len(subjects)), dtype=np.int64)
    for repeat in range(rules.repeats):
        keys = generator(seed, "folds", repeat).random(len(first))
        order = np.lexsort((keys, strata))
        fold = np.empty(len(first), dtype=np.int64)
        fold[order] = np.arange(len(first)) % n_folds  # dealing in turn halves every class alike
        table[repeat] = fold[subjects]
    return table


@dataclass(frozen=True, eq=False)
class Predictor:
    """A target and covariates, ready to be predicted from the kernel of any operator.

    Parameters
    ----------
    target : array, shape (case, column)
        The number, or one column of ones and zeros per class.
    covariates : array, shape (case, column)
        With an intercept; independent columns.
    folds : array of int, shape (repeat, case)
    """

    target: Floats
    covariates: Floats
    folds: Integers

    @cached_property
    def _groups(self) -> list[list[Integers]]:
        return [[np.flatnonzero(row == fold) for fold in np.unique(row)] for row in self.folds]

    @cached_property
    def residual_target(self) -> Floats:
        """The target of left-out cases beyond what covariates of the others predict."""
        found = np.empty((len(self.folds), *self.target.shape))
        for repeat, groups in enumerate(self._groups):
            for left_out in groups:
                kept = np.setdiff1d(np.arange(len(self.target)), left_out)
                found[repeat, left_out] = self._beyond(kept, left_out)
        return found

    def _beyond(self, kept: Integers, left_out: Integers) -> Floats:
        """Return the target of left-out cases beyond what covariates of the kept ones predict."""
        fit = np.linalg.pinv(self.covariates[kept]) @ self.target[kept]
        return np.asarray(self.target[left_out] - self.covariates[left_out] @ fit)

    @property
    def training_sets(self) -> list[Integers]:
        """The training cases of every fold, and all cases."""
        every = np.arange(len(self.target))
        groups = [left_out for groups in self._groups for left_out in groups]
        return [*(np.setdiff1d(every, left_out) for left_out in groups), every]

    def part(self, cases: Integers, repeat: int = 0) -> Predictor:
        """Return the predictor of some cases that knows nothing of the others.

        Parameters
        ----------
        cases : array of int
        repeat : int
            Whose division into folds is taken, as far as it concerns these cases; counted
            round if there are fewer.

        Returns
        -------
        Predictor
            With one division into folds.
        """
        folds = self.folds[repeat % len(self.folds)][cases]
        covariates = independent_columns(self.covariates[cases])
        return Predictor(self.target[cases], covariates, folds[None, :])

    def predict_others(
        self, kernel: Floats, kept: Integers, left_out: Integers
    ) -> tuple[Floats, Floats]:
        """Train a model on some cases and predict others, beyond what covariates predict.

        Parameters
        ----------
        kernel : array, shape (case, case)
        kept : array of int
            The training cases; centring, covariates and penalty come from them.
        left_out : array of int
            The cases that are predicted.

        Returns
        -------
        predictions, target : array, shape (1, left out, column)
        """
        beyond = self._beyond(kept, left_out)
        errors = self.target[left_out] - self._refit(kernel, kept, left_out)
        return (beyond - errors)[None], beyond[None]

    def out_of_fold(self, kernel: Floats) -> Floats:
        """Predict every case from the folds without it, beyond what covariates predict.

        Parameters
        ----------
        kernel : array, shape (case, case)

        Returns
        -------
        array, shape (repeat, case, column)
        """
        makers = [_residual_maker(basis, self.covariates) for basis in _inverses(kernel)]
        errors = [maker @ self.target for maker in makers]
        found = np.empty((len(self.folds), *self.target.shape))
        for repeat, groups in enumerate(self._groups):
            for left_out in groups:
                beyond = self.residual_target[repeat, left_out]
                if self._separable(left_out):
                    error = _best_error(makers, errors, left_out)
                else:  # a site that only left-out cases have: nothing is known of it
                    kept = np.setdiff1d(np.arange(len(self.target)), left_out)
                    error = self.target[left_out] - self._refit(kernel, kept, left_out)
                found[repeat, left_out] = beyond - error
        return found

    def _separable(self, left_out: Integers) -> bool:
        """Say whether the other cases determine what every covariate explains."""
        if not self.covariates.shape[1]:  # numpy 2.0 has no rank of an empty matrix
            return True
        kept = np.ones(len(self.target), dtype=bool)
        kept[left_out] = False
        return bool(np.linalg.matrix_rank(self.covariates[kept]) == self.covariates.shape[1])

    def out_of_fold_each(self, kernel_of: Callable[[Integers], Floats]) -> Floats:
        """Predict as :meth:`out_of_fold`, with a kernel that is made anew for every fold.

        Parameters
        ----------
        kernel_of : callable
            From the training cases of a fold to the kernel of all cases: features that were
            harmonised by what the training cases teach.

        Returns
        -------
        array, shape (repeat, case, column)
        """
        found = np.empty((len(self.folds), *self.target.shape))
        for repeat, groups in enumerate(self._groups):
            for left_out in groups:
                kept = np.setdiff1d(np.arange(len(self.target)), left_out)
                predicted = self._refit(kernel_of(kept), kept, left_out)
                beyond = self.residual_target[repeat, left_out] - self.target[left_out]
                found[repeat, left_out] = predicted + beyond
        return found

    def _refit(self, kernel: Floats, kept: Integers, left_out: Integers) -> Floats:
        """Fit the kept cases and predict the others, with the penalty that is best inside."""
        values, vectors = np.linalg.eigh(kernel[np.ix_(kept, kept)])
        values = np.maximum(values, 0.0)
        covariates, target = self.covariates[kept], self.target[kept]
        turned = vectors.T @ np.hstack([covariates, target])
        best, chosen = np.inf, np.empty(0)
        for penalty in PENALTIES:
            shrunk = 1.0 / (values + penalty)
            both = vectors @ (shrunk[:, None] * turned)
            sides, smooth = both[:, : covariates.shape[1]], both[:, covariates.shape[1] :]
            slopes = np.linalg.pinv(covariates.T @ sides, hermitian=True) @ sides.T
            line = slopes @ target
            error = smooth - sides @ line  # M y
            diagonal = vectors**2 @ shrunk - np.einsum("nq,qn->n", sides, slopes)  # of M
            loss = _squared(error, diagonal)
            if loss < best:
                best = loss
                chosen = kernel[np.ix_(left_out, kept)] @ error + self.covariates[left_out] @ line
        return chosen

    def statistics(self, kernel: Floats, permutations: Integers) -> Floats:
        """Return the test statistic as it is, and with residuals of the target permuted.

        The correlation of prediction and target, beyond the covariates, in the first division
        into folds. One penalty serves all folds; it is chosen anew, by leave-one-out error, for
        every permutation, so that the test is exact.

        Parameters
        ----------
        kernel : array, shape (case, case)
        permutations : array of int, shape (permutation, case)

        Returns
        -------
        array, shape (1 + permutation,)
        """
        hat = self.covariates @ np.linalg.pinv(self.covariates)
        residual = self.target - hat @ self.target
        orders = np.vstack([np.arange(len(kernel))[None, :], permutations])
        targets = residual[orders].transpose(1, 0, 2).reshape(len(kernel), -1)
        targets = targets - hat @ targets
        best = np.full(targets.shape[1] // self.target.shape[1], np.inf)
        found = np.zeros(len(best))
        for inverse in _inverses(kernel):
            maker = _residual_maker(inverse, self.covariates)
            errors = maker @ targets
            alone = _alone(errors, np.diagonal(maker))
            loss = (alone**2).sum(axis=0).reshape(len(best), -1).sum(axis=1)
            better = loss < best
            predicted = targets - _leave_groups_out(maker, errors, self._groups[0])
            score = _correlations(predicted, targets).reshape(len(best), -1).mean(axis=1)
            found = np.where(better, score, found)
            best = np.where(better, loss, best)
        return found


def _inverses(kernel: Floats) -> list[Floats]:
    """Return (K + penalty)^-1 of every penalty, from one eigendecomposition."""
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    return [(vectors / (values + penalty)) @ vectors.T for penalty in PENALTIES]


def _residual_maker(inverse: Floats, covariates: Floats) -> Floats:
    """Return M: what is left of a target after covariates (free) and kernel (penalised)."""
    sides = inverse @ covariates
    return np.asarray(inverse - sides @ np.linalg.solve(covariates.T @ sides, sides.T))


def _best_error(makers: list[Floats], errors: list[Floats], left_out: Integers) -> Floats:
    """Return the error of left-out cases, with the penalty that is best inside the others."""
    from scipy.linalg import solve_triangular

    kept = np.ones(len(makers[0]), dtype=bool)
    kept[left_out] = False
    best, chosen = np.inf, np.empty(0)
    for maker, error in zip(makers, errors, strict=True):
        rows = maker[left_out]
        inside = np.linalg.cholesky(rows[:, left_out])
        both = solve_triangular(
            inside, np.hstack([rows[:, kept], error[left_out]]), lower=True, check_finite=False
        )
        across, whitened = both[:, : -error.shape[1]], both[:, -error.shape[1] :]
        # M of the kept cases alone, as far as leave-one-out errors need it.
        diagonal = np.diagonal(maker)[kept] - (across**2).sum(axis=0)
        loss = _squared(error[kept] - across.T @ whitened, diagonal)
        if loss < best:
            best = loss
            chosen = solve_triangular(inside, whitened, lower=True, trans=1, check_finite=False)
    return chosen


def _leave_groups_out(maker: Floats, errors: Floats, groups: list[Integers]) -> Floats:
    found = np.empty_like(errors)
    for left_out in groups:
        inside = maker[np.ix_(left_out, left_out)]
        # Of a site that only these cases have nothing is known: what it explains is no error.
        found[left_out] = np.linalg.pinv(inside, rcond=SMALL, hermitian=True) @ errors[left_out]
    return found


def _alone(errors: Floats, diagonal: Floats) -> Floats:
    """Return leave-one-out errors; a case that covariates fit exactly (a lone one) has none."""
    known = diagonal > SMALL * float(diagonal.max(initial=0.0))
    return np.where(known[:, None], errors / np.where(known, diagonal, 1.0)[:, None], 0.0)


def _squared(errors: Floats, diagonal: Floats) -> float:
    return float((_alone(errors, diagonal) ** 2).sum())


def _correlations(one: Floats, two: Floats) -> Floats:
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    lengths = np.sqrt((one**2).sum(axis=0) * (two**2).sum(axis=0))
    return np.asarray((one * two).sum(axis=0) / np.where(lengths > 0, lengths, np.inf))


#: From predictions and targets (repeat, case, column) beyond covariates, the classes of cases
#: and draws (draw, case) to scores (draw,).
Scorer = Callable[[Floats, Floats, Integers | None, Floats], Floats]


def cross_fit(
    predictor: Predictor,
    kernel: Floats,
    halves: Floats,
    score: Scorer,
    classes: Integers | None = None,
    *,
    harmonise: tuple[Harmoniser, Floats] | None = None,
) -> Floats:
    """Score an operator inside halves of the cases, and its models on the other halves.

    Parameters
    ----------
    predictor : Predictor
        Of all cases. Its folds, as far as they lie in a half, are the folds of the half.
    kernel : array, shape (case, case)
        Not read if features are harmonised.
    halves : array, shape (2 * split, case)
        Ones and zeros; rows 2i and 2i + 1 are the two halves of split i.
    score : callable
        See :data:`Scorer`.
    classes : array of int, shape (case,), optional
        None for a number.
    harmonise : (Harmoniser, array of shape (case, feature)), optional
        Features that are harmonised anew by what every set of training cases teaches.

    Returns
    -------
    array, shape (2, 2 * split)
        First what cross-validation inside a half says, then how well the model of that half
        predicts the other one. NaN where a half is too small to train on.
    """
    found = np.full((2, len(halves)), np.nan)
    for place, half in enumerate(halves):
        mine, others = np.flatnonzero(half > 0), np.flatnonzero(half == 0)
        part = predictor.part(mine, place // 2)
        if not _can_train(part, mine, others, classes, harmonise):
            continue
        if harmonise is None:
            inside = part.out_of_fold(kernel[np.ix_(mine, mine)])
            outside = predictor.predict_others(kernel, mine, others)
        else:
            inside, outside = _harmonised(predictor, part, harmonise, mine, others)
        for row, (predicted, beyond), cases in (
            (0, (inside, part.residual_target), mine),
            (1, outside, others),
        ):
            chosen = None if classes is None else classes[cases]
            found[row, place] = score(predicted, beyond, chosen, np.ones((1, len(cases))))[0]
    return found


def _can_train(
    part: Predictor,
    mine: Integers,
    others: Integers,
    classes: Integers | None,
    harmonise: tuple[Harmoniser, Floats] | None,
) -> bool:
    """Say whether a half has folds, every class (as the other half), and enough of every site."""
    if len(np.unique(part.folds[0])) < 2 or len(others) < 2:
        return False
    if classes is not None:
        wanted = np.unique(classes)
        known = (np.unique(classes[cases]) for cases in (mine, others))
        if any(len(found) < len(wanted) for found in known):
            return False
    if harmonise is None:
        return True
    return all(harmonise[0].can_learn(mine[training]) for training in part.training_sets)


def _harmonised(
    predictor: Predictor,
    part: Predictor,
    harmonise: tuple[Harmoniser, Floats],
    mine: Integers,
    others: Integers,
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Predict with features that are harmonised by training cases only."""
    harmoniser, features = harmonise

    def inside(training: Integers) -> Floats:
        return harmoniser.kernel(features, mine[training])[np.ix_(mine, mine)]

    whole = harmoniser.kernel(features, mine)
    return part.out_of_fold_each(inside), predictor.predict_others(whole, mine, others)


def area_under_curve(predictions: Floats, classes: Integers, draws: Floats) -> Floats:
    """Return the AUC, averaged over pairs of classes and repeats.

    Parameters
    ----------
    predictions : array, shape (repeat, case, class)
        A case belongs the more to a class, the higher its column.
    classes : array of int, shape (case,)
    draws : array, shape (draw, case)
        1 for the cases of a draw, 0 for the others.

    Returns
    -------
    array, shape (draw,)
        NaN where a class is missing.
    """
    pairs = list(combinations(range(predictions.shape[2]), 2))
    total = np.zeros(len(draws))
    for predicted in predictions:
        for one, other in pairs:
            decision = predicted[:, one] - predicted[:, other]
            members = np.flatnonzero((classes == one) | (classes == other))
            order = members[np.argsort(decision[members], kind="stable")]
            total += _auc_of_draws(decision[order], classes[order] == one, draws[:, order])
    return total / (len(predictions) * len(pairs))


@raising_kernel
def _auc_of_draws(decision: Floats, positive: NDArray[np.bool_], draws: Floats) -> Floats:
    found = np.empty(draws.shape[0])
    for draw in range(draws.shape[0]):
        wins = below = n_positive = 0.0
        place = 0
        while place < len(decision):
            value, alike, unlike = decision[place], 0.0, 0.0
            while place < len(decision) and decision[place] == value:
                if positive[place]:
                    alike += draws[draw, place]
                else:
                    unlike += draws[draw, place]
                place += 1
            wins += alike * (below + 0.5 * unlike)
            below += unlike
            n_positive += alike
        possible = n_positive * below
        found[draw] = wins / possible if possible > 0 else np.nan
    return found


def correlation(predictions: Floats, target: Floats, draws: Floats) -> Floats:
    """Return Pearson's correlation of prediction and target, averaged over repeats.

    Parameters
    ----------
    predictions, target : array, shape (repeat, case)
    draws : array, shape (draw, case)

    Returns
    -------
    array, shape (draw,)
    """
    found = [_scores_correlations(p, t, draws) for p, t in zip(predictions, target, strict=True)]
    return np.asarray(np.mean(found, axis=0))


def _scores_correlations(predicted: Floats, target: Floats, draws: Floats) -> Floats:
    size = draws.sum(axis=1)
    moments = [draws @ values / size for values in (predicted, target)]
    products = draws @ (predicted * target) / size - moments[0] * moments[1]
    spreads = [
        np.maximum(draws @ values**2 / size - mean**2, 0.0)
        for values, mean in zip((predicted, target), moments, strict=True)
    ]
    length = np.sqrt(spreads[0] * spreads[1])
    return np.where(length > 0, products / np.where(length > 0, length, 1.0), 0.0)


def explained_variance(predictions: Floats, target: Floats, draws: Floats) -> Floats:
    """Return R²: 1 - squared error by squared deviation from what covariates predict.

    Parameters
    ----------
    predictions, target : array, shape (repeat, case)
        Of left-out cases, beyond what covariates (or the mean) of the others predict.
    draws : array, shape (draw, case)

    Returns
    -------
    array, shape (draw,)
        Negative if predictions are worse than none.
    """
    errors = ((target - predictions) ** 2) @ draws.T
    spread = (target**2) @ draws.T
    return np.asarray((1.0 - errors / spread).mean(axis=0))
