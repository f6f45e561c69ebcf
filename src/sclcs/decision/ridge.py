"""Kernel ridge regression of a blend: exact leave-one-out, covariates, calibrated probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.stats import PENALTIES, CovariateColumns, CovariateForm

__all__ = ["Ridge", "apply_columns", "calibrate", "fit_ridge", "learn_columns", "probabilities"]

Floats = NDArray[np.float64]


def learn_columns(
    covariates: object, count: int, form: CovariateForm = "spline"
) -> tuple[CovariateColumns, Floats]:
    """Learn how covariates become numbers; return that, and the training subjects' numbers.

    Parameters
    ----------
    covariates : DataFrame, Series, array_like or None
        Text and booleans are classes.
    count : int
        How many scans there are.
    form : {"spline", "linear"}
        Of numbers.
    """
    table = _table(covariates, count)
    kinds: dict[str, str] = {}
    for name in table.columns:
        if table[name].isna().any():
            raise InputError(
                f"The covariate {name!r} is unknown for {int(table[name].isna().sum())} "
                "subjects; leave them out or fill it in."
            )
        plain = pd.api.types.is_numeric_dtype(table[name])
        number = plain and not pd.api.types.is_bool_dtype(table[name])
        kinds[name] = "number" if number else "classes"
    return CovariateColumns.fit(table, kinds, form)


def apply_columns(columns: CovariateColumns, covariates: object, count: int) -> Floats:
    """Return the numbers of new subjects; the usual ones if covariates is None."""
    if covariates is None:
        return np.tile(columns.usual, (count, 1))
    table = _table(covariates, count)
    if list(table.columns) != columns.names:
        raise InputError(f"Expected the covariates {columns.names}, found {list(table.columns)}.")
    return columns.apply(table)


def _table(covariates: object, count: int) -> pd.DataFrame:
    if covariates is None:
        return pd.DataFrame(index=range(count))
    if isinstance(covariates, pd.DataFrame):
        table = covariates.reset_index(drop=True)
    elif isinstance(covariates, pd.Series):
        table = covariates.to_frame(str(covariates.name or "covariate")).reset_index(drop=True)
    else:
        columns = np.asarray(covariates)
        columns = columns[:, None] if columns.ndim == 1 else columns
        table = pd.DataFrame(columns, columns=[f"c{k}" for k in range(columns.shape[1])])
    if len(table) != count:
        raise InputError(f"Expected covariates of {count} scans, found {len(table)} rows.")
    return table.set_axis([str(name) for name in table.columns], axis=1)


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted model.

    Parameters
    ----------
    dual : array, shape (scan, column)
        Weights of the training scans.
    penalty : float
    left_out : array, shape (scan, column)
        Predictions of every training scan by a model without it.
    """

    dual: Floats
    penalty: float
    left_out: Floats


def fit_ridge(kernel: Floats, target: Floats, basis: Floats) -> Ridge:
    """Fit kernel ridge regression with free covariates; the penalty by exact leave-one-out.

    Parameters
    ----------
    kernel : array, shape (scan, scan)
        Beyond the covariates.
    target : array, shape (scan, column)
    basis : array, shape (scan, covariate)
        Orthonormal, of the covariates with an intercept.
    """
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    beyond = target - basis @ (basis.T @ target)
    turned, leverage = vectors.T @ beyond, (basis**2).sum(axis=1)
    least, best = np.inf, Ridge(np.zeros_like(target), 0.0, np.zeros_like(target))
    for penalty in PENALTIES:
        dual = vectors @ (turned / (values + penalty)[:, None])
        alone = (vectors**2) @ (1.0 / (values + penalty)) - leverage / penalty
        known = alone > 1e-9 / penalty
        error = np.where(known[:, None], dual / np.where(known, alone, 1.0)[:, None], 0.0)
        loss = float((error**2).sum())
        if loss < least:
            least, best = loss, Ridge(dual, float(penalty), target - error)
    return best


def calibrate(decisions: Floats, classes: NDArray[np.int64]) -> Floats:
    """Return slope and intercepts of classes that make decisions probabilities.

    Multinomial logistic regression (Platt 1999) with one slope for all classes, on predictions
    of models that did not know the subject.
    """
    from scipy.optimize import minimize

    members = (classes[:, None] == np.arange(decisions.shape[1])).astype(np.float64)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        scores = np.exp(parameters[0]) * decisions + parameters[1:]
        scores = scores - scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        wrong = chances - members
        value = -float((members * np.log(chances + 1e-300)).sum()) + 0.005 * float(
            parameters @ parameters
        )
        slope = float((wrong * decisions).sum()) * np.exp(parameters[0])
        return value, np.concatenate([[slope], wrong.sum(axis=0)]) + 0.01 * parameters

    start = np.zeros(1 + decisions.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x, dtype=np.float64)


def probabilities(decisions: Floats, parameters: Floats) -> Floats:
    """Return the probabilities of classes, shape (scan, class)."""
    scores = np.exp(parameters[0]) * decisions + parameters[1:]
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
