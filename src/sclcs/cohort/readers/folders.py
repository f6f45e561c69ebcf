"""One file per scan: folders of text, .npy, .mat and CIFTI files, and the trees of HCP and UKB."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    name_first,
    require_existing,
)
from sclcs.cohort.labels import attach_labels, fact_name, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.bids_files import BidsFile, choose_atlas, parse_bids_name
from sclcs.cohort.readers.bids_metadata import split_tr
from sclcs.cohort.readers.series_files import (
    SERIES_ENDINGS,
    Layout,
    SeriesFile,
    is_series_file,
    look_at,
    oriented,
    series_stem,
)
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans

__all__ = ["NameTemplate", "name_facts", "read_hcp", "read_scan_folder", "read_ukb"]


_FIELD = re.compile(r"\{(\w+)\}|(\*\*?)")
_DPABI = "ROISignals_"
UKB_TR = 0.735  # seconds, of all resting-state scans of UK Biobank


def name_facts(stem: str) -> tuple[str, str, dict[str, Any]]:
    """Return the scan id, subject and facts that a name of BIDS tells.

    `stem`: a file name without its ending. Returns: `scan_id, subject`, the name itself if it is
    not one of BIDS; `facts`, `session`, `task`, `run` as far as the name has them.

    Examples
    --------
    >>> name_facts("sub-01_ses-2_task-rest_timeseries")
    ('sub-01_ses-2_task-rest', 'sub-01', {'session': '2', 'task': 'rest'})
    >>> name_facts("Pitt_0050003")
    ('Pitt_0050003', 'Pitt_0050003', {})
    """
    for text in (f"{stem}.x", f"{stem}_x.x"):  # with or without a suffix
        name = parse_bids_name(text)
        if name is not None and "sub" in name.entities:
            file = BidsFile(Path(text), name)
            facts = {key: label for key, label in file.facts().items() if label is not None}
            return name.scan_id, file.subject, facts
    return stem, stem, {}


class NameTemplate:
    """What a user says about the names of files.

    `template`: the name (or path below the folder) of a file without its ending, with fields:
    ``"{subject}_{session}"``, ``"{subject}/MNINonLinear/Results/{run}/*"``. Each field but the
    subject becomes a fact; ``*`` is any text inside a name.
    """

    def __init__(self, template: str) -> None:
        fields = [found[1] for found in _FIELD.finditer(template) if found[1]]
        if "subject" not in fields or len(set(fields)) < len(fields):
            raise InputError(
                f"Expected names with the field {{subject}} and each field once, such as "
                f"'{{subject}}_{{session}}', got {template!r}."
            )
        self._template = template
        self._with_folders = "/" in template
        pattern, start = "", 0
        for found in _FIELD.finditer(template):
            pattern += re.escape(template[start : found.start()])
            pattern += f"(?P<{found[1]}>[^/]+?)" if found[1] else "[^/]*"
            start = found.end()
        self._pattern = re.compile(pattern + re.escape(template[start:]))

    def facts(self, path: Path, stem: str) -> tuple[str, str, dict[str, Any]]:
        """Take the name of a file apart.

        `path`: below the folder that is read; `stem`: its name without the ending. Returns: the
        other fields.
        """
        text = (path.parent / stem).as_posix() if self._with_folders else stem
        found = self._pattern.fullmatch(text)
        if found is None:
            raise InputError(
                f"Expected names like {self._template!r}, but {text!r} is not; correct --names "
                "(file_names=...), or choose the files with --pattern."
            )
        fields = found.groupdict()
        subject = fields.pop("subject")
        scan_id = "_".join([subject, *(f"{key}-{value}" for key, value in fields.items())])
        return scan_id, subject, {fact_name(key): value for key, value in fields.items()}


@dataclass(frozen=True)
class Named:
    """A file and whose scan it is."""

    path: Path
    scan_id: str
    subject: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    atlas: str = ""


def read_scan_folder(
    folder: Path,
    *,
    layout: Layout = "auto",
    key: str | None = None,
    pattern: str | None = None,
    strip_suffix: str = "",
    file_names: str | None = None,
    n_regions: int | None = None,
    ignore: Sequence[Path] = (),
) -> Scans:
    """Read a folder of text, .npy, .mat or .ptseries.nii files, one scan each.

    `layout`: whether the rows of a file are time points or regions; ``auto`` finds out or asks;
    `key`: variable of .mat files; `pattern`: which files, for example ``"*_rois_dosenbach160.1D"``
    or ``"**/*.csv"``; by default those in the folder, or in folders of it if there is none;
    `strip_suffix`: text removed from the end of the file stem; what is left is the scan id;
    `file_names`: what the names of files say, for example ``"{subject}_{session}"``; see
    :class:`NameTemplate`. Without it names of BIDS (``sub-01_ses-2_...``) are understood;
    `n_regions`: how many regions the atlas has, if that is known; `ignore`: files that are not
    scans, such as the table of labels. Returns: the subject of each scan is what its name says,
    else its id, until labels say otherwise.
    """
    left_out = {os.path.realpath(path) for path in ignore}
    for wanted in (pattern,) if pattern else ("*", "**/*"):
        paths = [
            path
            for path in _matching(folder, wanted)
            if is_series_file(path) and os.path.realpath(path) not in left_out
        ]
        if paths:
            break
    else:
        raise NotFoundError(
            f"Expected files {', '.join(SERIES_ENDINGS)} that match {wanted!r} in {folder}, "
            "found none."
        )
    named = _named(_signals_only(paths), folder, strip_suffix, file_names)
    files = oriented([look_at(one.path, layout, key) for one in named], n_regions)
    return _scans(list(zip(named, files, strict=True)), folder)


def _matching(folder: Path, pattern: str) -> list[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise InputError(
            f"Expected a pattern of names inside the folder, such as '*.csv', got {pattern!r}."
        )
    try:
        return sorted(folder.glob(pattern))
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(f"The pattern {pattern!r} cannot be used: {error}.") from error


def _signals_only(paths: Sequence[Path]) -> list[Path]:
    """Leave out what DPABI puts beside its signals: correlations, the same signals as text."""
    signals = [path for path in paths if path.name.startswith(_DPABI)]
    if not signals:
        return list(paths)
    binary = {series_stem(path) for path in signals if path.suffix == ".mat"}
    return [p for p in signals if p.suffix == ".mat" or series_stem(p) not in binary]


def _named(
    paths: Sequence[Path], folder: Path, strip_suffix: str, file_names: str | None
) -> list[Named]:
    """Say whose scan every file is."""
    stems = [series_stem(path).removesuffix(strip_suffix).removeprefix(_DPABI) for path in paths]
    if file_names is not None:
        template = NameTemplate(file_names)
        below = [path.relative_to(folder) for path in paths]
        told = [template.facts(path, stem) for path, stem in zip(below, stems, strict=True)]
    else:
        homes = [path.parent.name for path in paths]
        if len(set(stems)) == 1 < len(paths):  # a folder per scan, with files of one name
            stems = homes
        elif len(set(stems)) < len(stems):
            stems = [f"{home}_{stem}" for home, stem in zip(homes, stems, strict=True)]
        told = [name_facts(stem) for stem in stems]
    return [Named(path, *one) for path, one in zip(paths, told, strict=True)]


def _scans(files: Sequence[tuple[Named, SeriesFile]], folder: Path) -> Scans:
    regions = _common_regions([file for _, file in files], folder)
    shared_tr, tr_facts = split_tr([file.tr for _, file in files])
    scans = []
    for (one, file), tr in zip(files, tr_facts, strict=True):
        known = {name: value for name, value in {**one.facts, **tr}.items() if value is not None}
        scans.append(Scan(one.scan_id, one.subject, _loader(file, regions), known))
    return Scans(scans, regions, shared_tr)


def _common_regions(files: Sequence[SeriesFile], folder: Path) -> tuple[str, ...]:
    """Return the region names of most files; numbers if they have none."""
    readable = [file for file in files if not file.damaged]
    if not readable:
        files[0].load()  # says what is wrong with the first
        raise UnreadableFileError(f"None of the {len(files)} files in {folder} can be read.")
    names, _ = Counter(file.names for file in readable).most_common(1)[0]
    if names is None:
        count, _ = Counter(file.n_regions for file in readable).most_common(1)[0]
        return tuple(f"region-{i}" for i in range(count or 0))
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        example = next(file.path for file in readable if file.names == names)
        raise InputError(
            f"Expected each region once in the header of {example}; repeated: "
            f"{name_first(repeated)}; correct the headers."
        )
    return names


def _loader(file: SeriesFile, regions: tuple[str, ...]) -> Callable[[], NDArray[Any]]:
    """Return what loads a file in the order of the regions that most files have."""
    if file.names == regions or file.n_regions != len(regions):
        return file.load  # another number of regions is found and named by the quality check
    if file.names is None and all(name == f"region-{i}" for i, name in enumerate(regions)):
        return file.load
    if file.names is not None and set(file.names) == set(regions):
        place = {name: row for row, name in enumerate(file.names)}
        return partial(_in_order, file, np.array([place[name] for name in regions]))
    other = (
        "has no names"
        if file.names is None
        else "has also " + name_first(sorted(set(file.names) - set(regions)), 3)
    )
    return partial(
        _raise,
        UnreadableFileError(
            f"Expected the regions {name_first(regions, 3)} in {file.path} as in most files, but "
            f"it {other}; extract all scans with the same atlas."
        ),
    )


def _in_order(file: SeriesFile, rows: NDArray[np.int64]) -> NDArray[Any]:
    return file.load()[rows]


def _raise(error: UnreadableFileError) -> NDArray[Any]:
    raise error


_HCP_RUN = re.compile(r"[rt]fMRI_([A-Za-z]+)(\d*)(?:_.+)?")
_UKB_FOLDER = re.compile(r"(\d+)_(\d+)")
_UKB_FILE = re.compile(r"fMRI\.(.+?)\.csv(\.gz)?")


def read_hcp(
    folder: str | os.PathLike[str],
    *,
    atlas: str | None = None,
    task: Sequence[str] | None = None,
    session: Sequence[str] | None = None,
    run: Sequence[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    regions: Sequence[str] | str | None = None,
    tr: float | None = None,
) -> Scans:
    """Read the HCP tree as it lies on disk: ``ID/MNINonLinear/Results/RUN/*.ptseries.nii``.

    The run becomes the facts `run` (``rfMRI_REST1_LR``), `task` (``rest``) and `session` (``1``,
    the day). What follows the run in the name of a file says which parcellation and cleaning it
    is: the `atlas`.
    """
    root = require_existing(folder, "folder of the HCP")
    found = []
    for path in sorted(root.glob("*/MNINonLinear/Results/*/*.ptseries.nii")):
        subject, name = path.parents[3].name, path.parent.name
        told = _HCP_RUN.fullmatch(name)
        facts = {"task": told[1].lower() if told else None, "session": told[2] if told else None}
        facts = {**{key: value or None for key, value in facts.items()}, "run": name}
        kind = series_stem(path).removeprefix(name).strip("_")
        found.append(Named(path, f"{subject}_{name}", subject, facts, kind))
    choices = {"task": task, "session": session, "run": run}
    example = "ID/MNINonLinear/Results/*/*.ptseries.nii"
    chosen = _chosen(found, root, example, atlas, choices)
    return _tree("hcp", root, chosen, (labels, id_column), regions=regions, tr=tr)


