"""Regional time series of XCP-D, C-PAC, HALFpipe and other BIDS derivatives.

With what lies around the files of any derivative: participants, JSON sidecars, motion, coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sclcs._core import UnreadableFileError, read_json
from sclcs.cohort.labels import MEAN_FD, attach_labels, column_name, names_any, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.bids_names import (
    SERIES_FORMATS,
    BidsFile,
    BidsName,
    choose_atlas,
    find_files,
    labels_by_entity,
    parse_bids_name,
    require_one_file_per_scan,
    select_files,
)
from sclcs.cohort.readers.series_files import look_at
from sclcs.cohort.scans import Scan, Scans, aligned
from sclcs.cohort.tables import read_table_file

_PARENTS_SEARCHED = 3
#: Columns of one value per volume, in files of XCP-D and fMRIPrep.
_DISPLACEMENT = ("framewise_displacement", "FramewiseDisplacement", "fd")
_MISSING = {"", "n/a", "nan"}


def read_bids(
    folder: Path,
    *,
    atlas: str | None = None,
    task: Sequence[str] | None = None,
    session: Sequence[str] | None = None,
    run: Sequence[str] | None = None,
    space: str | None = None,
    desc: str | None = None,
    entity: Sequence[str] = (),
    labels: str | None = None,
    id_column: str | None = None,
    tr: float | None = None,
) -> Scans:
    """Read the ``*_timeseries`` files of XCP-D, C-PAC, HALFpipe or another BIDS derivative.

    Files are looked for in ``sub-*/[ses-*/]func/[task-*/]``. They are tables time x region
    (``.tsv``, ``.tsv.gz``, ``.1D``, ``.txt``, ``.csv``) or CIFTI (``.ptseries.nii``), and have a
    ``seg-`` or an ``atlas-`` entity; fMRIPrep's ``desc-confounds_timeseries.tsv`` are not regions
    and left aside. Where a scan is there in several formats, the first of these is read.

    Where a scan has files of several atlases, spaces, ..., one must be chosen; `run` also takes
    ``"combined"`` (XCP-D's joined runs) and ``"separate"``. XCP-D writes ``n/a`` for regions
    outside the scan's coverage: they are NaN here.
    """
    wanted = labels_by_entity(entity, task=task, ses=session, run=run, space=space, desc=desc)
    found = find_files(folder, "holds_series", "region time series (*_timeseries.tsv)")
    files = select_files(_of_atlas(found, atlas), wanted)
    files = _of_best_format(files)
    require_one_file_per_scan(files)
    sidecars = Sidecars(Path(folder))
    series, problems = [], []
    for file in files:
        name = file.name
        one = look_at(file.path, time_first=True)
        if one.error is not None:
            problems.append(Problem("unreadable", name.scan_id, str(one.error)))
            continue
        coverage = find_coverage(file, one.names)
        scan = Scan(name.scan_id, name.subject, one.load, name.metadata, coverage)
        series.append((scan, one.names, tr or sidecars.repetition_time(file) or one.tr))
    if not series:
        raise_for(problems)
    name = files[0].name
    options = {"atlas": name.parcellation, "space": name.entities.get("space")}
    read = aligned(series, problems)
    read = read.with_scans(read, provenance={"options": options})
    read = attach_motion(read, {file.name.scan_id: file for file in files})
    subjects = {file.name.subject for file in found}
    return attach_participants(read, Path(folder), subjects, labels, id_column)


def _of_atlas(files: Sequence[BidsFile], atlas: str | None) -> list[BidsFile]:
    asked = None if atlas is None else atlas.removeprefix("seg-").removeprefix("atlas-")
    wanted = choose_atlas([str(file.name.parcellation) for file in files], asked)
    return [file for file in files if file.name.parcellation == wanted]


def _of_best_format(files: Sequence[BidsFile]) -> list[BidsFile]:
    """Keep one of the files that hold the same series in several formats."""
    best: dict[str, BidsFile] = {}
    for file in sorted(files, key=lambda file: SERIES_FORMATS.index(file.name.extension)):
        # XCP-D's CIFTI has den-91k, its table has not; else the names are the same.
        same = {k: v for k, v in file.name.entities.items() if k != "den"}
        best.setdefault(str(sorted(same.items())), file)
    if len({file.name.extension for file in files}) == 1:
        return list(files)
    return sorted(best.values(), key=lambda file: file.path)


# What lies around the files: participants.


def attach_participants(
    scans: Scans,
    folder: Path,
    subjects: Collection[str],
    labels: str | None,
    id_column: str | None,
) -> Scans:
    """Give scans of a derivative their labels: of a table, by default of ``participants.tsv``.

    `subjects` have files in the derivative: their rows are no mistake even if none of their scans
    was chosen. What the names of files say stays.
    """
    path = Path(labels) if labels else _find_participants(folder, subjects)
    if path is None:
        looked = " or ".join(str(path) for path in _participants_paths(folder))
        return scans.noted(
            f"No labels: there is no {looked}. The cohort knows subjects and sessions only; give a "
            "table with --labels, or add one later."
        )
    table = read_label_table(path, id_column)
    chosen = {scan.subject for scan in scans}
    ids = [f"sub-{name.removeprefix('sub-')}" for name in table.ids("subject")]
    rows = [row for row, name in enumerate(ids) if name in chosen or name not in subjects]
    in_names = {name for scan in scans for name in scan.metadata}
    table = table.keep_rows(rows)
    columns = {k: v for k, v in table.columns.items() if column_name(k) not in in_names}
    return attach_labels(scans, replace(table, columns=columns), by="subject")


def _find_participants(folder: Path, subjects: Collection[str]) -> Path | None:
    """Find ``participants.tsv`` of a derivative: in it, in its dataset, or one folder up.

    A table one folder up may belong to something else: it counts only if it names a subject.
    """
    certain = {place / "participants.tsv" for place in _dataset_folders(folder)}
    for path in _participants_paths(folder):
        if path.is_file() and (path in certain or names_any(read_label_table(path), subjects)):
            return path
    return None


def _participants_paths(folder: Path) -> list[Path]:
    folders = dict.fromkeys([*_dataset_folders(folder), folder.resolve().parent])
    return [one / "participants.tsv" for one in folders]


def _dataset_folders(folder: Path) -> list[Path]:
    """Return the derivative folder and the datasets around it, innermost first.

    A parent counts as a dataset if it holds a ``derivatives`` folder on the way down, or
    a ``dataset_description.json``; other parents may hold unrelated tables.
    """
    folder = folder.resolve()
    found = [folder]
    for parent in list(folder.parents)[:_PARENTS_SEARCHED]:
        below = found[-1].relative_to(parent).parts
        if "derivatives" in below or (parent / "dataset_description.json").is_file():
            found.append(parent)
    return found


# Repetition times.


@dataclass
class Sidecars:
    """JSON sidecars of a derivative and its dataset, looked up by BIDS inheritance."""

    folder: Path
    _listed: dict[Path, list[BidsFile]] = field(default_factory=dict)
    _read: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def repetition_time(self, file: BidsFile | Path) -> float | None:
        """Return the repetition time of a scan in seconds, if a sidecar has it.

        The nearest and most specific sidecar wins: beside the file, then up to the
        derivative folder, then the same in the dataset it derives from; of a file without a name of
        BIDS only the one beside it. XCP-D writes ``RepetitionTime``; ``SamplingFrequency`` (in Hz)
        is understood too.
        """
        if isinstance(file, Path):
            beside = file.with_name(f"{file.name.partition('.')[0]}.json")
            paths = [beside] if beside.is_file() else []
        else:
            paths = self._candidates(file)
        for path in paths:
            content = self._content(path)
            seconds = _positive(content.get("RepetitionTime"))
            frequency = _positive(content.get("SamplingFrequency"))
            if seconds is not None:
                return seconds
            if frequency is not None:
                return 1.0 / frequency
        return None

    def _candidates(self, file: BidsFile) -> list[Path]:
        candidates: list[Path] = []
        inner = self.folder.resolve()
        below = file.path.resolve().parent.relative_to(inner)
        for root in _dataset_folders(inner):
            for place in [root / below, *(root / up for up in below.parents)]:
                fitting = [s for s in self._listing(place) if _applies(s.name, file.name)]
                # Own suffix and more entities first: the most specific statement.
                fitting.sort(
                    key=lambda s: (s.name.suffix != file.name.suffix, -len(s.name.entities))
                )
                candidates.extend(s.path for s in fitting)
        return candidates

    def _listing(self, place: Path) -> list[BidsFile]:
        if place not in self._listed:
            parsed = [(path, parse_bids_name(path)) for path in sorted(place.glob("*.json"))]
            self._listed[place] = [BidsFile(p, name) for p, name in parsed if name is not None]
        return self._listed[place]

    def _content(self, path: Path) -> dict[str, Any]:
        if path not in self._read:
            try:
                self._read[path] = read_json(path)
            except UnreadableFileError as error:
                raise UnreadableFileError(
                    f"Expected JSON in {path}, but it is damaged ({error}); repair it, or give "
                    "the repetition time with --tr (tr=...)."
                ) from error
        return self._read[path]


def _applies(sidecar: BidsName, file: BidsName) -> bool:
    if sidecar.suffix == file.suffix:
        return sidecar.entities.items() <= file.entities.items()
    # How the image was resampled or denoised does not change when it was measured.
    return sidecar.suffix == "bold" and sidecar.identity.items() <= file.identity.items()


def _positive(value: object) -> float | None:
    """Return a positive number; some XCP-D sidecars say ``"TR"`` instead of one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    return None


# Head motion.


def attach_motion(scans: Scans, files: Mapping[str, BidsFile]) -> Scans:
    """Give every scan the mean displacement of a file beside it, if there is one.

    XCP-D's ``motion.tsv``, or fMRIPrep's confounds; `files` are those of the scans by id.
    """
    found = {name: _mean_displacement(file) for name, file in files.items()}
    if all(value is None for value in found.values()):
        return scans
    moved = [{**scan.metadata, MEAN_FD: found.get(scan.scan_id)} for scan in scans]
    pairs = zip(scans, moved, strict=True)
    return scans.with_scans([replace(scan, metadata=metadata) for scan, metadata in pairs])


def _mean_displacement(file: BidsFile) -> float | None:
    """Return the mean displacement in mm; the first volume, which has none, does not count."""
    path = _beside(file, {"motion"}) or confounds_file(file)
    columns = {} if path is None else read_table_file(path)
    name = next((name for name in _DISPLACEMENT if name in columns), None)
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


def _beside(file: BidsFile, suffixes: set[str], desc: str | None = None) -> Path | None:
    for path in sorted(file.path.parent.glob("*.tsv")):
        name = parse_bids_name(path)
        if (
            name is not None
            and name.suffix in suffixes
            and name.identity.items() <= file.name.identity.items()
            and desc in {None, name.desc}
        ):
            return path
    return None


# How much of the regions a scan covers.

Coverage = Mapping[str, float]


def find_coverage(file: BidsFile, regions: tuple[str, ...]) -> Callable[[], Coverage] | None:
    """Return what reads the coverage of a scan's regions, if the pipeline says it.

    XCP-D has the table ``stat-coverage_bold.tsv`` (columns Node and coverage), HALFpipe the list
    ``Coverage`` in its JSON, in the order of the columns.
    """
    own = _without_format(file.name)
    for path in sorted(file.path.parent.glob("*_stat-coverage_bold.tsv")):
        name = parse_bids_name(path)
        if name is not None and _without_format(name) == own:
            return partial(_covered_in_table, path)
    stem = file.path.name.removesuffix(file.name.extension)
    sidecar = file.path.with_name(f"{stem}.json")
    if sidecar.is_file() and len(_covered_in_json(sidecar)) == len(regions):
        return lambda: dict(zip(regions, _covered_in_json(sidecar), strict=True))
    return None


def _without_format(name: BidsName) -> dict[str, str]:
    return {k: v for k, v in name.entities.items() if k not in {"stat", "den", "desc"}}


def _covered_in_table(path: Path) -> Coverage:
    columns = read_table_file(path)
    names = next((columns[c] for c in ("Node", "node", "region", "name") if c in columns), None)
    values = columns.get("coverage")
    if names is None or values is None:
        raise UnreadableFileError(
            f"Expected the columns Node and coverage in {path}, found {', '.join(columns)}; make "
            "it again with XCP-D, or remove it."
        )
    return {name: _share(cell) for name, cell in zip(names, values, strict=True)}


def _share(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return 0.0  # n/a: nothing is covered


def _covered_in_json(path: Path) -> list[float]:
    try:
        found = read_json(path).get("Coverage")
    except UnreadableFileError:
        return []  # a damaged sidecar is reported where its repetition time is read
    numbers = found if isinstance(found, list) else []
    return [float(n) if isinstance(n, int | float) else 0.0 for n in numbers]
