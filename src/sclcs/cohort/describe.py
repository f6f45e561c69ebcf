"""What is in a cohort, or in scans before they are cut: counts, lengths, exclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sclcs._core import UnreadableFileError, checked, track
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.plausible import check_scan
from sclcs.cohort.problems import KINDS, Problem
from sclcs.cohort.scans import Scans
from sclcs.cohort.tables import class_columns, number_columns
from sclcs.cohort.windows import PAPER_WINDOWS

__all__ = ["describe_cohort", "describe_scans", "preparation"]

MAX_EXAMPLES = 5


@checked
def describe_cohort(cohort: Cohort) -> dict[str, Any]:
    """Describe a cohort in plain numbers.

    Parameters
    ----------
    cohort : Cohort
        Its signals are not read.

    Returns
    -------
    dict
        JSON values: sizes, windows per subject, counts per class of each label column,
        summaries of numeric columns, windowing, exclusions by kind, fingerprint.
    """
    per_subject = Counter(cohort.samples.groupby("subject").size().tolist())
    provenance = cohort.provenance
    return {
        "kind": "cohort",
        "samples": len(cohort),
        "subjects": cohort.n_subjects,
        "regions": cohort.n_regions,
        "timepoints": cohort.n_timepoints,
        "shortest": int(cohort.lengths.min()) if len(cohort) else cohort.n_timepoints,
        "tr": cohort.tr,
        "windows_per_subject": {str(n): per_subject[n] for n in sorted(per_subject)},
        "classes": _classes(cohort.samples),
        "numbers": _numbers(cohort.samples),
        "windowing": provenance.get("windowing"),
        "zscore": provenance.get("zscore"),
        "source": provenance.get("source"),
        "preparation": preparation(cohort),
        "regions_dropped": provenance.get("coverage", {}).get("regions_dropped", []),
        "notes": list(provenance.get("notes", [])),
        "excluded": _by_kind([Problem(**entry) for entry in provenance.get("excluded", [])]),
        "fingerprint": cohort.fingerprint,
    }


#: What nilearn's strategies take out of images, as its documentation says.
STRATEGIES = {
    "none": "no nuisance signals removed",
    "simple": "motion (24 parameters), white matter and CSF regressed out, high-pass by cosines",
    "scrubbing": "motion, white matter and CSF regressed out, high-motion volumes cut out",
    "compcor": "motion and CompCor components regressed out, high-pass by cosines",
    "ica_aroma": "images denoised by ICA-AROMA, white matter and CSF regressed out",
}


def preparation(cohort: Cohort) -> str:
    """Say in one paragraph how a cohort was made: atlas, confounds, filters, cuts, exclusions."""
    found = cohort.provenance
    if not found.get("reader"):
        return ""  # simulated, or made from arrays by hand
    options = found.get("options") or {}
    scans = cohort.samples["scan"].nunique() if "scan" in cohort.samples else len(cohort)
    atlas = f" of {options['atlas']}" if options.get("atlas") else ""
    origin = Path(found.get("source") or "arrays").name
    parts = [
        f"{scans} scans of {cohort.n_subjects} subjects from {origin}",
        f"{cohort.n_regions} regions{atlas}",
    ]
    if found.get("reader") == "nifti":
        strategy = options.get("confounds", "none")
        words = STRATEGIES.get(str(strategy), "regressed out: " + ", ".join(_list(strategy)))
        parts.append(words + _filters(options))
    if cohort.tr is not None:
        parts.append(f"repetition time {cohort.tr:g} s")
    elif "tr" in cohort.samples:
        parts.append("repetition times differ")
    if found.get("resampled_to"):
        parts.append(f"resampled to {found['resampled_to']:g} s")
    parts.append(_cuts(cohort, found.get("windowing") or {}))
    dropped = found.get("coverage", {}).get("regions_dropped", [])
    if dropped:
        parts.append(f"{len(dropped)} regions that some scans do not cover left out")
    left_out = Counter(entry["kind"] for entry in found.get("excluded", []))
    left_out.pop("extra-label", None)
    if left_out:
        told = ", ".join(f"{count} {kind}" for kind, count in left_out.most_common())
        parts.append(f"left out: {told}")
    return f"{'; '.join(parts)}."


def _list(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def _filters(options: dict[str, Any]) -> str:
    told = [
        *([f"low-pass {options['low_pass']:g} Hz"] if options.get("low_pass") else []),
        *([f"high-pass {options['high_pass']:g} Hz"] if options.get("high_pass") else []),
        *(["detrended"] if options.get("detrend") else []),
        *([f"smoothed by {options['smoothing']:g} mm"] if options.get("smoothing") else []),
    ]
    return f"; {', '.join(told)}" if told else "; no other filter"


def _cuts(cohort: Cohort, windowing: dict[str, Any]) -> str:
    first, cut = windowing.get("drop_first"), windowing.get("truncate")
    before = f"first {first} dropped, " if first and str(first) != "0" else ""
    before += f"cut to the first {cut}, " if cut else ""
    length = windowing.get("length")
    if length is None:
        return f"{before}whole scans of {cohort.length_text} time points"
    return f"{before}windows of {length} every {windowing.get('stride') or length}"


@checked
def describe_scans(scans: Scans, min_timepoints: Sequence[int] | None = None) -> dict[str, Any]:
    """Describe scans before they are cut; every scan is loaded once.

    Parameters
    ----------
    scans : Scans
        What a reader returned.
    min_timepoints : sequence of int, optional
        For each length, count the scans without problem that are at least so long. By
        default the lengths that give 1, 2, ... of the paper's windows.

    Returns
    -------
    dict
        JSON values: sizes, lengths, counts per class, problems by kind, usable scans by
        length.
    """
    lengths: dict[str, int] = {}
    problems = list(scans.problems)
    for scan in track(scans, "Reading scans"):
        try:
            signals = scan.signals()
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", scan.scan_id, str(error)))
            continue
        lengths[scan.scan_id] = signals.shape[-1]
        problems += check_scan(scan.scan_id, signals, scans.regions)
    bad = {problem.where for problem in problems if problem.fatal}
    good = scans.table.loc[[name for name in lengths if name not in bad]].assign(
        length=[n for name, n in lengths.items() if name not in bad]
    )
    return {
        "kind": "scans",
        "scans": len(scans),
        "subjects": int(scans.table["subject"].nunique()),
        "regions": len(scans.regions),
        "tr": scans.tr,
        "lengths": _summary(pd.Series(list(lengths.values()), dtype=float)),
        "classes": _classes(scans.table),
        "numbers": _numbers(scans.table),
        "source": scans.provenance.get("source"),
        "problems": _by_kind(problems),
        "usable": len(good),
        "usable_by_length": _usable_by_length(good, min_timepoints),
    }


def _classes(table: pd.DataFrame) -> dict[str, dict[str, dict[str, int]]]:
    """Count subjects and rows per class of every column that looks like a label."""
    return {
        name: {
            _class_name(value): {"subjects": int(rows["subject"].nunique()), "rows": len(rows)}
            for value, rows in table.groupby(name)
        }
        for name in class_columns(table)
    }


def _class_name(value: object) -> str:
    """Name a class; a column of integers with gaps is stored as floats, but 2.0 means 2."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _numbers(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Summarise the covariates."""
    return {name: _summary(table[name].astype(float)) for name in number_columns(table)}


