"""One file per scan: folders of text, .npy, .mat and CIFTI files, and the trees of HCP and UKB."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sclcs._core import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    name_first,
    require_existing,
)
from sclcs.cohort.labels import (
    attach_labels,
    column_name,
    has_id_column,
    names_any,
    read_label_table,
)
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.arrays import holds_all_scans, read_cube
from sclcs.cohort.readers.bids_names import choose_atlas, parse_bids_name
from sclcs.cohort.readers.series_files import (
    SERIES_ENDINGS,
    SeriesFile,
    is_series_file,
    look_at,
    oriented,
    series_stem,
)
from sclcs.cohort.regions import ATLAS_SIZES, REGION_SETS
from sclcs.cohort.scans import Scan, Scans, aligned

_FIELD = re.compile(r"\{(\w+)\}|(\*\*?)")
_DPABI = "ROISignals_"
_HCP_RUN = re.compile(r"[rt]fMRI_([A-Za-z]+)(\d*)(?:_.+)?")
_UKB_FOLDER = re.compile(r"(\d+)_(\d+)")
_UKB_FILE = re.compile(r"fMRI\.(.+?)\.csv(\.gz)?")
TABLES = {".csv", ".tsv", ".xlsx"}
UKB_TR = 0.735  # seconds, of all resting-state scans of UK Biobank
TIME_FIRST = {"auto": None, "time-region": True, "region-time": False}


def metadata_in_name(stem: str) -> tuple[str, str, dict[str, Any]]:
    """Return the scan id, the subject, and session, task and run as far as a name has them.

    Examples
    --------
    >>> metadata_in_name("sub-01_ses-2_task-rest_timeseries")
    ('sub-01_ses-2_task-rest', 'sub-01', {'session': '2', 'task': 'rest'})
    >>> metadata_in_name("Pitt_0050003")
    ('Pitt_0050003', 'Pitt_0050003', {})
    """
    for text in (f"{stem}.x", f"{stem}_x.x"):  # with or without a suffix
        name = parse_bids_name(text)
        if name is not None and "sub" in name.entities:
            return name.scan_id, name.subject, name.metadata
    return stem, stem, {}


class NameTemplate:
    """What a user says about the names of files.

    A template is the name (or path below the folder) of a file without its ending, with fields:
    ``"{subject}_{session}"``, ``"{subject}/MNINonLinear/Results/{run}/*"``. Each field but the
    subject becomes metadata; ``*`` is any text inside a name.
    """

    def __init__(self, template: str) -> None:
        fields = [found[1] for found in _FIELD.finditer(template) if found[1]]
        if "subject" not in fields or len(set(fields)) < len(fields):
            raise InputError(
                f"Expected names with the field {{subject}} and each field once, such as "
                f"'{{subject}}_{{session}}', got {template!r}."
            )
        self._template = template
        pattern, start = "", 0
        for found in _FIELD.finditer(template):
            pattern += re.escape(template[start : found.start()])
            pattern += f"(?P<{found[1]}>[^/]+?)" if found[1] else "[^/]*"
            start = found.end()
        self._pattern = re.compile(pattern + re.escape(template[start:]))

    def metadata(self, path: Path, stem: str) -> tuple[str, str, dict[str, Any]]:
        """Return the scan id, the subject and the other fields in a path below the folder."""
        text = (path.parent / stem).as_posix() if "/" in self._template else stem
        found = self._pattern.fullmatch(text)
        if found is None:
            raise InputError(
                f"Expected names like {self._template!r}, but {text!r} is not; correct --names "
                "(file_names=...), or choose the files with --pattern."
            )
        fields = found.groupdict()
        subject = fields.pop("subject")
        scan_id = "_".join([subject, *(f"{key}-{value}" for key, value in fields.items())])
        return scan_id, subject, {column_name(key): value for key, value in fields.items()}


@dataclass(frozen=True)
class _Named:
    """A file and whose scan it is."""

    path: Path
    scan_id: str
    subject: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    atlas: str = ""


def read_arrays(
    path: Path,
    *,
    labels: str | None = None,
    id_column: str | None = None,
    by_position: bool = False,
    regions: Sequence[str] | None = None,
    key: str | None = None,
    layout: str = "auto",
    pattern: str | None = None,
    file_names: str | None = None,
) -> Scans:
    """Read scans from an array of all, from a folder with one file per scan, or from such a file.

    The scan id is the file name without its ending, and without the end that all names share
    (``_rois_cc200``); names of BIDS are understood. The labels are those of `labels`, or of a
    table in the folder that names the scans.
    """
    source = require_existing(path)
    time_first = TIME_FIRST[layout]
    if not source.is_dir() and not is_series_file(source):
        raise InputError(
            f"Expected an .npz or .npy file or a folder with one file per scan, got {source}."
        )
    if not source.is_dir() and holds_all_scans(source):
        table = None if labels is None else read_label_table(labels, id_column)
        return read_cube(source, key, time_first, table, by_position)
    folder = source if source.is_dir() else source.parent
    paths = _files(folder, pattern if source.is_dir() else glob.escape(source.name))
    tables = [Path(labels)] if labels is not None else []
    if source.is_dir() and not tables:
        tables = _tables_beside(folder, paths, file_names)
    table = read_label_table(tables[0], id_column) if tables else None
    left_out = {os.path.realpath(path) for path in tables}
    paths = [path for path in paths if os.path.realpath(path) not in left_out]
    named = _named(paths, folder, file_names)
    files = [look_at(one.path, time_first, key) for one in named]
    chosen = [REGION_SETS[name] for name in regions or () if name in REGION_SETS]
    files = oriented(files, ATLAS_SIZES[chosen[0].atlas] if chosen else None)
    scans = _scans(list(zip(named, files, strict=True)))
    return scans if table is None else attach_labels(scans, table)


def _tables_beside(folder: Path, paths: Sequence[Path], file_names: str | None) -> list[Path]:
    """Return the tables in a folder of scans that name them, the one with labels first."""
    tables = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in TABLES]
    tables = [path for path in tables if has_id_column(path)]
    scans = _named([path for path in paths if path not in tables], folder, file_names)
    names = [name for one in scans for name in (one.subject, one.scan_id)]
    found = [path for path in tables if names_any(read_label_table(path), names)]
    found.sort(key=lambda path: path.name != "participants.tsv")
    if len(found) > 1 and found[0].name != "participants.tsv":
        raise InputError(
            f"Several tables name the scans: {name_first(found)}; choose one with --labels."
        )
    return found


def _files(folder: Path, pattern: str | None) -> list[Path]:
    """Return the files of scans: those in the folder, or in folders of it if there is none."""
    if pattern is not None and (Path(pattern).is_absolute() or ".." in Path(pattern).parts):
        raise InputError(
            f"Expected a pattern of names inside the folder, such as '*.csv', got {pattern!r}."
        )
    for wanted in (pattern,) if pattern else ("*", "**/*"):
        try:
            paths = [path for path in sorted(folder.glob(wanted)) if is_series_file(path)]
        except (ValueError, NotImplementedError, IndexError) as error:
            raise InputError(f"The pattern {wanted!r} cannot be used: {error}.") from error
        paths = [path for path in paths if path.name != "participants.tsv"]
        # DPABI puts correlations beside its signals, and the same signals as text.
        signals = [path for path in paths if path.name.startswith(_DPABI)]
        binary = {series_stem(path) for path in signals if path.suffix == ".mat"}
        signals = [p for p in signals if p.suffix == ".mat" or series_stem(p) not in binary]
        if paths:
            return signals or paths
    raise NotFoundError(
        f"Expected files {', '.join(SERIES_ENDINGS)} that match {pattern or '**/*'!r} in {folder}, "
        "found none."
    )


def _named(paths: Sequence[Path], folder: Path, file_names: str | None) -> list[_Named]:
    """Say whose scan every file is."""
    stems = [series_stem(path).removeprefix(_DPABI) for path in paths]
    if file_names is not None:
        template = NameTemplate(file_names)
        below = [path.relative_to(folder) for path in paths]
        names = [template.metadata(path, stem) for path, stem in zip(below, stems, strict=True)]
    else:
        homes = [path.parent.name for path in paths]
        if len(set(stems)) == 1 < len(paths):  # a folder per scan, with files of one name
            stems = homes
        elif len(set(stems)) < len(stems):
            stems = [f"{home}_{stem}" for home, stem in zip(homes, stems, strict=True)]
        names = [metadata_in_name(stem) for stem in stems]
        end = _shared_end([subject for _, subject, _ in names])
        names = [(i.removesuffix(end), s.removesuffix(end), m) for i, s, m in names]
    return [_Named(path, *one) for path, one in zip(paths, names, strict=True)]


def _shared_end(names: Sequence[str]) -> str:
    """Return the end from a separator on that all of several names share: ``_rois_cc200``."""
    shared = names[0] if names else ""
    while not all(name.endswith(shared) for name in names):
        shared = shared[1:]
    found = re.search(r"[_.-][^\W\d_].*", shared)  # numbers are part of an id
    end = found[0] if found and len(set(names)) > 1 else ""
    return "" if end in names else end


def _scans(files: Sequence[tuple[_Named, SeriesFile]]) -> Scans:
    problems = [
        Problem("unreadable", one.scan_id, str(file.error))
        for one, file in files
        if file.error is not None
    ]
    found = [
        (Scan(one.scan_id, one.subject, file.load, one.metadata), file.names, file.tr)
        for one, file in files
        if file.error is None
    ]
    if not found:
        raise_for(problems)
    return aligned(found, problems)


def read_hcp(
    folder: Path,
    *,
    atlas: str | None = None,
    task: Sequence[str] | None = None,
    session: Sequence[str] | None = None,
    run: Sequence[str] | None = None,
) -> Scans:
    """Read the HCP tree as it lies on disk: ``ID/MNINonLinear/Results/RUN/*.ptseries.nii``.

    The run becomes the columns `run` (``rfMRI_REST1_LR``), `task` (``rest``) and `session` (``1``,
    the day). What follows the run in the name of a file says which parcellation and cleaning it
    is: the `atlas`.
    """
    root = require_existing(folder, "folder of the HCP")
    found = []
    for path in sorted(root.glob("*/MNINonLinear/Results/*/*.ptseries.nii")):
        subject, name = path.parents[3].name, path.parent.name
        parts = _HCP_RUN.fullmatch(name)
        task_name, day = (parts[1].lower(), parts[2] or None) if parts else (None, None)
        metadata = {"task": task_name, "session": day, "run": name}
        metadata = {key: value for key, value in metadata.items() if value is not None}
        kind = series_stem(path).removeprefix(name).strip("_")
        found.append(_Named(path, f"{subject}_{name}", subject, metadata, kind))
    choices = {"task": task, "session": session, "run": run}
    return _tree(found, root, "ID/MNINonLinear/Results/*/*.ptseries.nii", atlas, choices)


