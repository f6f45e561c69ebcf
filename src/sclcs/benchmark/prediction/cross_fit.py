"""What a predictor is worth on new subjects: chosen and trained on some, tried on the others.

A cross-validated score of all subjects cannot be split into halves afterwards: every half
helped to train the models that predict the other one. Here nothing passes between halves. An
operator is scored inside one half, by cross-validation there; a model of that half (its
centring, its covariates, its penalty, its harmonisation) then predicts the other half.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.prediction.combat import Harmoniser
from sclcs.benchmark.prediction.ridge import Predictor

__all__ = ["Scorer", "cross_fit"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
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
