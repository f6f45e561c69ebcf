"""The graphical lasso with its penalty chosen by cross-validation.

As scikit-learn's documented procedure: five contiguous folds; a grid of four penalties between
1 % and 100 % of the largest off-diagonal covariance, refined three times around the penalty with
the best mean log-likelihood of the left-out fold; fits along a grid start from the one before and
are cut short after ten iterations. Then one full fit with the best penalty.
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.ordered import factorise, products_of_rows
from sclcs.spi.families.covariance.inverses import stable_inverse
from sclcs.spi.families.covariance.lasso import (
    MOST_ITERATIONS,
    START_SCALE,
    graphical_lasso,
    on_grid,
)

__all__ = ["cross_validated_graphical_lasso"]

N_FOLDS = 5
N_PENALTIES = 4
N_REFINEMENTS = 4
SMALLEST_SHARE = 0.01
_LARGEST_SCORE = 0.1 / float(np.finfo(np.float64).eps)  # above, the fit is degenerate


def cross_validated_graphical_lasso(rows: Array) -> tuple[Array, Array] | None:
    """Fit covariance and precision of one sample.

    Parameters
    ----------
    rows : array, shape (region, time)
        Signals.

    Returns
    -------
    covariance, precision : array, shape (region, region)
        None if the last fit breaks down, or there are fewer time points than folds.
    """
    n_times = rows.shape[1]
    if n_times < N_FOLDS:
        return None
    folds = _folds(rows)
    empirical = _covariance(rows)
    largest = float(np.abs(empirical - np.diag(np.diagonal(empirical))).max())
    if not largest > 0.0:
        return None
    penalties = np.logspace(np.log10(SMALLEST_SHARE * largest), np.log10(largest), N_PENALTIES)[
        ::-1
    ]
    scores: list[tuple[float, float]] = []
    for _ in range(N_REFINEMENTS):
        found = np.mean([_path_scores(*fold, penalties) for fold in folds], axis=0)
        # A refined grid may meet a penalty again, from another start: both scores are kept.
        scores += zip(penalties.tolist(), found.tolist(), strict=True)
        scores.sort(key=itemgetter(0), reverse=True)
        best, lower, upper = _neighbourhood(scores)
        penalties = np.logspace(np.log10(upper), np.log10(lower), N_PENALTIES + 2)[1:-1]
    return _fit(empirical, empirical, best, MOST_ITERATIONS)


def _folds(rows: Array) -> list[tuple[Array, Array]]:
    """Return the covariances with and of each fold of consecutive time points."""
    blocks = np.array_split(np.arange(rows.shape[1]), N_FOLDS)
    return [
        (_covariance(np.delete(rows, block, axis=1)), _covariance(rows[:, block]))
        for block in blocks
    ]


def _covariance(rows: Array) -> Array:
    centred = rows - rows.mean(axis=1, keepdims=True)
    return on_grid(products_of_rows(centred) / rows.shape[1])


def _fit(
    empirical: Array, start: Array, penalty: float, most_iterations: int
) -> tuple[Array, Array] | None:
    shrunk = START_SCALE * start
    np.fill_diagonal(shrunk, np.diagonal(empirical))
    return graphical_lasso(empirical, (start, stable_inverse(shrunk)), penalty, most_iterations)


def _path_scores(train: Array, test: Array, penalties: Array) -> list[float]:
    """Return the log-likelihood of the left-out fold for decreasing penalties."""
    scores = []
    covariance = train
    for penalty in penalties:
        fit = _fit(train, covariance, float(penalty), MOST_ITERATIONS // 10)
        if fit is None:
            scores.append(-np.inf)
        else:
            covariance = fit[0]
            scores.append(_log_likelihood(test, fit[1]))
    return scores


def _log_likelihood(covariance: Array, precision: Array) -> float:
    log_determinant = factorise(precision.copy())
    if log_determinant == -np.inf:
        sign, log_determinant = np.linalg.slogdet(precision)
        if sign <= 0:
            return -np.inf
    value = log_determinant - float((covariance * precision).sum())
    value -= len(covariance) * np.log(2.0 * np.pi)
    return value / 2.0 if np.isfinite(value) else -np.inf


def _neighbourhood(scores: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the best penalty so far and the range in which to look for a better one.

    The scores are given as (penalty, score), by falling penalty.
    """
    penalties, values = [penalty for penalty, _ in scores], np.array([v for _, v in scores])
    values[values >= _LARGEST_SCORE] = np.nan
    usable = np.flatnonzero(np.isfinite(values))
    last_usable = int(usable[-1]) if usable.size else 0
    best = 0
    best_value = -np.inf
    for index, value in enumerate(values):
        if value >= best_value:  # of equal scores the smaller penalty
            best, best_value = index, value
    last = len(penalties) - 1
    if best == 0:
        return penalties[0], penalties[1], penalties[0]
    if best == last_usable and best != last:
        return penalties[best], penalties[best + 1], penalties[best]
    if best == last:
        return penalties[best], SMALLEST_SHARE * penalties[best], penalties[best]
    return penalties[best], penalties[best + 1], penalties[best - 1]