def read_ukb(
    folder: str | os.PathLike[str],
    *,
    atlas: str | None = None,
    session: Sequence[str] | str | None = None,
    labels: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    regions: Sequence[str] | str | None = None,
    tr: float = UKB_TR,
) -> Scans:
    """Read UK Biobank's ``<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz``, region x time.

    The first column of a file (``label_name``) names the regions. Subjects are the ids, the
    instance (2 is the first imaging visit, 3 the repeat) is the fact `session`; a table of labels
    has them in ``eid``.
    """
    root = require_existing(folder, "folder of UK Biobank")
    found = []
    for path in sorted(root.glob("*/fMRI/fMRI.*.csv*")):
        who, what = _UKB_FOLDER.fullmatch(path.parents[1].name), _UKB_FILE.fullmatch(path.name)
        if who and what:
            found.append(Named(path, who[0], who[1], {"session": who[2]}, what[1]))
    example = "<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz"
    chosen = _chosen(found, root, example, atlas, {"session": session})
    return _tree("ukb", root, chosen, (labels, id_column), regions=regions, tr=tr)


def _chosen(
    found: Sequence[Named],
    root: Path,
    example: str,
    atlas: str | None,
    choices: Mapping[str, Sequence[str] | str | None],
) -> list[Named]:
    """Keep the files of one atlas and of the sessions, tasks and runs that are wanted."""
    if not found:
        raise InputError(
            f"Expected {example} under {root}, found none; give the folder that holds the "
            "folders of subjects."
        )
    wanted = choose_atlas([one.atlas for one in found], atlas)
    kept = [one for one in found if one.atlas == wanted]
    for name, choice in choices.items():
        if choice is None:
            continue
        labels = {choice} if isinstance(choice, str) else set(choice)
        known = sorted({str(one.facts[name]) for one in kept})
        kept = [one for one in kept if one.facts[name] in labels]
        if not kept:
            raise UnknownNameError(
                f"There is no {name} {name_first(sorted(labels))} here; choose one of "
                f"{name_first(known, 20)}."
            )
    return kept


