"""How good predictions are: AUC, correlation and R², for every draw of cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.jit import raising_kernel

__all__ = ["area_under_curve", "correlation", "explained_variance"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
    found = [_correlations(p, t, draws) for p, t in zip(predictions, target, strict=True)]
    return np.asarray(np.mean(found, axis=0))


def _correlations(predicted: Floats, target: Floats, draws: Floats) -> Floats:
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
