"""The criteria (scores): one row of facts and one formula each.

The command line, the documentation and the tests read this registry; a new criterion is one
entry, or one call of :func:`register_criterion` in a user's own script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, UnknownNameError, checked, name_first
from sclcs.stats.ordering import i2c2
from sclcs.stats.prediction import (
    Scorer,
    area_under_curve,
    correlation,
    explained_variance,
)
from sclcs.stats.targets import KINDS, Kind, Target

if TYPE_CHECKING:
    from sclcs.stats.evaluation import KernelView
    from sclcs.stats.question import Question

__all__ = ["CRITERIA", "Criterion", "default_criterion", "find_criterion", "register_criterion"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: What a ranking uses if nothing else is asked for.
DEFAULTS: Mapping[Kind, str] = MappingProxyType(
    {"subject": "cohen_d", "classes": "share", "number": "share"}
)


@dataclass(frozen=True)
class Criterion:
    """One way to say how well an operator sees a target. Higher is better.

    Parameters
    ----------
    name : str
        Identifier, as on the command line.
    label : str
        Name for a person.
    formula : str
        Definition in words and symbols; W̄ and B̄ are the mean similarities of within and
        between pairs.
    range : str
        Possible values and what chance gives.
    reference : str
        Where it comes from.
    compute : callable
        From an operator's kernel under a question to one value per draw of subjects.
    kinds : tuple of str
        The kinds of target it can score: subject, classes, number.
    chance : float, optional
        The value that an operator without any information is expected to have.
    warning : str
        When not to use it; empty for sound ones.
    version : int
        Raised whenever its numbers change, so that old results are not mixed with new ones.
    statistics : callable, optional
        Its own test statistic, observed and permuted. By default all criteria share the test
        of the target: of the explained share, or of the similarity inside subjects.
    of_pairs : bool
        Whether it compares samples in pairs. Such a score takes categories out by comparing
        inside them only, and cannot take numbers out.
    predictions : callable, optional
        If it learns: from predictions to scores (:data:`~sclcs.stats.prediction.Scorer`). The
        scores of some subjects then come from models that others trained, so halves of
        the subjects are not independent; what an operator is worth on new subjects is found by
        training on halves (:func:`~sclcs.stats.prediction`).
    """

    name: str
    label: str
    formula: str
    range: str
    reference: str
    compute: Callable[[KernelView], Floats]
    kinds: tuple[Kind, ...] = ("subject", "classes")
    chance: float | None = None
    warning: str = ""
    version: int = 1
    statistics: Callable[[KernelView, Integers], Floats] | None = None
    of_pairs: bool = True
    predictions: Scorer | None = None

    def check(self, question: Question) -> None:
        """Raise if it cannot do what a question asks with folds, covariates or harmonisation."""
        if question.folds.leave_out is not None and self.predictions is None:
            raise InputError(
                f"The score {self.name} predicts nothing that {question.folds.leave_out} could be "
                "left out of; use the score predict, or do not leave it out."
            )
        if not self.of_pairs or question.target.kind == "subject":
            return
        numbers = [name for name in question.covariates if question.kinds[name] == "number"]
        if numbers:
            raise InputError(
                f"The score {self.name} compares pairs and cannot take numbers out "
                f"({name_first(numbers)}); use the score share or predict, or categories only."
            )
        if question.harmonise is not None:
            raise InputError(
                f"The score {self.name} compares pairs of samples, which are not harmonised; use "
                "the score share or predict, or compare inside sites (within=site)."
            )

    def chance_for(self, target: Target) -> float | None:
        """Return the value that an operator without information has, for this target."""
        if self.name == "predict":
            return 0.5 if target.kind == "classes" else 0.0
        return self.chance

    def label_for(self, target: Target) -> str:
        """Return what a table calls it, for this target."""
        if self.name == "predict":
            return f"{self.label} ({'AUC' if target.kind == 'classes' else 'r'})"
        return self.label


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = numerator / denominator
    return np.where(np.isfinite(quotient), quotient, np.nan)


def _share(view: KernelView) -> Floats:
    if view.question.target.kind == "subject":
        return i2c2(view.moments)
    return view.question.model.drawn(view.of_cases, view.case_draws)


def _auc_or_correlation(
    predictions: Floats, target: Floats, classes: Integers | None, draws: Floats
) -> Floats:
    if classes is None:
        return correlation(predictions[..., 0], target[..., 0], draws)
    return area_under_curve(predictions, classes, draws)


def _r2(predictions: Floats, target: Floats, classes: Integers | None, draws: Floats) -> Floats:
    if classes is not None:
        raise InputError("R² is a score of numbers; classes are scored by their AUC.")
    return explained_variance(predictions[..., 0], target[..., 0], draws)


def _of_predictions(score: Scorer) -> Callable[[KernelView], Floats]:
    def compute(view: KernelView) -> Floats:
        question = view.question
        beyond = question.predictor.residual_target
        return score(view.predictions, beyond, question.class_codes, view.case_draws)

    return compute


def _predict_statistics(view: KernelView, permutations: Integers) -> Floats:
    kernel = view.question.model.kernel_within_subjects(view.of_cases)
    return view.question.predictor.statistics(kernel, permutations)


def _difference(view: KernelView) -> Floats:
    return view.moments.mean_within - view.moments.mean_between


def _cohen_d(view: KernelView) -> Floats:
    return _divide(_difference(view), view.moments.pooled_deviation)


def _ratio(view: KernelView) -> Floats:
    return _divide(view.moments.mean_within, view.moments.mean_between)


def _relative_difference(view: KernelView) -> Floats:
    return _divide(_difference(view), np.abs(view.moments.mean_between))


_UNSTABLE = (
    "blows up when the between pairs have a mean similarity near 0; use it only to reproduce "
    "published numbers"
)

_BUILT_IN = (
    Criterion(
        "share",
        "explained share",
        "share of the variance of connectivity that the target explains beyond the covariates; "
        "classes: (d²/4) / (1 + d²/4), d² = (W̄_a + W̄_b - 2 B̄) / mean dispersion, over subjects, "
        "classes weighted alike; numbers: f² / (1 + f²), f² the squared change of the mean pattern "
        "per standard deviation of the number by the variance around it; subject: the same as i2c2",
        "below 1; 0 is chance, negative values mean chance",
        "Anderson 2001, 2017 (PERMANOVA); Shehzad et al. 2014 (MDMR); Gretton et al. 2012 (MMD)",
        _share,
        kinds=KINDS,
        chance=0.0,
        of_pairs=False,
    ),
    Criterion(
        "predict",
        "cross-validated prediction",
        "kernel ridge regression on the kernel of subjects; labels: AUC, averaged over pairs of "
        "classes; numbers: correlation of prediction and target, both beyond the covariates; "
        "penalty, centring and covariates inside the training folds",
        "labels 0 to 1, 0.5 is chance; numbers -1 to 1, 0 is chance",
        "Li et al. 2019; He et al. 2020 (kernel regression in brain-behaviour studies)",
        _of_predictions(_auc_or_correlation),
        kinds=("classes", "number"),
        chance=None,
        statistics=_predict_statistics,
        predictions=_auc_or_correlation,
        version=3,
        of_pairs=False,
    ),
    Criterion(
        "predict_r2",
        "cross-validated R²",
        "as predict: 1 - squared error by squared deviation from what covariates predict",
        "at most 1; 0 is a prediction no better than the covariates, negative is worse",
        "Poldrack et al. 2020 (evidence for prediction)",
        _of_predictions(_r2),
        kinds=("number",),
        chance=0.0,
        statistics=_predict_statistics,
        predictions=_r2,
        version=3,
        of_pairs=False,
    ),
    Criterion(
        "i2c2",
        "intraclass correlation of images",
        "(W̄ - B̄) / (1 - B̄): share of the variance that belongs to the person, subjects weighted "
        "alike",
        "below 1; 0 is chance",
        "Shou et al. 2013 (I2C2)",
        lambda view: i2c2(view.moments),
        kinds=("subject",),
        chance=0.0,
    ),
    Criterion(
        "cohen_d",
        "Cohen's d",
        "(W̄ - B̄) / s, s² = (s_W² + (C - 1) s_B²) / C for C classes that count alike; signed. "
        "Pooled: s² = ((n_W - 1) s_W² + (n_B - 1) s_B²) / (n_W + n_B - 2), n over ordered pairs",
        "any; 0 is chance",
        "Cohen 1988; Liu et al. 2025 (pooled, and its absolute value)",
        _cohen_d,
        chance=0.0,
        version=2,
    ),
    Criterion(
        "difference",
        "difference of mean similarities",
        "W̄ - B̄",
        "-2 to 2; 0 is chance",
        "Amico & Goñi 2018 (differential identifiability)",
        _difference,
        chance=0.0,
        version=2,
    ),
    Criterion(
        "auc",
        "probability of superiority",
        "probability that a within pair is more alike than a between pair, ties counting half",
        "0 to 1; 0.5 is chance",
        "Mann & Whitney 1947 (probability of superiority)",
        lambda view: view.superiority.auc,
        chance=0.5,
        version=2,
    ),
    Criterion(
        "rsa",
        "representational similarity",
        "Spearman correlation over pairs of similarity and being a within pair; without ties "
        "(auc - ½) √(12 p (1 - p)), p the share of within pairs (1/C if classes count alike)",
        "-1 to 1; 0 is chance; same order as auc up to ties",
        "Kriegeskorte et al. 2008 (representational similarity)",
        lambda view: view.superiority.rsa,
        chance=0.0,
        version=2,
    ),
    Criterion(
        "discr",
        "discriminability",
        "mean over ordered within pairs (i, j) of the share of samples k of other classes that "
        "are less similar to i than j is, ties counting half",
        "0 to 1; 0.5 is chance",
        "Bridgeford et al. 2021 (discriminability)",
        lambda view: view.neighbours.discr,
        chance=0.5,
        version=2,
    ),
    Criterion(
        "ident_rate",
        "identification rate",
        "share of samples whose most similar other sample has the same class",
        "0 to 1; saturates at 1",
        "Finn et al. 2015 (identification rate)",
        lambda view: view.neighbours.ident_rate,
        warning="saturates: good operators are all near 1 and cannot be told apart",
        version=2,
    ),
    Criterion(
        "ratio",
        "within/between ratio",
        "W̄ / B̄",
        "any; 1 is chance if B̄ > 0",
        "within/between ratio; the published numbers of SCLCS look like it",
        _ratio,
        chance=1.0,
        warning=_UNSTABLE + "; its sign flips there",
        version=2,
    ),
    Criterion(
        "rel_difference",
        "relative difference",
        "(W̄ - B̄) / |B̄|",
        "any; 0 is chance",
        "same family as ratio, with a sign that keeps its meaning",
        _relative_difference,
        chance=0.0,
        warning=_UNSTABLE,
        version=2,
    ),
)

_CRITERIA = {criterion.name: criterion for criterion in _BUILT_IN}
#: All criteria by name.
CRITERIA: Mapping[str, Criterion] = MappingProxyType(_CRITERIA)


def default_criterion(target: Target) -> Criterion:
    """Return what a ranking for this target uses if nothing else is asked for."""
    return CRITERIA[DEFAULTS[target.kind]]


def find_criterion(name: str | Criterion | None, target: Target | None = None) -> Criterion:
    """Return a criterion by name.

    Parameters
    ----------
    name : str or Criterion, optional
        None for the default of the target.
    target : Target, optional
        What it must be able to score.

    Returns
    -------
    Criterion
    """
    if name is None:
        if target is None:
            raise InputError("Expected a score or a target.")
        return default_criterion(target)
    if isinstance(name, str) and name not in CRITERIA:
        raise UnknownNameError(f"No score is called {name!r}; choose from {', '.join(CRITERIA)}.")
    found = CRITERIA[name] if isinstance(name, str) else name
    if target is not None and target.kind not in found.kinds:
        fitting = [other.name for other in CRITERIA.values() if target.kind in other.kinds]
        raise InputError(
            f"The score {found.name} cannot be used for {target.name}, which is "
            f"{_KIND_WORDS[target.kind]}; choose from {', '.join(fitting)}."
        )
    return found


_KIND_WORDS = {"subject": "fingerprinting", "classes": "a label", "number": "a number"}


@checked
def register_criterion(
    name: str,
    function: Callable[..., float],
    *,
    label: str = "",
    kinds: tuple[Kind, ...] = ("classes", "number"),
    chance: float | None = None,
    reference: str = "",
    version: int = 1,
) -> Criterion:
    """Add a criterion of your own; :func:`sclcs.stats.rank` and :func:`sclcs.run` know it then.

    Parameters
    ----------
    name : str
        Identifier, for ``score=`` and ``--score``.
    function : callable
        ``function(kernel, target) -> float`` or ``function(kernel, target, facts) -> float``: the
        kernel of subjects (subject, subject), with covariates taken out of it; the target of
        each (codes of classes from 0, or numbers with covariates taken out of them); and a
        DataFrame of all that is known of them, one row per subject. Higher is better.
    label : str
        Name for a person.
    kinds : tuple of str
        Which targets it can score: ``"classes"``, ``"number"``.
    chance : float, optional
        Its value for an operator without any information, if you know it: pictures show it.
    reference : str
        Where it comes from.
    version : int
        Raise it when you change the function, so that runs do not go on with old scores.

    Returns
    -------
    Criterion
        It is ranked, redrawn and permuted like the built-in ones; its p comes from permutations
        of the target (of what covariates leave of it, for numbers). Codes of classes stay codes,
        so that beside covariates that go with the classes the test finds less than it could.

    Examples
    --------
    >>> def alignment(kernel, target):
    ...     centred = target - target.mean()
    ...     return float(centred @ kernel @ centred / (centred @ centred))
    >>> register_criterion("alignment", alignment).name
    'alignment'
    """
    if not name.isidentifier() or name in {built_in.name for built_in in _BUILT_IN}:
        raise InputError(
            f"{name!r} cannot name a new criterion: expected a word of letters, digits and "
            "underscores that is not the name of a built-in one."
        )
    if not set(kinds) <= {"classes", "number"}:
        raise InputError(f"A criterion of your own can score classes and numbers, not {kinds}.")
    wants_facts = len(signature(function).parameters) > 2

    def score(view: KernelView, kernel: Floats, target: Floats | Integers, kept: Bools) -> float:
        facts = (view.question.cases.table[kept],) if wants_facts else ()
        return float(function(kernel[np.ix_(kept, kept)], target[kept], *facts))

    def compute(view: KernelView) -> Floats:
        kernel, target = _beyond_covariates(view), _left_of(view, view.question.values)
        return np.array([score(view, kernel, target, draw > 0) for draw in view.case_draws])

    def statistics(view: KernelView, permutations: Integers) -> Floats:
        kernel, target = _beyond_covariates(view), _left_of(view, view.question.values)
        moved = [target, *(_left_of(view, target[order]) for order in permutations)]
        everybody = np.ones(len(kernel), dtype=bool)
        return np.array([score(view, kernel, values, everybody) for values in moved])

    criterion = Criterion(
        name,
        label or name,
        (function.__doc__ or "the user's own").strip().splitlines()[0],
        "the user's own",
        reference or "the user's own",
        compute,
        kinds,
        chance,
        version=version,
        statistics=statistics,
        of_pairs=False,
    )
    _CRITERIA[name] = criterion
    return criterion


def _takes_out(question: Question) -> bool:
    repeated = question.model.subjects is not None
    return bool(question.covariates) or question.within is not None or repeated


def _beyond_covariates(view: KernelView) -> Floats:
    """Return the kernel of cases without what covariates (and subjects, if repeated) explain."""
    if not _takes_out(view.question):
        return view.of_cases
    return view.question.model.residual_kernel(view.of_cases)


def _left_of(view: KernelView, target: Floats | Integers) -> Floats | Integers:
    """Return what covariates (and subjects) leave of a number; codes of classes as they are.

    A target that covariates explain in part has less left to line up with than a permuted one,
    unless both are treated alike.
    """
    if view.question.target.kind != "number" or not _takes_out(view.question):
        return target
    return view.question.model.residual_columns(np.asarray(target, dtype=np.float64)[:, None])[:, 0]
