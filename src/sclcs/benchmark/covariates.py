"""Covariates: what is taken out of an effect before it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.cases import Cases
from sclcs.cohort.table import label_column
from sclcs.core.errors import InputError, name_first

__all__ = ["Covariates", "column_codes", "make_covariates", "without_missing"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Covariates:
    """The columns that are taken out, as numbers.

    Parameters
    ----------
    names : tuple of str
        As the user named them.
    matrix : array, shape (case, column)
        An intercept, standardised numbers, and a contrast for every further category.
    """

    names: tuple[str, ...]
    matrix: Floats


def make_covariates(cases: Cases, names: Sequence[str]) -> Covariates:
    """Turn columns of the cases into numbers.

    Parameters
    ----------
    cases : Cases
    names : sequence of str
        Columns; a missing value is an error that names the subjects.

    Returns
    -------
    Covariates

    Examples
    --------
    ``make_covariates(cases, ["site", "mean_fd", "age", "sex"])``
    """
    wanted = tuple(dict.fromkeys(names))
    if cases.target.name in wanted:
        raise InputError(f"{cases.target.name} is the target; it cannot be a covariate as well.")
    parts = [np.ones((len(cases), 1))]
    parts += [_columns(cases, name) for name in wanted]
    return Covariates(wanted, np.hstack(parts))


def _columns(cases: Cases, name: str) -> Floats:
    column = _complete_column(cases, name)
    if _is_number(column):
        values = column.to_numpy(dtype=np.float64)
        spread = values.std()
        return (
            np.empty((len(values), 0))
            if spread == 0
            else ((values - values.mean()) / spread)[:, None]
        )
    codes = pd.factorize(column.map(str), sort=True)[0]
    return np.asarray(codes[:, None] == np.arange(1, codes.max() + 1), dtype=np.float64)


def _is_number(column: pd.Series) -> bool:
    dtype = column.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _complete_column(cases: Cases, name: str) -> pd.Series:
    column = label_column(cases.table, name)
    missing = column.isna()
    if missing.any():
        subjects = cases.table.loc[missing, "subject"].unique()
        raise InputError(
            f"{name} is unknown (or differs between the samples) of {len(subjects)} subjects: "
            f"{name_first(subjects)}. Complete the table (`sclcs cohort label`), leave these "
            "subjects out with --drop-missing, or leave the covariate out."
        )
    return column


def column_codes(cases: Cases, name: str) -> Integers:
    """Return the groups of a column as integers; a missing value names the subjects."""
    return np.asarray(pd.factorize(_complete_column(cases, name).map(str), sort=True)[0], np.int64)


def without_missing(cases: Cases, names: Sequence[str]) -> Cases:
    """Return the cases of subjects for whom all columns are known."""
    unknown = np.zeros(len(cases), dtype=bool)
    for name in names:
        unknown |= label_column(cases.table, name).isna().to_numpy()
    subjects = np.isin(cases.subjects, cases.subjects[unknown])
    return cases.without(subjects) if subjects.any() else cases