def read_ukb(
    folder: Path,
    *,
    atlas: str | None = None,
    session: Sequence[str] | None = None,
    tr: float = UKB_TR,
) -> Scans:
    """Read UK Biobank's ``<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz``, region x time.

    The first column of a file (``label_name``) names the regions. Subjects are the ids, the
    instance (2 is the first imaging visit, 3 the repeat) is the session; a table of labels
    has them in ``eid``.
    """
    root = require_existing(folder, "folder of UK Biobank")
    found = []
    for path in sorted(root.glob("*/fMRI/fMRI.*.csv*")):
        who, what = _UKB_FOLDER.fullmatch(path.parents[1].name), _UKB_FILE.fullmatch(path.name)
        if who and what:
            found.append(_Named(path, who[0], who[1], {"session": who[2]}, what[1]))
    example = "<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz"
    return _tree(found, root, example, atlas, {"session": session}).at_tr(tr)


def _tree(
    found: Sequence[_Named],
    root: Path,
    example: str,
    atlas: str | None,
    choices: Mapping[str, Sequence[str] | None],
) -> Scans:
    """Read the files of one atlas, and of the sessions, tasks and runs that are wanted."""
    if not found:
        raise InputError(
            f"Expected {example} under {root}, found none; give the folder that holds the "
            "folders of subjects."
        )
    wanted = choose_atlas([one.atlas for one in found], atlas)
    chosen = [one for one in found if one.atlas == wanted]
    for name, choice in choices.items():
        if choice is None:
            continue
        known = sorted({str(one.metadata.get(name)) for one in chosen})
        chosen = [one for one in chosen if one.metadata.get(name) in set(choice)]
        if not chosen:
            raise UnknownNameError(
                f"There is no {name} {name_first(sorted(choice))} here; choose one of "
                f"{name_first(known, 20)}."
            )
    scans = _scans([(one, _with_names(look_at(one.path))) for one in chosen])
    return scans.with_scans(scans, provenance={"options": {"atlas": wanted}})


def _with_names(file: SeriesFile) -> SeriesFile:
    wrong = file.own_names is None or (file.time_first and not file.path.name.endswith(".nii"))
    if file.error is not None or not wrong:
        return file
    error = UnreadableFileError(
        f"Expected a table region x time whose first column names the regions in {file.path}, "
        "found another; fetch it again."
    )
    return replace(file, error=error)
