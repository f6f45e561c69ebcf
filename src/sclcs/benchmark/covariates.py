"""Covariates: what is taken out of an effect before it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.cases import Cases
from sclcs.benchmark.targets import TreatAs, column_kind
from sclcs.cohort.table import label_column
from sclcs.core.errors import InputError, name_first

__all__ = ["Covariates", "column_codes", "covariate_kinds", "covariate_matrix", "without_missing"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Covariates:
    """What is taken out: columns, and what to do with them.

    Parameters
    ----------
    names : sequence of str
        Columns of the samples, or one text with commas.
    treat_as : str, sequence of str or mapping, optional
        What columns of numbers are, where they do not tell:
        ``{"scanner_code": "classes"}``.
    drop_missing : bool
        Leave subjects out whose covariates are unknown, instead of an error.

    Examples
    --------
    >>> Covariates("site, mean_fd").names
    ('site', 'mean_fd')
    """

    names: Sequence[str] = ()
    treat_as: TreatAs = field(default=None)
    drop_missing: bool = False

    def __post_init__(self) -> None:
        given = [self.names] if isinstance(self.names, str) else list(self.names)
        parts = [part.strip() for name in given for part in name.split(",") if part.strip()]
        object.__setattr__(self, "names", tuple(dict.fromkeys(parts)))


def covariate_matrix(cases: Cases, kinds: Mapping[str, str]) -> Floats:
    """Turn columns of the cases into numbers.

    Parameters
    ----------
    cases : Cases
    kinds : mapping of str to str
        Columns and what they are, see :func:`covariate_kinds`; a missing value is an error that
        names the subjects.

    Returns
    -------
    array, shape (case, column)
        An intercept, standardised numbers, and a contrast for every further category.

    Examples
    --------
    ``covariate_matrix(cases, {"site": "classes", "mean_fd": "number"})``
    """
    if cases.target.name in kinds:
        raise InputError(f"{cases.target.name} is the target; it cannot be a covariate as well.")
    parts = [np.ones((len(cases), 1))]
    parts += [_columns(cases, name, kind) for name, kind in kinds.items()]
    return np.hstack(parts)


def covariate_kinds(
    samples: pd.DataFrame, names: Sequence[str], treat_as: TreatAs = None
) -> dict[str, str]:
    """Return for every covariate whether it is classes or a number; all samples tell."""
    return {name: column_kind(label_column(samples, name), name, treat_as) for name in names}


def _columns(cases: Cases, name: str, kind: str) -> Floats:
    column = _complete_column(cases, name)
    if kind == "number":
        values = column.to_numpy(dtype=np.float64)
        spread = values.std()
        if spread == 0:
            return np.empty((len(values), 0))
        return np.asarray(((values - values.mean()) / spread)[:, None])
    codes = pd.factorize(column.map(str), sort=True)[0]
    return np.asarray(codes[:, None] == np.arange(1, codes.max() + 1), dtype=np.float64)


def _complete_column(cases: Cases, name: str) -> pd.Series:
    column = label_column(cases.table, name)
    missing = column.isna()
    if missing.any():
        subjects = cases.table.loc[missing, "subject"].unique()
        number = pd.api.types.is_numeric_dtype(column.dtype)  # numbers of samples are averaged
        differs = "" if number else " (or differs between the samples)"
        many = "subject" if len(subjects) == 1 else "subjects"
        raise InputError(
            f"{name} is unknown{differs} of {len(subjects)} {many}: "
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
