"""Look for every problem that would spoil later work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sclcs._core import (
    DESIGN_ALPHA,
    DESIGN_STRENGTH,
    FEWEST_OF_A_CLASS,
    UNEQUAL_CLASSES,
    DamagedStoreError,
    UnreadableFileError,
    checked,
    name_first,
    track,
)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.columns import ColumnRules, sidecar_of, unclear, vague_levels, with_columns
from sclcs.cohort.plausible import (
    LONGEST_PLAUSIBLE_TR,
    Lookalikes,
    check_scan,
    constant_regions,
    implausible,
)
from sclcs.cohort.problems import KINDS, Problem
from sclcs.cohort.scans import Scans
from sclcs.cohort.signals import fingerprint, iterate_samples
from sclcs.cohort.tables import class_columns, fact_columns, label_column, number_columns
from sclcs.cohort.windows import WHOLE_SCAN, Windowing

__all__ = [
    "Association",
    "association",
    "cautions",
    "check_cohort",
    "check_content",
    "check_design",
    "check_scans",
]


@checked
def check_cohort(cohort: Cohort) -> list[Problem]:
    """Check a cohort completely; all signals are read once.

    Parameters
    ----------
    cohort : Cohort
        Usually one just opened.

    Returns
    -------
    list of Problem
        Damaged data, constant regions, subjects with one sample, classes with one
        subject, missing values. Empty if all is well.
    """
    settled = cohort.provenance.get("columns", {})  # when they were imported
    labels = _check_labels(cohort.samples, settled)
    return [*check_content(cohort), *_check_subjects(cohort), *labels]


@checked
def check_scans(scans: Scans, windowing: Windowing = WHOLE_SCAN) -> list[Problem]:
    """Check scans before they are cut; every scan is loaded once.

    Parameters
    ----------
    scans : Scans
        What a reader returned.
    windowing : Windowing
        How they will be cut.

    Returns
    -------
    list of Problem
        What the reader found and what is wrong with the signals.
    """
    problems, alike = [*scans.problems, *_check_tr(scans.tr)], Lookalikes()
    for scan in track(scans, "Checking scans"):
        try:
            cut = windowing.at(scans.repetition_time(scan))
            signals = scan.signals()
            found = check_scan(scan.scan_id, signals, scans.regions, cut)
        except UnreadableFileError as error:
            found = [Problem("unreadable", scan.scan_id, str(error))]
        else:
            if not any(problem.fatal for problem in found):
                alike.add(scan.scan_id, signals)
        problems += found
    problems += alike.problems()
    # What an import would settle or ask is settled or asked here too.
    read = with_columns(scans, ColumnRules.of(sidecar=sidecar_of(scans)))
    asked = [problem for problem in read.problems if problem not in problems]
    return [*problems, *asked, *_check_labels(read.table, read.provenance.get("columns", {}))]


def _check_tr(tr: float | None) -> list[Problem]:
    if tr is None or tr <= LONGEST_PLAUSIBLE_TR:
        return []
    return [Problem("implausible-tr", f"{tr:g} s", "")]


def check_content(cohort: Cohort) -> list[Problem]:
    """Read all signals, compare them with the fingerprint, and look for what is implausible."""
    try:
        content = fingerprint(cohort.signals, cohort.samples, cohort.regions, cohort.tr)
        if content != cohort.fingerprint:
            return [Problem("damaged", "the whole cohort", "fingerprint differs from the content")]
        return [*_check_tr(cohort.tr), *_check_signals(cohort)]
    except DamagedStoreError as error:
        return [Problem("damaged", "signals", str(error))]


def _check_signals(cohort: Cohort) -> list[Problem]:
    problems, alike = [], Lookalikes()
    names = np.asarray(cohort.regions)
    samples = cohort.samples
    groups = samples["scan" if "scan" in samples.columns else "subject"].map(str).tolist()
    for rows, block in iterate_samples(cohort.signals, cohort.lengths):
        for row, signals, flat in zip(rows, block, constant_regions(block), strict=True):
            name = cohort.sample_ids[row]
            if flat.any():
                detail = name_first(names[flat], limit=3)
                problems.append(Problem("constant-region", name, detail))
                continue
            problems += [
                Problem(kind, name, detail) for kind, detail in implausible(signals, names)
            ]
            alike.add(name, signals, groups[row])
    return [*problems, *alike.problems()]


def _check_subjects(cohort: Cohort) -> list[Problem]:
    sizes = cohort.samples.groupby("subject").size()
    return [Problem("single-window", str(name), "") for name in sizes.index[sizes == 1]]


def _check_labels(table: pd.DataFrame, settled: Collection[str]) -> list[Problem]:
    problems = []
    for name in fact_columns(table):
        doubt = "" if name in settled else unclear(table[name])
        if doubt:
            problems.append(Problem("mixed-column", name, doubt))
        problems += [Problem("vague-level", f"{name}={v}", "") for v in vague_levels(table[name])]
    for name in [*class_columns(table), *number_columns(table)]:
        missing = int(table[name].isna().sum())
        if missing:
            detail = f"{missing} of {len(table)} rows"
            problems.append(Problem("missing-value", name, detail))
    for name in class_columns(table):
        subjects = table.groupby(name)["subject"].nunique()
        problems += [
            Problem("single-member-class", f"{name}={value}", "")
            for value in subjects.index[subjects == 1]
        ]
    return problems


SITE = "site"
MOTION = ("mean_fd", "motion", "fd", "fd_mean")
REPETITION_TIME = "tr"
MOST_LABELS = 10  # classes of a column that somebody might rank by
#: What a label may go with, by kind of problem; {} is the column.
GOES_WITH = {"goes-with-site": "the {}", "goes-with-motion": "head motion ({})"}


@dataclass(frozen=True)
class Association:
    """How closely two columns go together, over subjects.

    Parameters
    ----------
    measure : str
        ``Cramér's V`` of two labels, ``eta`` of a label and a number, ``rho`` (Spearman) of
        two numbers.
    strength : float
        From 0 to 1; V and eta without the bias of small samples.
    p : float
        Of chi squared, Kruskal-Wallis or Spearman.
    """

    measure: str
    strength: float
    p: float

    def __str__(self) -> str:
        p = "below 0.001" if self.p < 0.001 else f"{self.p:.2g}"
        return f"{self.measure} {self.strength:.2f}, p {p}"


def association(one: pd.Series, other: pd.Series) -> Association | None:
    """Measure how closely two columns go together.

    Parameters
    ----------
    one, other : Series
        One value per subject; missing ones are left out. Text is a label.

    Returns
    -------
    Association or None
        None if one of them does not vary.
    """
    known = one.notna() & other.notna()
    one, other = one[known], other[known]
    if one.nunique() < 2 or other.nunique() < 2:
        return None
    numbers = [column for column in (one, other) if _is_number(column)]
    if len(numbers) == 2:
        return _of_numbers(one, other)
    if not numbers:
        return _of_labels(one, other)
    label = other if _is_number(one) else one
    return _of_label_and_number(label, numbers[0])


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > 2


def _of_numbers(one: pd.Series, other: pd.Series) -> Association:
    from scipy.stats import spearmanr

    found = spearmanr(one, other)
    return Association("rho", abs(float(found.statistic)), float(found.pvalue))


def _of_labels(one: pd.Series, other: pd.Series) -> Association:
    from scipy.stats import chi2_contingency

    table = pd.crosstab(one, other).to_numpy()
    found = chi2_contingency(table, correction=False)
    n, (rows, columns) = table.sum(), table.shape
    # Bergsma 2013: without an association, chi squared is about its degrees of freedom.
    phi = max(float(found.statistic) / n - (rows - 1) * (columns - 1) / (n - 1), 0.0)
    smaller = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1))
    strength = float(np.sqrt(phi / (smaller - 1))) if smaller > 1 else 0.0
    return Association("Cramér's V", min(strength, 1.0), float(found.pvalue))


def _of_label_and_number(label: pd.Series, values: pd.Series) -> Association | None:
    from scipy.stats import kruskal

    parts = [part.to_numpy(dtype=float) for _, part in values.groupby(label.map(str))]
    n, count = len(values), len(parts)
    if n <= count:
        return None
    found = kruskal(*parts)
    share = (float(found.statistic) - count + 1) / (n - count)  # eta squared of the ranks
    return Association("eta", float(np.sqrt(max(share, 0.0))), float(found.pvalue))


@checked
def check_design(samples: pd.DataFrame, columns: Sequence[str] | None = None) -> list[Problem]:
    """Name what may explain an effect of a label besides the label.

    Parameters
    ----------
    samples : DataFrame
        The facts of the samples.
    columns : sequence of str, optional
        Labels and numbers that operators are ranked for, which must be there; by default all
        columns with a few classes. ``subject`` is passed over.

    Returns
    -------
    list of Problem
        None of them serious: classes below ten subjects, classes that differ in size more
        than three to one, association with site and with motion, mixed repetition times.
    """
    if columns is None:
        columns = [
            name for name in class_columns(samples) if 2 <= samples[name].nunique() <= MOST_LABELS
        ]
        columns += [name for name in fact_columns(samples) if _numbers_as_text(samples[name])]
    for name in columns:
        label_column(samples, name)
    subjects = samples.groupby("subject", sort=False).first()
    problems = _mixed_times(subjects)
    for name in columns:
        if name in subjects.columns and _numbers_as_text(samples[name]):
            detail = f"{samples[name].nunique()} different numbers"
            problems.append(Problem("number-as-label", name, detail))
            continue
        if name in subjects.columns and name != SITE:
            problems += [*_sizes(subjects[name]), *_confounds(subjects, name)]
    return problems


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


def _confounds(subjects: pd.DataFrame, name: str) -> list[Problem]:
    found = []
    for kind, others in (("goes-with-site", (SITE,)), ("goes-with-motion", MOTION)):
        for other in others:
            if other in subjects.columns and other != name:
                measured = association(subjects[name], subjects[other])
                if measured and measured.p < DESIGN_ALPHA and measured.strength >= DESIGN_STRENGTH:
                    found.append(Problem(kind, name, f"{other}: {measured}"))
    return found


def cautions(
    problems: Sequence[Mapping[str, str]], task: str, taken_out: Collection[str]
) -> list[str]:
    """Say what else may explain an effect: what the label goes with and is not taken out.

    Parameters
    ----------
    problems : sequence of mapping
        Kind, where and detail of what :func:`check_design` found.
    task : str
        The label or number that is asked for.
    taken_out : collection of str
        Columns that are covariates, or inside whose groups subjects are compared.

    Returns
    -------
    list of str
        Sentences with what can be done.
    """
    found = []
    for entry in problems:
        kind, where, detail = (str(entry[name]) for name in ("kind", "where", "detail"))
        # Repetition times concern every task, unless what they go with is taken out.
        of_all = kind == "mixed-tr" and not {SITE, REPETITION_TIME} & set(taken_out)
        if (where.split("=")[0] != task and not of_all) or kind not in KINDS:
            continue
        meaning = KINDS[kind].meaning
        if kind in GOES_WITH:
            other, _, detail = detail.partition(": ")
            if other in taken_out:
                continue
            meaning = f"{task} goes with {GOES_WITH[kind].format(other)}"
        one = f"{where}: " if "=" in where else ""
        found.append(f"{meaning} ({one}{detail}); {KINDS[kind].advice}.")
    return found
