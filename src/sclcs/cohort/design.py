"""What a design may spoil: every column that goes with what is asked, named with what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    DESIGN_ALPHA,
    DESIGN_STRENGTH,
    FEWEST_OF_A_CLASS,
    FEWEST_OF_A_SITE,
    UNEQUAL_CLASSES,
    checked,
)
from sclcs.cohort.columns import MAX_CLASSES, as_days
from sclcs.cohort.problems import KINDS, Problem
from sclcs.cohort.signals import LENGTH_COLUMN
from sclcs.cohort.tables import class_columns, label_column, label_columns

Floats = NDArray[np.float64]

#: Columns of sites: names in small letters, without blanks, hyphens and underscores.
SITE_NAMES = {
    "site", "siteid", "sitename", "scanner", "scannerid", "scannername",
    "center", "centre", "centerid", "centreid",
}  # fmt: skip
MOTION = ("mean_fd", "motion", "fd", "fd_mean")
REPETITION_TIME = "tr"
SCANS = "number of samples"
MOST_LABELS = 10  # classes of a column that somebody might rank by
#: What a label may go with, by kind of problem; {} is the column.
GOES_WITH = {
    "goes-with-site": "the {}",
    "goes-with-motion": "head motion ({})",
    "goes-with-length": "the length, times or number of scans ({})",
    "goes-with-column": "{}",
    "same-as-column": "{} so closely that they cannot be separated",
}
#: Columns without a reason of their own have to go clearly with a label to be named, ...
CLEARLY = 0.3
#: ... and from here on the two cannot be separated.
INSEPARABLE = 0.9
PERMUTATIONS = 999
MOST_CLASSES = 100  # more are ids
ALIKE = 0.5  # share of the variance of a mark of signals between groups, for them to be sites


def site_column(samples: pd.DataFrame, leave_out: str | None = None) -> str | None:
    """Return the column of sites, but for the one that is asked about.

    A column called site, SITE_ID, scanner or center with several values; otherwise one of a few
    groups, each with one repetition time, where there are several of them.
    """
    columns = [str(name) for name in samples.columns if name != leave_out]
    for name in columns:
        plain = "".join(letter for letter in name.lower() if letter not in "_- .")
        if plain in SITE_NAMES and len(samples[name].dropna().unique()) > 1:
            return name
    if REPETITION_TIME not in columns or samples[REPETITION_TIME].nunique() < 2:
        return None
    subjects = samples.groupby("subject", sort=False).first()
    for name in columns:
        if name in {REPETITION_TIME, *MOTION} or not _may_be_sites(subjects, name):
            continue
        if subjects.groupby(name)[REPETITION_TIME].nunique(dropna=False).max() == 1:
            return name
    return None


def _may_be_sites(subjects: pd.DataFrame, name: str) -> bool:
    if name not in subjects.columns or pd.api.types.is_float_dtype(subjects[name].dtype):
        return False
    count = subjects[name].nunique()
    return bool(2 <= count <= min(MAX_CLASSES, len(subjects) / FEWEST_OF_A_SITE))


@dataclass(frozen=True)
class Association:
    """How closely two columns go together, over subjects."""

    measure: str  # Cramér's V of labels, eta of a label and a number, rho of two numbers
    strength: float  # from 0 to 1; V and eta without the bias of small samples
    p: float  # of permutations of one of them

    def __str__(self) -> str:
        p = "below 0.01" if self.p < 0.01 else f"{self.p:.2g}"
        return f"{self.measure} {self.strength:.2f}, p {p}"


def association(one: pd.Series, other: pd.Series) -> Association | None:
    """Measure how closely two columns of subjects go together; missing values are left out.

    Chi squared of two labels, Kruskal and Wallis' H, and Spearman's rho are one thing: the sum of
    squared canonical correlations of indicators of classes, or of ranks of numbers. None if one of
    them does not vary, or has hardly two subjects of a class.
    """
    known = one.notna() & other.notna()
    one, other = one[known], other[known]
    n = len(one)
    if one.nunique() < 2 or other.nunique() < 2:
        return None
    classes = [column.nunique() for column in (one, other) if not _is_number(column)]
    if max(classes, default=0) > min(MOST_CLASSES, n / 2):
        return None
    first, second = _basis(one), _basis(other)
    few, many = sorted((first.shape[1], second.shape[1]))
    fit = float(((first.T @ second) ** 2).sum())
    rng = np.random.default_rng(0)
    drawn = [
        ((first[rng.permutation(n)].T @ second) ** 2).sum() >= fit * (1 - 1e-9)
        for _ in range(PERMUTATIONS)
    ]
    p = (1 + sum(drawn)) / (1 + PERMUTATIONS)
    numbers = _is_number(one) + _is_number(other)
    if numbers == 2:
        return Association("rho", float(np.sqrt(fit)), p)
    if numbers == 1:
        share = ((n - 1) * fit - many) / (n - many - 1)  # eta squared of the ranks
        return Association("eta", float(np.sqrt(max(share, 0.0))), p)
    # Bergsma 2013: without an association, chi squared is about its degrees of freedom.
    phi, smaller = max(fit - few * many / (n - 1), 0.0), few - few**2 / (n - 1)
    return Association("Cramér's V", float(np.sqrt(phi / smaller)), p)


def _basis(column: pd.Series) -> Floats:
    """Return orthonormal columns: centred ranks of numbers, contrasts of classes."""
    if _is_number(column):
        ranks = column.rank().to_numpy(dtype=np.float64)[:, None]
        ranks = ranks - ranks.mean()
        return np.asarray(ranks / np.linalg.norm(ranks))
    codes = pd.factorize(column.map(str))[0]
    members = (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    centred = members - members.mean(axis=0)
    return np.asarray(np.linalg.svd(centred, full_matrices=False)[0][:, :-1])


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > 2


@checked
def check_design(samples: pd.DataFrame, columns: Sequence[str] | None = None) -> list[Problem]:
    """Name what may explain an effect of a label besides the label; nothing of it is serious.

    Classes below ten subjects, classes that differ in size more than three to one, association with
    other columns, mixed repetition times. Every other column is compared with the labels and
    numbers that are named (``subject`` is passed over); by default all columns with a few classes
    are compared with site, motion, the length and the number of scans.
    """
    everything = columns is not None
    if columns is None:
        columns = [
            name for name in class_columns(samples) if 2 <= samples[name].nunique() <= MOST_LABELS
        ]
        columns += [name for name in label_columns(samples) if _numbers_as_text(samples[name])]
    for name in columns:
        label_column(samples, name)
    subjects = _subjects(samples)
    problems = _mixed_times(subjects)
    for name in columns:
        site = site_column(samples, leave_out=name)
        if name in subjects.columns and _numbers_as_text(samples[name]):
            detail = f"{samples[name].nunique()} different numbers"
            problems.append(Problem("number-as-label", name, detail))
            continue
        if name in subjects.columns and name != site_column(samples[["subject", name]]):
            problems += _sizes(subjects[name])
            if samples.groupby("subject")[name].nunique().max() == 1:  # else with themselves
                problems += _confounds(subjects, name, site, everything=everything)
    return problems


def _subjects(samples: pd.DataFrame) -> pd.DataFrame:
    """Return one row per subject, with the length and the number of scans; dates are days."""
    groups = samples.groupby("subject", sort=False)
    subjects = groups.first().assign(**{SCANS: groups.size()})
    for name in subjects.columns:
        number = pd.api.types.is_numeric_dtype(subjects[name].dtype)
        days = None if number else as_days(subjects[name])
        if days is not None:
            subjects[name] = days
    return subjects


def _numbers_as_text(column: pd.Series) -> bool:
    values = column.dropna()
    if pd.api.types.is_numeric_dtype(values.dtype) or values.nunique() <= MOST_LABELS:
        return False
    return bool(pd.to_numeric(values, errors="coerce").notna().all())


def _mixed_times(subjects: pd.DataFrame) -> list[Problem]:
    if REPETITION_TIME not in subjects.columns:
        return []
    times = sorted(subjects[REPETITION_TIME].dropna().unique())
    if len(times) < 2:
        return []
    return [Problem("mixed-tr", REPETITION_TIME, ", ".join(f"{time:g}" for time in times[:5]))]


def _sizes(column: pd.Series) -> list[Problem]:
    if _is_number(column):
        return []
    sizes = column.value_counts()
    found = [
        Problem("small-class", f"{column.name}={_plain(value)}", f"{size} subjects")
        for value, size in sizes.items()
        if 1 < size < FEWEST_OF_A_CLASS
    ]
    if len(sizes) > 1 and sizes.iloc[0] > UNEQUAL_CLASSES * sizes.iloc[-1]:
        ends = [f"{_plain(sizes.index[k])}: {sizes.iloc[k]}" for k in (0, -1)]
        detail = f"{', '.join(ends)} subjects"
        found.append(Problem("unequal-classes", str(column.name), detail))
    return found


def _plain(value: object) -> str:
    """Write a class as a ranking does: a code that a missing value made a decimal is whole."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _confounds(
    subjects: pd.DataFrame, name: str, site: str | None, *, everything: bool
) -> Iterator[Problem]:
    lengths = {LENGTH_COLUMN, REPETITION_TIME, SCANS}
    for other in subjects.columns:
        known = "site" if other == site else "motion" if other in MOTION else ""
        known = known or ("length" if other in lengths else "")
        passed = other == name or other in {"window", "start"} or not (known or everything)
        measured = None if passed else association(subjects[name], subjects[other])
        if measured is None or measured.p >= DESIGN_ALPHA:
            continue
        detail = f"{other}: {measured}"
        if measured.strength >= INSEPARABLE:
            yield Problem("same-as-column", name, detail)
        elif measured.strength >= (DESIGN_STRENGTH if known else CLEARLY):
            yield Problem(f"goes-with-{known or 'column'}", name, detail)


