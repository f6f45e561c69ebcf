"""What is in a cohort: counts, classes, how it was made, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sclcs._core import checked
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.problems import KINDS, Problem
from sclcs.cohort.tables import class_columns, number_columns

MAX_EXAMPLES = 5

#: What nilearn's strategies take out of images, as its documentation says.
STRATEGIES = {
    "none": "no nuisance signals removed",
    "simple": "motion (24 parameters), white matter and CSF regressed out, high-pass by cosines",
    "scrubbing": "motion, white matter and CSF regressed out, high-motion volumes cut out",
    "compcor": "motion and CompCor components regressed out, high-pass by cosines",
    "ica_aroma": "images denoised by ICA-AROMA, white matter and CSF regressed out",
}


@checked
def describe_cohort(cohort: Cohort) -> dict[str, Any]:
    """Describe a cohort in plain numbers, without reading its signals.

    JSON values: sizes, windows per subject, counts per class of each label column, summaries of
    numeric columns, windowing, exclusions by kind, fingerprint.
    """
    per_subject = Counter(cohort.samples.groupby("subject").size().tolist())
    provenance, table = cohort.provenance, cohort.samples
    excluded = [Problem(**entry) for entry in provenance.get("excluded", [])]
    return {
        "kind": "cohort",
        "samples": len(cohort),
        "subjects": cohort.n_subjects,
        "regions": cohort.n_regions,
        "timepoints": cohort.n_timepoints,
        "shortest": int(cohort.lengths.min()) if len(cohort) else cohort.n_timepoints,
        "tr": cohort.tr,
        "windows_per_subject": {str(n): per_subject[n] for n in sorted(per_subject)},
        "classes": {name: _classes(table, name) for name in class_columns(table)},
        "numbers": {name: _summary(table[name]) for name in number_columns(table)},
        "windowing": provenance.get("windowing"),
        "source": provenance.get("source"),
        "preparation": preparation(cohort),
        "regions_dropped": provenance.get("coverage", {}).get("regions_dropped", []),
        "notes": list(provenance.get("notes", [])),
        "excluded": _by_kind(excluded),
        "fingerprint": cohort.fingerprint,
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
        strategy = str(options.get("confounds", "none"))
        parts.append(STRATEGIES.get(strategy, f"regressed out: {strategy}") + _filters(options))
    if cohort.tr is None and "tr" not in cohort.samples:
        parts.append("repetition time not known")
    else:
        known = cohort.tr is not None
        parts.append(f"repetition time {cohort.tr:g} s" if known else "repetition times differ")
    if found.get("resampled_to"):
        parts.append(f"resampled to {found['resampled_to']:g} s")
    parts.append(_cuts(cohort, found.get("windowing") or {}))
    if found.get("labels"):
        parts.append(f"labels from {Path(found['labels']['source']).name}")
    dropped = found.get("coverage", {}).get("regions_dropped", [])
    if dropped:
        parts.append(f"{len(dropped)} regions that some scans do not cover left out")
    left_out = Counter(entry["kind"] for entry in found.get("excluded", []))
    left_out.pop("extra-label", None)
    if left_out:
        counts = [f"{count} {kind}" for kind, count in left_out.most_common()]
        parts.append(f"left out: {', '.join(counts)}")
    return f"{'; '.join(parts)}."


def _filters(options: Mapping[str, Any]) -> str:
    used = [
        *([f"low-pass {options['low_pass']:g} Hz"] if options.get("low_pass") else []),
        *([f"high-pass {options['high_pass']:g} Hz"] if options.get("high_pass") else []),
        *(["detrended"] if options.get("detrend") else []),
        *([f"smoothed by {options['smoothing']:g} mm"] if options.get("smoothing") else []),
    ]
    return f"; {', '.join(used)}" if used else "; no other filter"


def _cuts(cohort: Cohort, windowing: Mapping[str, Any]) -> str:
    first, cut = windowing.get("drop_first"), windowing.get("truncate")
    before = f"first {first} dropped, " if first and str(first) != "0" else ""
    before += f"cut to the first {cut}, " if cut else ""
    length = windowing.get("length")
    if length is None:
        return f"{before}whole scans of {cohort.length_text} time points"
    return f"{before}windows of {length} every {windowing.get('stride') or length}"


def _classes(table: pd.DataFrame, name: str) -> dict[str, dict[str, int]]:
    """Count subjects and rows per class; in a column with gaps 2.0 means the class 2."""
    return {
        f"{value:g}" if isinstance(value, float) else str(value): {
            "subjects": int(rows["subject"].nunique()),
            "rows": len(rows),
        }
        for value, rows in table.groupby(name)
    }


def _summary(column: pd.Series) -> dict[str, float]:
    if not len(column.dropna()):
        return {}
    column = column.astype(float)
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
