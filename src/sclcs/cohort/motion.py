"""Head motion of a scan: mean framewise displacement, whatever the file calls it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sclcs._core import InputError, UnreadableFileError
from sclcs.cohort.problems import Problem
from sclcs.cohort.readers.bids_files import BidsFile, parse_bids_name
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.tables import read_table_file

__all__ = [
    "MEAN_FD",
    "attach_motion",
    "confounds_file",
    "mean_displacement",
    "with_mean_fd",
    "without_motion",
]

MEAN_FD = "mean_fd"
#: What tables of phenotypes call it, in lower case without separators; the first found is used.
_NAMES = (
    "meanfd",
    "funcmeanfd",
    "fdmean",
    "meanfdpower",
    "meanfdjenkinson",
    "meanframewisedisplacement",
    "framewisedisplacementmean",
)
#: Columns of one value per volume, in files of XCP-D and fMRIPrep.
_PER_VOLUME = ("framewise_displacement", "FramewiseDisplacement", "fd")
_MISSING = {"", "n/a", "nan"}


def with_mean_fd(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Give motion its name: the first column that tables call motion becomes ``mean_fd``.

    Examples
    --------
    >>> with_mean_fd({"func_mean_fd": 0.12, "age": 31})
    {'mean_fd': 0.12, 'age': 31}
    """
    if MEAN_FD in facts:
        return dict(facts)
    bare = {re.sub(r"[\W_]+", "", str(name)).lower(): name for name in facts}
    found = next((bare[name] for name in _NAMES if name in bare), None)
    return {MEAN_FD if name == found else name: value for name, value in facts.items()}


def mean_displacement(path: Path) -> float | None:
    """Return the mean framewise displacement in a ``motion.tsv`` or ``confounds.tsv``.

    `path`: a table with one row per volume. Returns: in mm; the first volume, which has no
    predecessor, does not count. None if the table has no such column.
    """
    columns = read_table_file(path)
    name = next((name for name in _PER_VOLUME if name in columns), None)
    if name is None:
        return None
    try:
        known = [float(cell) for cell in columns[name] if cell.strip().lower() not in _MISSING]
    except ValueError as error:
        raise UnreadableFileError(
            f"Expected numbers in the column {name} of {path} ({error}); make it again."
        ) from error
    known = [value for value in known if math.isfinite(value)]
    return sum(known) / len(known) if known else None


def confounds_file(file: BidsFile) -> Path | None:
    """Return fMRIPrep's confounds beside a scan."""
    return _beside(file, {"timeseries", "regressors"}, "confounds")


def motion_file(file: BidsFile) -> Path | None:
    """Return the file beside a scan that tells its motion: XCP-D's, or fMRIPrep's confounds."""
    return _beside(file, {"motion"}) or confounds_file(file)


def _beside(file: BidsFile, suffixes: set[str], desc: str | None = None) -> Path | None:
    for path in sorted(file.path.parent.glob("*.tsv")):
        name = parse_bids_name(path)
        if (
            name is not None
            and name.suffix in suffixes
            and name.identity.items() <= file.name.identity.items()
            and (desc is None or name.entities.get("desc") == desc)
        ):
            return path
    return None


def attach_motion(scans: Scans, files: Mapping[str, BidsFile]) -> Scans:
    """Give every scan the mean displacement that a file beside it tells.

    `files`: the file of every scan, by scan id. Returns: with the fact ``mean_fd``, if any file
    tells it.
    """
    told = {name: _told(file) for name, file in files.items()}
    if all(value is None for value in told.values()):
        return scans
    moved = [replace(scan, facts={**scan.facts, MEAN_FD: told.get(scan.scan_id)}) for scan in scans]
    problems = [problem for problem in scans.problems if problem.kind != "duplicate-id"]
    return Scans(moved, scans.regions, scans.tr, scans.provenance, problems)


def _told(file: BidsFile) -> float | None:
    path = motion_file(file)
    return None if path is None else mean_displacement(path)


def without_motion(scans: Scans, max_fd: float) -> Scans:
    """Leave scans out whose mean framewise displacement is above a limit, or unknown.

    `max_fd`: in mm. Returns: those left out are among its problems, with their motion.
    """
    if max_fd <= 0:
        raise InputError(f"Expected a limit of motion above 0 mm, for example 0.5, not {max_fd}.")
    if not any(_known(scan) is not None for scan in scans):
        raise InputError(
            "A limit of motion needs the column mean_fd, but no scan has it: it is read from "
            "motion.tsv and confounds.tsv files and from tables of labels."
        )
    kept, left_out = [], []
    for scan in scans:
        value = _known(scan)
        if value is not None and value <= max_fd:
            kept.append(scan)
        else:
            found = "unknown" if value is None else f"{value:.3g} mm"
            left_out.append(
                Problem("high-motion", scan.scan_id, f"mean_fd {found}, limit {max_fd:g} mm")
            )
    problems = [problem for problem in scans.problems if problem.kind != "duplicate-id"]
    provenance = {**scans.provenance, "max_fd": max_fd}
    return Scans(kept, scans.regions, scans.tr, provenance, [*problems, *left_out])


def _known(scan: Scan) -> float | None:
    value = scan.facts.get(MEAN_FD)
    if value is None or isinstance(value, str) or not math.isfinite(float(value)):
        return None
    return float(value)
