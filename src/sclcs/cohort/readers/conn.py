"""ROI time series of a CONN project: ``results/preprocessing/ROI_Subject001_Condition001.mat``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    name_first,
    read_text_input,
    require_existing,
)
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.bids_names import choose_atlas
from sclcs.cohort.readers.mat_files import load_mat_cells, load_mat_matrix
from sclcs.cohort.scans import Scan, Scans

#: Files that were collected from several projects have something in front.
_FILE = re.compile(r"(.*?)[_-]?ROI_Subject(\d+)_Condition(\d+)\.mat")
_EVERYTHING = "000"  # CONN's own condition: all sessions, one after another
#: Tissue classes that CONN puts before the regions.
_TISSUES = frozenset({"Grey Matter", "White Matter", "CSF"})


@dataclass(frozen=True)
class _File:
    path: Path
    subject: str
    condition: str


def read_conn(
    folder: Path,
    *,
    condition: str | None = None,
    atlas: str | None = None,
    session: Sequence[str] | None = None,
    regions: str | Sequence[str] | None = None,
) -> Scans:
    """Read denoised ROI time series of the CONN toolbox, a scan per subject and session.

    Of a project folder (``conn_study``, beside ``conn_study.mat``), of its
    ``results/preprocessing``, or of one file. `condition` is a number (``1``) or name (``rest``).
    A file holds the regions of several atlases, of which one is chosen by what their names begin
    with (or all, by ``all``); without grey matter, white matter and CSF, and without regions that
    have several components. Only time points with a positive weight in the condition are used.
    """
    found = _find(require_existing(folder, "CONN project"))
    chosen = _of_condition(found, condition)
    contents: dict[str, _Content] = {}
    problems = []
    for file in chosen:
        try:
            contents[file.subject] = _look_at(file.path)
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", file.subject, str(error)))
    if not contents:
        raise_for(problems)
    options: dict[str, Any] = {"condition": chosen[0].condition}
    names = [one.regions for one in contents.values()]
    if regions is None:
        names, options["atlas"] = _of_atlas(names, atlas)
    usual = Counter(names).most_common(1)[0][0]
    known = sorted({name for one in contents.values() for name in one.sessions})
    load = lru_cache(maxsize=1)(partial(_load, regions=usual))  # sessions of a file are neighbours
    scans = [
        Scan(
            f"{subject}_ses-{name}" if len(known) > 1 else subject,
            subject,
            partial(_session, load, one, name),
            {"session": name} if len(known) > 1 else {},
        )
        for subject, one in contents.items()
        for name in one.sessions
        if not session or name in session
    ]
    if not scans:
        raise UnknownNameError(
            f"There is no session {name_first(sorted(session or ()))} here; choose one of "
            f"{name_first(known)}."
        )
    return Scans(scans, usual, None, {"options": options}, problems)


def _of_atlas(
    found: Sequence[tuple[str, ...]], atlas: str | None
) -> tuple[list[tuple[str, ...]], str]:
    """Keep the regions of one atlas: overlapping ones would be correlated with themselves."""
    if atlas == "all":
        return list(found), "all"
    most: Counter[str] = Counter()
    for names in found:
        most |= Counter(name.split(".")[0] for name in names)
    wanted = choose_atlas(list(most.elements()), atlas, "regions")
    kept = [tuple(name for name in names if name.split(".")[0] == wanted) for names in found]
    return [names for names in kept if names], wanted


def _find(root: Path) -> list[_File]:
    paths = [root] if root.is_file() else []
    for folder in (root / "results" / "preprocessing", root):
        paths = paths or sorted(folder.glob("*ROI_*.mat"))
        matches = [(path, _FILE.fullmatch(path.name)) for path in paths]
        files = [
            _File(path, "_".join(filter(None, [m[1], f"Subject{m[2]}"])), m[3])
            for path, m in matches
            if m
        ]
        if files:
            return files
    raise InputError(
        f"Expected ROI_Subject*_Condition*.mat in results/preprocessing of {root}, found none; "
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


@dataclass(frozen=True, eq=False)
class _Content:
    """What a file holds: its regions, and the session of every time point that counts (or "")."""

    path: Path
    regions: tuple[str, ...]
    session_of: NDArray[np.str_]

    @property
    def sessions(self) -> list[str]:
        found = [name for name in np.unique(self.session_of).tolist() if name]
        return sorted(found, key=lambda name: (len(name), name))


def _look_at(path: Path) -> _Content:
    names, data = _names_and_data(path)
    single = {
        name: np.size(values)
        for name, values in zip(names, data, strict=True)
        if name not in _TISSUES and np.ndim(values) == 2 and min(np.shape(values)) == 1
    }
    if not single:
        raise UnreadableFileError(f"Expected regions in {path}, found {name_first(names)} only.")
    n_times = next(iter(single.values()))
    sessions = np.ones(n_times, dtype=np.int64)
    try:
        stored = np.ravel(load_mat_matrix(path, "data_sessions"))
    except UnreadableFileError:
        stored = sessions  # older projects have none
    if len(stored) == n_times:
        sessions = stored.astype(np.int64)
    weights = _weights(path, n_times)
    counts = np.ones(n_times, dtype=bool) if weights is None else weights > 0
    return _Content(path, tuple(single), np.where(counts, sessions.astype(str), ""))


def _names_and_data(path: Path) -> tuple[list[str], list[Any]]:
    names = [str(name) for name in load_mat_cells(path, "names")]
    data = load_mat_cells(path, "data")
    if len(names) != len(data):
        raise UnreadableFileError(
            f"Expected one name per region in {path}, found {len(names)} names for {len(data)}; "
            "run CONN's denoising again."
        )
    return names, data


def _load(content: _Content, regions: tuple[str, ...]) -> NDArray[np.float64]:
    held = dict(zip(*_names_and_data(content.path), strict=True))
    missing = [name for name in regions if name not in held]
    if missing:
        raise UnreadableFileError(
            f"Expected the regions of the other subjects in {content.path}, but it lacks "
            f"{name_first(missing)}; extract all subjects with the same ROIs."
        )
    return np.stack([np.ravel(np.asarray(held[name], dtype=np.float64)) for name in regions])


def _session(
    load: Callable[[_Content], NDArray[np.float64]], content: _Content, name: str
) -> NDArray[np.float64]:
    return load(content)[:, content.session_of == name]


def _weights(path: Path, n_times: int) -> NDArray[np.float64] | None:
    for variable in ("conditionweights", "conditionsweights"):
        try:
            cells: list[Any] = load_mat_cells(path, variable)
        except UnreadableFileError:
            continue  # Condition000 has none
        first: Any = cells[0] if cells else np.empty(0)
        if getattr(first, "dtype", np.dtype(float)).kind == "O":  # by condition, by kind of weight
            first = first.ravel()[0]
        values = np.ravel(np.asarray(first, dtype=np.float64))
        if len(values) == n_times:
            return values
    return None