class SignalMarks:
    """What scanners leave in signals: their size, smoothness and common part, scan by scan."""

    def __init__(self) -> None:
        self._marks: dict[str, list[list[float]]] = {}

    def add(self, subject: str, signals: NDArray[np.float32]) -> None:
        """Add a scan (region, time) of a subject."""
        values = signals.astype(np.float64)
        offset = np.abs(values.mean(axis=1)).mean()
        values -= values.mean(axis=1, keepdims=True)
        power = (values**2).sum(axis=1)
        lagged = (values[:, 1:] * values[:, :-1]).sum(axis=1) / power
        common = values.mean(axis=0)
        shared = (common**2).sum() / power.mean()
        size = float(np.log(power.mean() / values.shape[1]))
        marks = [size, float(np.log1p(offset)), float(lagged.mean()), float(shared)]
        self._marks.setdefault(subject, []).append(marks)

    def table(self) -> pd.DataFrame:
        """Return the means of every subject."""
        rows = {subject: np.mean(marks, axis=0) for subject, marks in self._marks.items()}
        return pd.DataFrame.from_dict(rows, orient="index")


def looks_like_site(samples: pd.DataFrame, marks: SignalMarks) -> list[Problem]:
    """Name columns of a few groups whose scans are alike, as those of one scanner are.

    None if there is a column of sites already; `marks` are those of the same subjects.
    """
    table = marks.table()
    if site_column(samples) is not None or len(table) < 2 * FEWEST_OF_A_SITE:
        return []
    subjects = _subjects(samples)
    subjects.index = subjects.index.map(str)
    found = []
    for name in label_columns(samples):
        if not _may_be_sites(subjects, name):
            continue
        column = subjects[name].reindex(table.index).map(str, na_action="ignore")
        shares = [association(column, table[mark]) for mark in table if table[mark].nunique() > 2]
        closest = max(
            (one.strength**2 for one in shares if one and one.p < DESIGN_ALPHA), default=0
        )
        if closest >= ALIKE:
            found.append(Problem("acts-as-site", name, f"{closest:.0%} of a mark of the signals"))
    return found


def cautions(
    problems: Sequence[Mapping[str, str]], task: str, taken_out: Collection[str]
) -> list[str]:
    """Say what else may explain an effect, and what can be done: a sentence for each.

    Of what :func:`check_design` found, what concerns the task and is not `taken_out` by covariates
    or comparison inside groups.
    """
    found = []
    for entry in problems:
        kind, where, detail = (str(entry[name]) for name in ("kind", "where", "detail"))
        # Repetition times concern every task, unless what they go with is taken out.
        of_all = kind == "mixed-tr" and not {"site", REPETITION_TIME} & set(taken_out)
        if (where.split("=")[0] != task and not of_all) or kind not in KINDS:
            continue
        meaning = KINDS[kind].meaning
        if kind in GOES_WITH:
            other, _, detail = detail.partition(": ")
            if other in taken_out and kind != "same-as-column":
                continue
            meaning = f"{task} goes with {GOES_WITH[kind].format(other)}"
        one = f"{where}: " if "=" in where else ""
        found.append(f"{meaning} ({one}{detail}); {KINDS[kind].advice}.")
    return found