def _summary(column: pd.Series) -> dict[str, float]:
    if not len(column.dropna()):
        return {}
    return {
        "min": float(column.min()),
        "median": float(column.median()),
        "max": float(column.max()),
        "missing": int(column.isna().sum()),
    }


def _by_kind(problems: Sequence[Problem]) -> dict[str, dict[str, Any]]:
    counts = Counter(problem.kind for problem in problems)
    return {
        kind: {
            "count": count,
            "meaning": KINDS[kind].meaning,
            "examples": [str(p) for p in problems if p.kind == kind][:MAX_EXAMPLES],
        }
        for kind, count in counts.most_common()
    }


def _usable_by_length(
    good: pd.DataFrame, min_timepoints: Sequence[int] | None
) -> list[dict[str, int]]:
    if not len(good):
        return []
    thresholds = list(min_timepoints or _paper_thresholds(int(good["length"].max())))
    rows = []
    for threshold in thresholds:
        enough = good[good["length"] >= threshold]
        row = {"timepoints": int(threshold), "scans": len(enough)}
        row["subjects"] = int(enough["subject"].nunique())
        if "site" in enough.columns:
            row["sites"] = int(enough["site"].nunique())
        rows.append(row)
    return rows


def _paper_thresholds(longest: int) -> list[int]:
    length, stride = PAPER_WINDOWS.length or 0, PAPER_WINDOWS.stride
    return [int(n) for n in np.arange(length, longest + 1, stride)]
