"""Scans in one 3-D array: .npz and .npy files."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, UnknownNameError, name_first, require_existing
from sclcs.cohort.labels import By, LabelTable, attach_labels, fact_name, read_label_table
from sclcs.cohort.readers.folders import read_scan_folder
from sclcs.cohort.readers.series_files import (
    Layout,
    NpzArchive,
    is_series_file,
    open_npy,
    require_layout,
)
from sclcs.cohort.regions import ATLAS_SIZES, REGION_SETS, choose_regions
from sclcs.cohort.scans import Scan, Scans, unique_scan_ids

__all__ = ["ArrayBlock", "name_by_rows", "read_arrays", "read_block", "scans_of_block"]


_SIGNAL_KEYS = ("timeseries", "signals", "X")
_REGION_KEYS = ("roi_names", "regions", "region_names")
_SUBJECT_KEYS = ("subject", "subjects")
_SCAN_KEYS = ("scan_id", "scan_ids", "file_id", "file_ids")
_LENGTH_KEY = "n_timepoints"
_ABOUT_REGIONS = ("roi_", "region")


@dataclass(frozen=True)
class ArrayBlock:
    """The scans of one 3-D array and what its file says about them.

    `signals`: three axes, the first is the scan; `lengths`: real time points of each scan; the
    rest is padding; `subjects, scan_ids`: whose scan each is, and what it is called; `facts`:
    labels, one value per scan; `tr`: repetition time in seconds, if all scans share it.
    """

    source: Path
    signals: NDArray[Any]
    regions: Sequence[Any] | None = None
    lengths: Sequence[Any] | None = None
    subjects: Sequence[Any] | None = None
    scan_ids: Sequence[Any] | None = None
    facts: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    tr: float | None = None


def read_block(source: Path, key: str | None = None) -> ArrayBlock:
    """Read a 3-D array of scans from an .npz or .npy file.

    `key`: name of the signals in an .npz; found if not given.
    """
    if source.suffix.lower() == ".npz":
        block = _from_npz(NpzArchive(source), key)
    elif source.suffix.lower() == ".npy":
        block = ArrayBlock(source, open_npy(source))
    else:
        raise InputError(
            f"Expected an .npz or .npy file or a folder with one file per scan, got {source}."
        )
    if block.signals.ndim != 3 or block.signals.dtype.kind not in "fiub":
        raise InputError(
            f"Expected signals as a 3-D array of numbers (scan, time, region) in {source}, found "
            f"shape {block.signals.shape} of type {block.signals.dtype}."
        )
    return block


def _from_npz(archive: NpzArchive, key: str | None) -> ArrayBlock:
    signal_key = _find_signals(archive, key)
    n_scans = archive.shape(signal_key)[0] if archive.shape(signal_key) else 0
    used = {signal_key, _LENGTH_KEY, *_REGION_KEYS, *_SUBJECT_KEYS, *_SCAN_KEYS}

    def first(keys: Sequence[str]) -> list[Any] | None:
        found = next((name for name in keys if name in archive.names), None)
        return None if found is None else _plain_values(archive.read(found))

    facts = {
        fact_name(name): _plain_values(archive.read(name))
        for name in archive.names
        if name not in used
        and not name.startswith(_ABOUT_REGIONS)
        and archive.shape(name) == (n_scans,)
        and archive.kind(name) in "biufUS"
    }
    regions, subjects, scan_ids = first(_REGION_KEYS), first(_SUBJECT_KEYS), first(_SCAN_KEYS)
    return ArrayBlock(
        archive.path,
        archive.read(signal_key),
        regions=regions,
        lengths=first((_LENGTH_KEY,)),
        subjects=subjects,
        scan_ids=scan_ids,
        facts=facts,
        tr=_shared_tr(archive, facts.get("tr")),
    )


def _find_signals(archive: NpzArchive, key: str | None) -> str:
    if key is not None:
        if key not in archive.names:
            raise UnknownNameError(
                f"There is no array {key!r} in {archive.path}; it has "
                f"{name_first(archive.names, 20)}."
            )
        return key
    cubes = [n for n in archive.names if len(archive.shape(n)) == 3 and archive.kind(n) in "fiu"]
    named = [name for name in _SIGNAL_KEYS if name in cubes]
    if named or len(cubes) == 1:
        return (named or cubes)[0]
    raise UnknownNameError(
        f"Expected the signals in {archive.path} under {', '.join(_SIGNAL_KEYS)} or as the only "
        f"3-D array of numbers, found {name_first(archive.names, 20)}; name the array with "
        "--key (key=...)."
    )


def _plain_values(values: NDArray[Any]) -> list[Any]:
    """Return Python values; NaN and empty text become None."""
    if values.dtype.kind == "f":
        # The shortest text of a float32 is what was meant: 24.45, not 24.450000762939453.
        return [None if np.isnan(value) else float(str(value)) for value in values.ravel()]
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    return [None if value == "" else value for value in values.ravel().tolist()]


def _shared_tr(archive: NpzArchive, per_scan: Sequence[Any] | None) -> float | None:
    if "tr" not in archive.names or archive.kind("tr") not in "fiu":
        return None
    values = set(per_scan or _plain_values(archive.read("tr")))
    only = values.pop() if len(values) == 1 else None
    return None if only is None else float(only)


def name_by_rows(
    block: ArrayBlock, table: LabelTable, id_column: str | None, by_position: bool
) -> ArrayBlock:
    """Give scans without ids the ids and labels of a table that has one row per scan.

    `table`: the labels, in the order of the scans; `id_column`: column that names the subjects;
    recognised by its name if not given; `by_position`: whether the user said that row n belongs to
    scan n: a table that was sorted otherwise would give every scan somebody else's labels.
    """
    if not by_position:
        raise InputError(
            f"The scans of {block.source} have no ids, so rows of {table.source} can be matched by "
            "their order only; put ids into the file (an array `subject` in an .npz), or say that "
            "row n belongs to scan n with --by-position (by_position=True)."
        )
    n_scans = len(block.signals)
    if len(table) != n_scans:
        raise InputError(
            f"The scans of {block.source} have no ids, so {table.source} must have one row per "
            f"scan in the same order; expected {n_scans} rows, found {len(table)}."
        )
    scan_column = table.column_like(_SCAN_KEYS)
    subject_column = id_column if id_column not in {None, scan_column} else table.subject_column()
    rows = table.facts(without={c for c in (scan_column, subject_column) if c is not None})
    facts = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    return replace(
        block,
        subjects=None if subject_column is None else table.columns[subject_column],
        scan_ids=None if scan_column is None else table.columns[scan_column],
        facts={**block.facts, **facts},
    )


def scans_of_block(block: ArrayBlock, layout: Layout = "auto") -> Scans:
    """Slice a 3-D array into scans; nothing is copied until a scan is used.

    `block`: the array and what is known about it; `layout`: order of its axes; ``auto`` is time
    before region, unless the names of the regions fit the other order only.
    """
    if layout == "auto":
        layout = _layout_of(block)
    time_axis, region_axis = (1, 2) if layout == "scan-time-region" else (2, 1)
    n_scans, n_regions = len(block.signals), block.signals.shape[region_axis]
    n_times = block.signals.shape[time_axis]
    regions = _region_names(block, n_regions, n_times)
    lengths = _lengths(block, n_scans, n_times)
    subjects = _names(block, "subjects", block.subjects, n_scans)
    scan_ids = _names(block, "scan ids", block.scan_ids, n_scans)
    if scan_ids is None:
        digits = max(4, len(str(n_scans)))
        unnamed = [f"scan-{number:0{digits}d}" for number in range(1, n_scans + 1)]
        scan_ids = unnamed if subjects is None else unique_scan_ids(subjects)
    scans = [
        Scan(
            scan_ids[i],
            scan_ids[i] if subjects is None else subjects[i],
            partial(_slice, block.signals, i, lengths[i], layout),
            {name: values[i] for name, values in block.facts.items()},
        )
        for i in range(n_scans)
    ]
    return Scans(scans, regions, block.tr)


def _layout_of(block: ArrayBlock) -> Layout:
    count = None if block.regions is None else len(block.regions)
    turned = block.signals.shape[1] == count and block.signals.shape[2] != count
    return "scan-region-time" if turned else "scan-time-region"


def _slice(signals: NDArray[Any], scan: int, length: int, layout: Layout) -> NDArray[Any]:
    if layout == "scan-time-region":
        return signals[scan, :length].T
    return signals[scan, :, :length]


def _region_names(block: ArrayBlock, n_regions: int, n_times: int) -> list[str]:
    if block.regions is None:
        return [f"region-{i}" for i in range(n_regions)]
    if len(block.regions) != n_regions:
        turned = len(block.regions) == n_times
        advice = "choose the other --layout" if turned else "correct the names"
        raise InputError(
            f"Expected {n_regions} region names in {block.source}, found {len(block.regions)}; "
            f"{advice}."
        )
    return [str(name) for name in block.regions]


def _lengths(block: ArrayBlock, n_scans: int, n_times: int) -> list[int]:
    if block.lengths is None:
        return [n_times] * n_scans
    if len(block.lengths) != n_scans:
        raise InputError(
            f"Expected one value of {_LENGTH_KEY} per scan in {block.source}, found "
            f"{len(block.lengths)} for {n_scans} scans."
        )
    wrong = [
        f"{length} at row {row}"
        for row, length in enumerate(block.lengths)
        if not isinstance(length, int | float) or not 0 <= length <= n_times or length % 1
    ]
    if wrong:
        raise InputError(
            f"Expected whole numbers from 0 to {n_times} (the time axis) as {_LENGTH_KEY} in "
            f"{block.source}, found {name_first(wrong)}; correct them, or choose the other "
            "--layout."
        )
    return [int(length) for length in block.lengths]


def _names(
    block: ArrayBlock, what: str, names: Sequence[Any] | None, n_scans: int
) -> list[str] | None:
    if names is None:
        return None
    texts = ["" if name is None else str(name).strip() for name in names]
    if len(texts) != n_scans:
        raise InputError(
            f"Expected one of the {what} per scan of {block.source}, found {len(texts)} for "
            f"{n_scans} scans."
        )
    empty = [f"row {row}" for row, text in enumerate(texts) if not text]
    if empty:
        raise InputError(
            f"Expected {what} for all scans of {block.source}; empty in {name_first(empty)}."
        )
    return texts


def read_arrays(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    regions: str | Sequence[str] | None = None,
    tr: float | None = None,
    key: str | None = None,
    layout: str = "auto",
    id_column: str | None = None,
    labels_by: By | None = None,
    by_position: bool = False,
    pattern: str | None = None,
    strip_suffix: str = "",
    file_names: str | None = None,
) -> Scans:
    """Read scans from an array, or from one file per scan.

    Parameters
    ----------
    path : path-like
        One of:

        - an ``.npz`` file: signals in a 3-D array; optional ``n_timepoints`` (real lengths,
          the rest is padding and never read), ``roi_names``, ``subject``, ``scan_id`` or
          ``file_id``, ``tr``. Every other array with one value per scan is a fact.
        - an ``.npy`` file with a 3-D array;
        - a folder of ``.csv``, ``.tsv``, ``.txt``, ``.1D`` (also with ``.gz``), ``.npy``, ``.mat``
          or CIFTI ``.ptseries.nii`` files, one scan each. The scan id is the file name without its
          ending; the region names are those of the header, of the parcels, or of the first column.
        - one such file.
    labels, id_column, regions, tr, key, layout, pattern, strip_suffix, file_names
        As options of ``sclcs import``.
    labels_by : {'subject', 'scan'}, optional
        What the ids of the table name; found by comparing if not given.
    by_position : bool
        For an array without ids: row n of the table belongs to scan n. Refused otherwise.

    Returns
    -------
    Scans
        Signals are loaded scan by scan. The subject is the one the file or the table
        names, else the scan id.
    """
    source = require_existing(path)
    known_layout = require_layout(layout)
    options = {
        "labels": None if labels is None else str(labels),
        "regions": regions if regions is None or isinstance(regions, str) else list(regions),
        "tr": tr,
        "key": key,
        "layout": known_layout,
        "id_column": id_column,
        "labels_by": labels_by,
        "pattern": pattern,
        "strip_suffix": strip_suffix,
        "file_names": file_names,
        "by_position": by_position,
    }
    beside = (source if source.is_dir() else source.parent) / "participants.tsv"
    if labels is None and source.is_dir() and beside.is_file():
        labels = beside
    table = None if labels is None else read_label_table(labels, id_column)
    if source.is_dir() or (is_series_file(source) and source.suffix.lower() != ".npy"):
        scans = read_scan_folder(
            source if source.is_dir() else source.parent,
            layout=known_layout,
            key=key,
            pattern=pattern if source.is_dir() else glob.escape(source.name),
            strip_suffix=strip_suffix,
            file_names=file_names,
            n_regions=_atlas_size(regions),
            ignore=[beside] if table is None else [beside, table.source],
        )
    else:
        block = read_block(source, key)
        if table is not None and block.scan_ids is None and block.subjects is None:
            block, table = name_by_rows(block, table, id_column, by_position), None
        scans = scans_of_block(block, known_layout)
    scans = _with_source(scans, tr, {"reader": "arrays", "source": str(source), "options": options})
    scans = choose_regions(scans, regions)
    return scans if table is None else attach_labels(scans, table, labels_by)


def _with_source(scans: Scans, tr: float | None, provenance: Mapping[str, Any]) -> Scans:
    problems = [problem for problem in scans.problems if problem.kind != "duplicate-id"]
    return Scans(list(scans), scans.regions, scans.tr if tr is None else tr, provenance, problems)


def _atlas_size(regions: str | Sequence[str] | None) -> int | None:
    chosen = REGION_SETS.get(regions) if isinstance(regions, str) else None
    return None if chosen is None else ATLAS_SIZES[chosen.atlas]
