"""Look for every problem that would spoil later work."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.fingerprint import fingerprint
from sclcs.cohort.lengths import iterate_samples
from sclcs.cohort.problems import Problem
from sclcs.cohort.quality import check_scan, constant_regions
from sclcs.cohort.scans import Scans
from sclcs.cohort.table import class_columns, number_columns
from sclcs.cohort.windows import WHOLE_SCAN, Windowing
from sclcs.core.arguments import checked
from sclcs.core.errors import DamagedStoreError, UnreadableFileError, name_first
from sclcs.core.progress import track

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
    return [*check_content(cohort), *_check_subjects(cohort), *_check_labels(cohort.samples)]


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
    problems = list(scans.problems)
    for scan in track(scans, "Checking scans"):
        try:
            cut = windowing.at(scans.repetition_time(scan))
            problem = check_scan(scan.scan_id, scan.signals(), scans.regions, cut)
        except UnreadableFileError as error:
            problem = Problem("unreadable", scan.scan_id, str(error))
        if problem is not None:
            problems.append(problem)
    return [*problems, *_check_labels(scans.table)]


def check_content(cohort: Cohort) -> list[Problem]:
    """Read all signals and compare them with the fingerprint; look for constant regions."""
    try:
        content = fingerprint(cohort.signals, cohort.samples, cohort.regions, cohort.tr)
        if content != cohort.fingerprint:
            return [Problem("damaged", "the whole cohort", "fingerprint differs from the content")]
        return _check_constant(cohort)
    except DamagedStoreError as error:
        return [Problem("damaged", "signals", str(error))]


def _check_constant(cohort: Cohort) -> list[Problem]:
    problems = []
    names = np.asarray(cohort.regions)
    for rows, block in iterate_samples(cohort.signals, cohort.lengths):
        for row, flat in zip(rows, constant_regions(block), strict=True):
            if flat.any():
                detail = name_first(names[flat], limit=3)
                problems.append(Problem("constant-region", cohort.sample_ids[row], detail))
    return problems


def _check_subjects(cohort: Cohort) -> list[Problem]:
    sizes = cohort.samples.groupby("subject").size()
    return [Problem("single-window", str(name), "") for name in sizes.index[sizes == 1]]


def _check_labels(table: pd.DataFrame) -> list[Problem]:
    problems = []
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