def _tree(
    kind: str,
    root: Path,
    chosen: Sequence[Named],
    table: tuple[str | os.PathLike[str] | None, str | None],
    *,
    regions: Sequence[str] | str | None,
    tr: float | None,
) -> Scans:
    """Read the files of a tree whose names of regions are in the files."""
    kept, problems = [], []
    for one in chosen:
        file = look_at(one.path)
        try:
            kept.append((one, _with_names(file)))
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", one.scan_id, str(error)))
    if not kept:
        raise_for(problems)
    scans = _scans(kept, root)
    provenance = {
        "reader": kind,
        "source": str(root),
        "options": {"atlas": chosen[0].atlas, "regions": regions, "tr": tr},
    }
    scans = scans.with_scans(
        list(scans), tr=scans.tr if tr is None else tr, provenance=provenance, problems=problems
    )
    scans = choose_regions(scans, regions)
    labels, id_column = table
    if labels is None:
        return scans
    rows = read_label_table(labels, id_column)
    if id_column is None and "eid" in rows.columns:
        rows = read_label_table(labels, "eid")
    return attach_labels(scans, rows, "subject")


def _with_names(file: SeriesFile) -> SeriesFile:
    if file.damaged:
        file.load()  # says what is wrong
    if file.names is None or (file.time_first and not file.path.name.endswith(".nii")):
        raise UnreadableFileError(
            f"Expected a table region x time whose first column names the regions in {file.path}, "
            "found another; fetch it again."
        )
    return file
