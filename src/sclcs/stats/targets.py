"""Targets: what a question is about. A person, a label, or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import CLASS_NUMBERS, FEWEST_PER_CLASS, InputError, name_first
from sclcs.cohort import NEVER_QUANTITIES, label_column, unclear, vague_levels

__all__ = [
    "KINDS",
    "Cases",
    "Covariates",
    "Kind",
    "Target",
    "TreatAs",
    "column_codes",
    "column_kind",
    "complete_column",
    "covariate_kinds",
    "find_target",
    "make_cases",
    "treatment_of",
    "without_missing",
]


Kind = Literal["subject", "classes", "number"]
KINDS: tuple[Kind, ...] = ("subject", "classes", "number")
Treatment = Literal["number", "classes"]
#: How columns of numbers are treated: ``"number"``, ``"age=number"``, several, or a mapping.
TreatAs = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Target:
    """What an operator is asked to see.

    Parameters
    ----------
    name : str
        ``"subject"``, or a column of the samples.
    kind : {"subject", "classes", "number"}
        Fingerprinting; a label such as a diagnosis; or a quantity such as age.

    Examples
    --------
    >>> Target("age", "number")
    Target(name='age', kind='number')
    """

    name: str
    kind: Kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"A target is one of {', '.join(KINDS)}, not {self.kind!r}.")

    def values(self, samples: pd.DataFrame) -> pd.Series:
        """Return the target of every sample; missing where it is unknown."""
        if self.kind == "subject":
            return samples["subject"]
        column = label_column(samples, self.name)
        return pd.to_numeric(column) if self.kind == "number" else column.map(_text)

    def facts(self) -> dict[str, object]:
        """Return the target as JSON values."""
        return {"name": self.name, "kind": self.kind}


def _text(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is the only value unlike itself
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def treatment_of(name: str, treat_as: TreatAs) -> Treatment | None:
    """Return how the user wants a column to be treated; None if nothing was said.

    Parameters
    ----------
    name : str
        The column.
    treat_as : str, sequence of str, mapping or None
        ``"number"`` or ``"classes"`` for every column asked for; ``"age=number"`` (or a mapping)
        for one of them, which goes before.

    Returns
    -------
    {"number", "classes"} or None

    Examples
    --------
    >>> treatment_of("age", ["classes", "age=number"])
    'number'
    """
    if treat_as is None:
        return None
    parts: list[str]
    if isinstance(treat_as, Mapping):
        parts = [f"{column}={kind}" for column, kind in treat_as.items()]
    else:
        given = [treat_as] if isinstance(treat_as, str) else treat_as
        parts = [part.strip() for text in given for part in text.split(",") if part.strip()]
    found: Treatment | None = None
    for part in sorted(parts, key=lambda text: "=" in text):  # what names the column goes last
        column, _, kind = part.rpartition("=")
        if kind not in {"number", "classes"}:
            raise InputError(
                f"A column is treated as number or as classes, not as {kind!r}: --as number, or "
                "--as COLUMN=number for one of several."
            )
        if column.strip() in {"", name}:
            found = cast("Treatment", kind)
    return found


def find_target(samples: pd.DataFrame, target: str | Target, treat_as: TreatAs = None) -> Target:
    """Return the target of a name; whether it is a label or a number is told by the column.

    Text is a label. Numbers are a quantity if there are more than ten different ones or if they
    have decimals, and a label if there are two; in between the user is asked. A site is a
    label, whatever its code.

    Parameters
    ----------
    samples : DataFrame
        The facts of the samples.
    target : str or Target
        ``"subject"`` or the name of a column.
    treat_as : str, sequence of str or mapping, optional
        Settles it: ``"number"``, ``"classes"``, or ``"age=number"``.

    Returns
    -------
    Target
    """
    if isinstance(target, Target):
        target.values(samples)
        return target
    if target == "subject":
        return Target("subject", "subject")
    column = label_column(samples, target)
    kind = column_kind(column, target, treat_as)
    if kind == "classes" and treatment_of(target, treat_as) == "classes":
        _refuse_many_classes(target, column, samples["subject"])
    vague = vague_levels(column) if kind == "classes" else []
    if vague and treatment_of(target, treat_as) is None:
        raise InputError(
            f"{name_first(vague)} of {target} may be a class or mean that nothing is known: "
            f"`sclcs cohort label COHORT --missing {target}={vague[0]}` leaves these samples out, "
            f"--as {target}=classes compares them as a class."
        )
    return Target(target, kind)


def column_kind(column: pd.Series, name: str, treat_as: TreatAs = None) -> Treatment:
    """Say whether a column holds classes or numbers; ask where it does not tell.

    Parameters
    ----------
    column : Series
    name : str
        As the user named it.
    treat_as : str, sequence of str or mapping, optional
        What the user said, see :func:`treatment_of`.

    Returns
    -------
    {"number", "classes"}
    """
    wanted = treatment_of(name, treat_as)
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    numeric = numeric and not pd.api.types.is_bool_dtype(column.dtype)
    if wanted == "number" and not numeric:
        raise InputError(
            f"{name} cannot be a number: it holds text such as {_first_text(column)!r}; leave "
            "the treatment out (or say --as COLUMN=number of the column that is meant), or give "
            "a column of numbers."
        )
    if wanted is None:
        doubt = unclear(column.rename(name))
        if doubt:
            raise InputError(
                f"{name} is not clear: {doubt}. Correct the table, or say what it is: "
                f"`sclcs cohort label COHORT --missing {name}=...`, or --as {name}=classes."
            )
    if not numeric:
        return "classes"
    return wanted or _usual_kind(name, column)


def _first_text(column: pd.Series) -> str:
    known = column.dropna()
    return str(known.iloc[0]) if len(known) else ""


def _usual_kind(name: str, column: pd.Series) -> Treatment:
    known = column.dropna().to_numpy(dtype=np.float64)
    distinct = len(np.unique(known))
    if distinct <= 2 or name in NEVER_QUANTITIES:
        return "classes"
    if distinct > CLASS_NUMBERS or (known != np.round(known)).any():
        return "number"
    raise InputError(
        f"{name} has {distinct} different numbers ({_some_values(column)}): it may be a quantity "
        f"or a code of classes. Say which: --as {name}=number or --as {name}=classes (in Python "
        "treat_as=)."
    )


def _refuse_many_classes(name: str, column: pd.Series, subjects: pd.Series) -> None:
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return
    distinct, n_subjects = int(column.nunique()), int(subjects[column.notna()].nunique())
    if distinct > CLASS_NUMBERS and n_subjects < FEWEST_PER_CLASS * distinct:
        raise InputError(
            f"{name} has {distinct} different numbers on {n_subjects} subjects "
            f"({_some_values(column)}), too many to be classes. Use it as a quantity with "
            "--as number, or make groups of it first (`sclcs cohort label`) and use --as classes."
        )


def _some_values(column: pd.Series) -> str:
    values = sorted(column.dropna().unique())
    shown = [f"{value:g}" for value in (values if len(values) <= 4 else [*values[:2], values[-1]])]
    return ", ".join(shown) if len(values) <= 4 else f"{shown[0]}, {shown[1]}, ..., {shown[2]}"


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


def covariate_kinds(
    samples: pd.DataFrame, names: Sequence[str], treat_as: TreatAs = None
) -> dict[str, str]:
    """Return for every covariate whether it is classes or a number; all samples tell."""
    kinds: dict[str, str] = {}
    for name in names:
        column = label_column(samples, name)
        kinds[name] = column_kind(column, name, treat_as)
        n_subjects = int(samples["subject"][column.notna()].nunique())
        if kinds[name] == "classes" and column.nunique() > max(CLASS_NUMBERS, n_subjects / 2):
            raise InputError(
                f"{name} has {column.nunique()} classes on {n_subjects} subjects; as a covariate "
                "they would take out the subjects themselves. Give a column of numbers, or join "
                "classes."
            )
    return kinds


def complete_column(cases: Cases, name: str) -> pd.Series:
    """Return a column of the cases; a missing value is an error that names the subjects."""
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
    return np.asarray(pd.factorize(complete_column(cases, name).map(str), sort=True)[0], np.int64)


def without_missing(cases: Cases, names: Sequence[str]) -> Cases:
    """Return the cases of subjects for whom all columns are known."""
    unknown = np.zeros(len(cases), dtype=bool)
    for name in names:
        unknown |= label_column(cases.table, name).isna().to_numpy()
    subjects = np.isin(cases.subjects, cases.subjects[unknown])
    return cases.without(subjects) if subjects.any() else cases
