"""ROI time series of a CONN project: ``results/preprocessing/ROI_Subject001_Condition001.mat``."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    checked,
    name_first,
    read_text_input,
    require_existing,
)
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.mat_files import load_mat_cells
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans

__all__ = ["read_conn"]

_FILE = re.compile(r"ROI_Subject(\d+)_Condition(\d+)\.mat")
_EVERYTHING = "000"  # CONN's own condition: all sessions, one after another
# Tissue classes that CONN puts before the regions.
_TISSUES = frozenset({"Grey Matter", "White Matter", "CSF"})


@dataclass(frozen=True)
class _File:
    path: Path
    subject: str
    condition: str


@checked
def read_conn(
    folder: str | os.PathLike[str],
    *,
    condition: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    regions: str | Sequence[str] | None = None,
    tr: float | None = None,
) -> Scans:
    """Read denoised ROI time series of the CONN toolbox.

    Parameters
    ----------
    folder : path-like
        The project folder (``conn_study``, beside ``conn_study.mat``), or its
        ``results/preprocessing``.
    condition : str, optional
        Number (``1``) or name (``rest``) of a condition; needed if there are several.
    labels : path-like, optional
        A csv, tsv or xlsx table; subjects are named ``Subject001``, or by their number.
    id_column : str, optional
        Its column of subjects; recognised by name if not given.
    regions : str or sequence of str, optional
        Names or patterns such as ``"atlas.*"`` or ``"networks.*"``; all by default, without grey
        matter, white matter and CSF, and without regions that have several components.
    tr : float, optional
        Repetition time in seconds; CONN's files do not tell it.

    Returns
    -------
    Scans
        One per subject. Only time points with a positive weight in the condition are used.
    """
    found = _find(Path(require_existing(folder, "CONN project")))
    chosen = _of_condition(found, condition)
    names: dict[Path, tuple[str, ...]] = {}
    problems = []
    for file in chosen:
        try:
            names[file.path] = _region_names(file.path)
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", f"Subject{file.subject}", str(error)))
    if not names:
        raise_for(problems)
    usual = Counter(names.values()).most_common(1)[0][0]
    scans = [
        Scan(f"Subject{file.subject}", f"Subject{file.subject}", partial(_load, file.path, usual))
        for file in chosen
        if file.path in names
    ]
    options = {"condition": chosen[0].condition, "regions": regions, "tr": tr}
    provenance = {"reader": "conn", "source": str(folder), "options": options}
    read = choose_regions(Scans(scans, usual, tr, provenance, problems), regions)
    if labels is None:
        return read
    table = read_label_table(labels, id_column)
    named = any(name.startswith("Subject") for name in table.ids("subject"))
    return attach_labels(read if named else _numbered(read), table, "subject")


def _find(folder: Path) -> list[_File]:
    for place in (folder / "results" / "preprocessing", folder):
        found = [(path, _FILE.fullmatch(path.name)) for path in sorted(place.glob("ROI_*.mat"))]
        files = [_File(path, m[1], m[2]) for path, m in found if m]
        if files:
            return files
    raise InputError(
        f"Expected ROI_Subject*_Condition*.mat in results/preprocessing of {folder}, found none; "
        "give the project folder of CONN after its denoising step."
    )


def _of_condition(files: Sequence[_File], wanted: str | None) -> list[_File]:
    known = sorted({file.condition for file in files})
    labels = _condition_names(files[0].path.parent)
    if wanted is None:
        real = [number for number in known if number != _EVERYTHING] or known
        if len(real) > 1:
            described = [f"{int(n)} ({labels[n]})" if n in labels else str(int(n)) for n in real]
            raise InputError(
                f"Expected one condition, found {len(real)}: {name_first(described, 10)}; choose "
                "one with --condition (condition=...), 0 for all sessions together."
            )
        number = real[0]
    else:
        by_name = {name: number for number, name in labels.items()}
        number = by_name.get(wanted, wanted.zfill(3) if wanted.isdigit() else wanted)
    if number not in known:
        raise UnknownNameError(
            f"There is no condition {wanted!r} here; choose one of "
            f"{name_first([*map(str, map(int, known)), *labels.values()], 20)}."
        )
    return [file for file in files if file.condition == number]


def _condition_names(folder: Path) -> dict[str, str]:
    """Read CONN's list of conditions, if it is there: a line per condition, in their order."""
    path = folder / "_list_conditions.txt"
    if not path.is_file():
        return {}
    lines = read_text_input(path, "CONN's list of conditions").splitlines()
    found = [re.fullmatch(r"\s*Condition(\d+)\s*=\s*(.+?)\s*", line) for line in lines]
    return {match[1].zfill(3): match[2] for match in found if match}


def _region_names(path: Path) -> tuple[str, ...]:
    names = [str(name) for name in load_mat_cells(path, "names")]
    data = load_mat_cells(path, "data")
    if len(names) != len(data):
        raise UnreadableFileError(
            f"Expected one name per region in {path}, found {len(names)} names for {len(data)}; "
            "run CONN's denoising again."
        )
    single = [
        name
        for name, values in zip(names, data, strict=True)
        if name not in _TISSUES and np.ndim(values) == 2 and min(np.shape(values)) == 1
    ]
    if not single:
        raise UnreadableFileError(f"Expected regions in {path}, found {name_first(names)} only.")
    return tuple(dict.fromkeys(single))


def _load(path: Path, regions: tuple[str, ...]) -> NDArray[np.float64]:
    names = [str(name) for name in load_mat_cells(path, "names")]
    data = load_mat_cells(path, "data")
    place = {name: row for row, name in enumerate(names)}
    missing = [name for name in regions if name not in place]
    if missing:
        raise UnreadableFileError(
            f"Expected the regions of the other subjects in {path}, but it lacks "
            f"{name_first(missing)}; extract all subjects with the same ROIs."
        )
    signals = np.stack([np.ravel(np.asarray(data[place[n]], dtype=np.float64)) for n in regions])
    weights = _weights(path, signals.shape[1])
    return signals if weights is None else signals[:, weights > 0]


def _weights(path: Path, n_times: int) -> NDArray[np.float64] | None:
    for variable in ("conditionweights", "conditionsweights"):
        try:
            cells: list[Any] = load_mat_cells(path, variable)
        except UnreadableFileError:
            continue  # Condition000 has none
        values = np.ravel(np.asarray(cells[0], dtype=np.float64)) if cells else np.empty(0)
        if len(values) == n_times:
            return values
    return None


def _numbered(scans: Scans) -> Scans:
    """Name subjects by their number, as a table does that says 1 or 001."""
    return scans.with_scans(
        [Scan(s.scan_id, s.subject.removeprefix("Subject"), s.load, s.facts) for s in scans]
    )
