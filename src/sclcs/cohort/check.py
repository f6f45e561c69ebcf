"""Look for every problem that would spoil later work."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from sclcs._core import (
    DamagedStoreError,
    UnreadableFileError,
    checked,
    name_first,
    track,
)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.columns import ColumnRules, sidecar_of, unclear, vague_levels, with_columns
from sclcs.cohort.design import SignalMarks, looks_like_site
from sclcs.cohort.plausible import (
    LONGEST_PLAUSIBLE_TR,
    Lookalikes,
    check_scan,
    constant_regions,
    implausible,
)
from sclcs.cohort.problems import Problem
from sclcs.cohort.scans import Scans
from sclcs.cohort.signals import fingerprint, iterate_samples
from sclcs.cohort.tables import class_columns, fact_columns, number_columns
from sclcs.cohort.windows import WHOLE_SCAN, Windowing

__all__ = ["check_cohort", "check_content", "check_scans"]


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
    problems, alike, marks = [], Lookalikes(), SignalMarks()
    names = np.asarray(cohort.regions)
    samples = cohort.samples
    groups = samples["scan" if "scan" in samples.columns else "subject"].map(str).tolist()
    owners = samples["subject"].map(str).tolist()
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
            marks.add(owners[row], signals)
    return [*problems, *alike.problems(), *looks_like_site(samples, marks)]


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
