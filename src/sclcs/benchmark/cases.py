"""Cases: the units of a question. A subject, or a subject under one condition.

Windows of one subject are no independent observations, so questions about labels and
numbers are asked of subjects: a case is the mean of the feature vectors of its samples.
Where the target changes within subjects (a session, a drug), a case is a subject with one
value of it, and subjects are compared with themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.targets import Target
from sclcs.core.errors import InputError

__all__ = ["Cases", "make_cases"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cases:
    """Which samples belong to which case, and the facts of every case.

    Parameters
    ----------
    rows : array of int
        Rows of the samples in the FC source, sorted by case.
    case_of_row : array of int
        The case of each of them, from 0 without gaps.
    weights : array of float
        How much each of these samples counts in the mean of its case.
    table : DataFrame
        One row of facts per case: ``subject``, and every column of the samples; numbers are
        means, text that differs between the samples of a case is missing.
    target : Series
        The target of each case.
    repeated : bool
        Whether the target changes within subjects.
    n_unlabelled : int
        Samples that were left out because their target is unknown.
    left_out : list of str
        Subjects without a contrast: seen under one value only, though the target changes
        within subjects.
    """

    rows: Integers
    case_of_row: Integers
    weights: Floats
    table: pd.DataFrame
    target: pd.Series
    repeated: bool
    n_unlabelled: int
    left_out: list[str]

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def subjects(self) -> Integers:
        """The subject of each case, from 0 without gaps, in the order of the names."""
        return np.unique(self.table["subject"].to_numpy(dtype=str), return_inverse=True)[1]

    @cached_property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        return int(self.subjects.max()) + 1 if len(self) else 0

    @cached_property
    def averaging(self) -> Floats:
        """The mean as a matrix (case, sample): its product with features averages them."""
        matrix = np.zeros((len(self), len(self.rows)))
        totals = np.bincount(self.case_of_row, self.weights, minlength=len(self))
        places = np.arange(len(self.rows))
        matrix[self.case_of_row, places] = self.weights / totals[self.case_of_row]
        return matrix

    def without(self, cases: NDArray[np.bool_]) -> Cases:
        """Return the cases without some of them."""
        kept = np.flatnonzero(~cases)
        renumbered = np.full(len(self), -1)
        renumbered[kept] = np.arange(len(kept))
        rows = renumbered[self.case_of_row] >= 0
        names = self.table["subject"].iloc[np.flatnonzero(cases)].unique().tolist()
        return Cases(
            self.rows[rows],
            renumbered[self.case_of_row[rows]],
            self.weights[rows],
            self.table.iloc[kept],
            self.target.iloc[kept],
            self.repeated,
            self.n_unlabelled,
            [*self.left_out, *names],
        )


def make_cases(
    samples: pd.DataFrame,
    target: Target,
    rows: Integers | None = None,
    weights: Floats | None = None,
) -> Cases:
    """Gather samples into cases.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample of the FC source.
    target : Target
        A label or a number.
    rows : array of int, optional
        Only these samples, for example those of a core-set.
    weights : array of float, optional
        Of these samples.

    Returns
    -------
    Cases
        In the order of the subjects' names, so that the order of the samples does not matter.
    """
    if target.kind == "subject":
        raise InputError("Fingerprinting compares samples, not subjects; it has no cases.")
    rows = np.arange(len(samples)) if rows is None else rows
    weights = np.ones(len(rows)) if weights is None else weights
    values = target.values(samples).iloc[rows]
    known = values.notna().to_numpy()
    n_unlabelled = int((~known).sum())
    rows, weights, values = rows[known], weights[known], values[known]
    chosen = samples.iloc[rows]
    subjects = chosen["subject"].to_numpy(dtype=str)
    distinct = pd.DataFrame({"subject": subjects, "value": values.to_numpy()}).drop_duplicates()
    repeated = bool(distinct["subject"].duplicated().any())
    names = _case_names(subjects, values, repeated)
    found, case_of_row = np.unique(names, return_inverse=True)
    order = np.lexsort((rows, case_of_row))
    table = _case_table(chosen.iloc[order], found[case_of_row[order]])
    first = np.searchsorted(case_of_row[order], np.arange(len(found)))
    cases = Cases(
        rows[order],
        case_of_row[order],
        weights[order],
        table,
        pd.Series(values.to_numpy()[order][first], index=table.index, name=target.name),
        repeated,
        n_unlabelled,
        [],
    )
    return _with_contrast(cases) if repeated else cases


def _case_names(subjects: NDArray[np.str_], values: pd.Series, repeated: bool) -> NDArray[np.str_]:
    if not repeated:
        return subjects
    texts = [f"{value:.17g}" if isinstance(value, float) else str(value) for value in values]
    return np.array([f"{s} ({v})" for s, v in zip(subjects, texts, strict=True)])


def _with_contrast(cases: Cases) -> Cases:
    """Leave out subjects that were seen under one value only."""
    alone = np.bincount(cases.subjects)[cases.subjects] < 2
    return cases.without(alone) if alone.any() else cases


def _case_table(samples: pd.DataFrame, names: NDArray[np.str_]) -> pd.DataFrame:
    """Average numbers over the samples of a case; keep text where it is the same."""
    found, first, case_of_row = np.unique(names, return_index=True, return_inverse=True)
    groups = samples.groupby(names, sort=True)
    columns = {}
    for name in samples.columns:
        column = samples[name]
        number = pd.api.types.is_numeric_dtype(column.dtype)
        if number and not pd.api.types.is_bool_dtype(column.dtype):
            columns[name] = groups[name].mean()
            continue
        codes = pd.factorize(column)[0]  # -1 where nothing is known
        differs = codes != codes[first][case_of_row]
        same = np.bincount(case_of_row, differs, len(found)) == 0
        columns[name] = column.iloc[first].set_axis(found).where(same, None)
    return pd.DataFrame(columns)
