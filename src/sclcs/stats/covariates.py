"""Covariates as columns of a regression: contrasts of classes, natural splines of numbers.

One implementation serves shares, predictions, effects and the blend. A number is a natural cubic
spline by default, because what motion or age does to connectivity is rarely a straight line, and
what a line leaves of it looks like an effect of everything that goes with motion or age. Outside
the range of the subjects it was learned from, a natural spline goes on as a straight line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import SPLINE_DEGREES, SUBJECTS_PER_DEGREE, InputError
from sclcs.stats.targets import Cases, complete_column

__all__ = ["CovariateColumns", "CovariateForm", "covariate_matrix", "spline_columns"]

Floats = NDArray[np.float64]
CovariateForm = Literal["spline", "linear"]


def spline_columns(values: Floats, knots: Floats) -> Floats:
    """Return a natural cubic spline basis without an intercept.

    Parameters
    ----------
    values : array, shape (case,)
    knots : array, shape (knot,)
        Ascending, at least two. With two of them the basis is a straight line.

    Returns
    -------
    array, shape (case, knot - 1)
        Truncated powers (Hastie, Tibshirani & Friedman 2009, equation 5.4), in units of the range
        of the knots.
    """
    places = (values - knots[0]) / (knots[-1] - knots[0])
    inner = (knots - knots[0]) / (knots[-1] - knots[0])
    cubes = np.maximum(places[:, None] - inner, 0.0) ** 3
    bends = (cubes[:, :-1] - cubes[:, -1:]) / (1.0 - inner[:-1])
    return np.column_stack([places, bends[:, :-1] - bends[:, -1:]])


def _knots(values: Floats, form: CovariateForm, n_subjects: int) -> list[float]:
    """Return the knots of a number; none if it does not vary, two for a straight line."""
    distinct = len(np.unique(values))
    if distinct < 2:
        return []
    degrees = min(SPLINE_DEGREES, distinct - 1, max(1, n_subjects // SUBJECTS_PER_DEGREE))
    if form == "spline" and degrees > 1:
        knots = np.unique(np.quantile(values, np.linspace(0.0, 1.0, degrees + 1)))
        if len(knots) > 2:
            return [float(knot) for knot in knots]
    return [float(values.mean()), float(values.mean() + values.std())]


@dataclass(frozen=True, eq=False)
class CovariateColumns:
    """How covariates become numbers, learned from training subjects.

    Parameters
    ----------
    names : list of str
    levels : list of (list of str or None)
        Of every covariate its classes; None for a number.
    knots : list of list of float
        Of every number its knots; empty for classes, and for what does not vary.
    usual : array, shape (column,)
        The mean of every column: for new subjects whose covariates are unknown, and for
        classes (sites) that no training subject has.
    """

    names: list[str]
    levels: list[list[str] | None]
    knots: list[list[float]]
    usual: Floats

    @classmethod
    def fit(
        cls,
        table: pd.DataFrame,
        kinds: Mapping[str, str],
        form: CovariateForm = "spline",
        n_subjects: int | None = None,
    ) -> tuple[CovariateColumns, Floats]:
        """Learn the columns; return them and the training subjects' numbers.

        Parameters
        ----------
        table : DataFrame
            Complete in the columns that are named in `kinds`.
        kinds : mapping of str to str
            ``classes`` or ``number``, by column.
        form : {"spline", "linear"}
            Of numbers.
        n_subjects : int, optional
            Few subjects have few degrees of freedom to give away; the number of rows by default.

        Returns
        -------
        columns : CovariateColumns
        numbers : array, shape (row, column)
            The first column is the intercept.
        """
        count = len(table) if n_subjects is None else n_subjects
        levels: list[list[str] | None] = []
        knots: list[list[float]] = []
        for name, kind in kinds.items():
            number = kind == "number"
            levels.append(None if number else sorted(set(table[name].map(str))))
            values = table[name].to_numpy(dtype=np.float64) if number else np.empty(0)
            knots.append(_knots(values, form, count) if number else [])
        plain = cls(list(kinds), levels, knots, np.empty(0))
        numbers = plain._numbers(table)
        return cls(plain.names, levels, knots, numbers.mean(axis=0)), numbers

    def apply(self, table: pd.DataFrame) -> Floats:
        """Return the numbers of other subjects; the usual ones where they are unknown."""
        numbers = self._numbers(table)
        return np.where(np.isfinite(numbers), numbers, self.usual)

    def _numbers(self, table: pd.DataFrame) -> Floats:
        parts = [np.ones((len(table), 1))]
        for name, known, knots in zip(self.names, self.levels, self.knots, strict=True):
            column = table[name]
            if known is not None:
                members = column.map(str).to_numpy(dtype=str)[:, None] == np.array(known, dtype=str)
                unknown = ~members.any(axis=1, keepdims=True)
                parts.append(np.where(unknown, np.nan, members[:, 1:].astype(np.float64)))
            elif knots:
                parts.append(spline_columns(column.to_numpy(dtype=np.float64), np.array(knots)))
        return np.hstack(parts)


def covariate_matrix(
    cases: Cases, kinds: Mapping[str, str], form: CovariateForm = "spline"
) -> Floats:
    """Turn columns of the cases into numbers.

    Parameters
    ----------
    cases : Cases
    kinds : mapping of str to str
        Columns and what they are, see :func:`~sclcs.stats.targets.covariate_kinds`; a missing
        value is an error that names the subjects.
    form : {"spline", "linear"}
        Of numbers.

    Returns
    -------
    array, shape (case, column)
        An intercept, the columns of every number, and a contrast for every further category.

    Examples
    --------
    ``covariate_matrix(cases, {"site": "classes", "mean_fd": "number"})``
    """
    if cases.target.name in kinds:
        raise InputError(f"{cases.target.name} is the target; it cannot be a covariate as well.")
    for name in kinds:
        complete_column(cases, name)
    return CovariateColumns.fit(cases.table, kinds, form, cases.n_subjects)[1]
