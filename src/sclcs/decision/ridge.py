"""Kernel ridge regression of a blend: exact leave-one-out, covariates, calibrated probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core.errors import InputError
from sclcs.stats.prediction import PENALTIES

__all__ = ["Columns", "Ridge", "calibrate", "fit_ridge", "probabilities"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Columns:
    """How covariates become numbers, learned from training subjects.

    Parameters
    ----------
    names : list of str
    levels : list of (list of str or None)
        Of every covariate its classes; None for a number.
    usual : array, shape (column,)
        The mean of every column: for new subjects whose covariates are unknown, and for
        classes (sites) that no training subject has.
    """

    names: list[str]
    levels: list[list[str] | None]
    usual: Floats

    @classmethod
    def fit(cls, covariates: object, count: int) -> tuple[Columns, Floats]:
        """Learn the columns; return them and the training subjects' numbers."""
        table = _table(covariates, count)
        levels: list[list[str] | None] = []
        for name in table.columns:
            number = pd.api.types.is_numeric_dtype(table[name])
            if table[name].isna().any():
                raise InputError(
                    f"The covariate {name!r} is unknown for {int(table[name].isna().sum())} "
                    "subjects; leave them out or fill it in."
                )
            known = None if number else sorted(set(table[name].astype(str)))
            levels.append(known)
        plain = cls([str(name) for name in table.columns], levels, np.empty(0))
        numbers = plain._numbers(table)
        return cls(plain.names, levels, numbers.mean(axis=0)), numbers

    def apply(self, covariates: object, count: int) -> Floats:
        """Return the numbers of new subjects; the usual ones if covariates is None."""
        if covariates is None:
            return np.tile(self.usual, (count, 1))
        table = _table(covariates, count)
        if [str(name) for name in table.columns] != self.names:
            raise InputError(
                f"Expected the covariates {self.names}, found {[str(c) for c in table.columns]}."
            )
        numbers = self._numbers(table)
        return np.where(np.isfinite(numbers), numbers, self.usual)

    def _numbers(self, table: pd.DataFrame) -> Floats:
        parts = [np.ones((len(table), 1))]
        for name, known in zip(table.columns, self.levels, strict=True):
            if known is None:
                parts.append(table[[name]].to_numpy(dtype=np.float64))
                continue
            members = table[name].astype(str).to_numpy()[:, None] == np.array(known)
            unknown = ~members.any(axis=1, keepdims=True)
            parts.append(np.where(unknown, np.nan, members.astype(np.float64)))
        return np.hstack(parts)


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
    return table


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
