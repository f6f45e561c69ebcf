"""All scans in one 3-D array: .npz and .npy files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, UnknownNameError, name_first
from sclcs.cohort.labels import LabelTable, attach_labels, column_name
from sclcs.cohort.readers.series_files import NpzArchive, open_npy, rows_are_time
from sclcs.cohort.scans import Scan, Scans, unique_scan_ids

_SIGNALS = ("timeseries", "signals", "X")
_REGIONS = ("roi_names", "regions", "region_names")
_SUBJECTS = ("subject", "subjects")
_SCANS = ("scan_id", "scan_ids", "file_id", "file_ids")
_LENGTHS = ("n_timepoints",)
_ABOUT_REGIONS = ("roi_", "region")


@dataclass(frozen=True)
class _Block:
    """A 3-D array (scan, ., .) and what its file says about it.

    `lengths` are the real time points of each scan, the rest is padding; `metadata` has one value
    per scan.
    """

    source: Path
    signals: NDArray[Any]
    regions: Sequence[Any] | None = None
    lengths: Sequence[Any] | None = None
    subjects: Sequence[Any] | None = None
    scan_ids: Sequence[Any] | None = None
    metadata: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    tr: float | None = None


def holds_all_scans(path: Path) -> bool:
    """Tell whether an .npz or .npy file holds all scans rather than one matrix."""
    if path.suffix.lower() == ".npz":
        archive = NpzArchive(path)
        return bool(archive.numbers(3)) or not archive.numbers(2)
    return path.suffix.lower() == ".npy" and open_npy(path).ndim != 2


def read_cube(
    source: Path,
    key: str | None,
    time_first: bool | None,
    table: LabelTable | None,
    by_position: bool,
) -> Scans:
    """Read a 3-D array of scans, and give them the labels of a table.

    An .npz may also hold ``n_timepoints`` (real lengths; what is beyond is never read),
    ``roi_names``, ``subject``, ``scan_id`` or ``file_id``, ``tr``, and metadata of scans.
    """
    block = _from_npz(NpzArchive(source), key) if source.suffix.lower() == ".npz" else None
    block = block or _Block(source, open_npy(source))
    if block.signals.ndim != 3 or block.signals.dtype.kind not in "fiub":
        raise InputError(
            f"Expected signals as a 3-D array of numbers (scan, time, region) in {source}, found "
            f"shape {block.signals.shape} of type {block.signals.dtype}."
        )
    if table is not None and block.scan_ids is None and block.subjects is None:
        return _scans(_named_by_rows(block, table, by_position), time_first)
    scans = _scans(block, time_first)
    return scans if table is None else attach_labels(scans, table)


def _from_npz(archive: NpzArchive, key: str | None) -> _Block:
    signals = _find_signals(archive, key)
    n_scans = archive.arrays[signals][0][:1]

    def first(keys: Sequence[str]) -> list[Any] | None:
        found = next((name for name in keys if name in archive.arrays), None)
        return None if found is None else _plain_values(archive.read(found))

    used = {signals, *_LENGTHS, *_REGIONS, *_SUBJECTS, *_SCANS}
    metadata = {
        column_name(name): _plain_values(archive.read(name))
        for name, (shape, dtype) in archive.arrays.items()
        if name not in used
        and not name.startswith(_ABOUT_REGIONS)
        and shape == n_scans
        and dtype.kind in "biufUS"
    }
    times = set(metadata.get("tr") or (first(("tr",)) if "tr" in archive.numbers(0) else ()) or ())
    return _Block(
        archive.path,
        archive.read(signals),
        regions=first(_REGIONS),
        lengths=first(_LENGTHS),
        subjects=first(_SUBJECTS),
        scan_ids=first(_SCANS),
        metadata=metadata,
        tr=times.pop() if len(times) == 1 else None,
    )


def _find_signals(archive: NpzArchive, key: str | None) -> str:
    if key is not None:
        if key not in archive.arrays:
            raise UnknownNameError(
                f"There is no array {key!r} in {archive.path}; it has "
                f"{name_first(archive.arrays, 20)}."
            )
        return key
    cubes = archive.numbers(3)
    named = [name for name in _SIGNALS if name in cubes]
    if named or len(cubes) == 1:
        return (named or cubes)[0]
    raise UnknownNameError(
        f"Expected the signals in {archive.path} under {', '.join(_SIGNALS)} or as the only "
        f"3-D array of numbers, found {name_first(archive.arrays, 20)}; name the array with "
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


def _named_by_rows(block: _Block, table: LabelTable, by_position: bool) -> _Block:
    """Give scans without ids the ids and labels of a table that has one row per scan.

    Only if the user says that row n belongs to scan n: a table that was sorted otherwise would give
    every scan somebody else's labels.
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
    scan_column = table.column_like(_SCANS)
    subject_column = table.subject_column()
    if table.id_column not in {None, scan_column}:
        subject_column = table.id_column
    rows = table.rows(without={c for c in (scan_column, subject_column) if c is not None})
    labels = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    return replace(
        block,
        subjects=None if subject_column is None else table.columns[subject_column],
        scan_ids=None if scan_column is None else table.columns[scan_column],
        metadata={**block.metadata, **labels},
    )


def _scans(block: _Block, time_first: bool | None) -> Scans:
    """Slice a block into scans; nothing is copied until a scan is used."""
    signals, n_scans = block.signals, len(block.signals)
    if time_first is None:
        time_first = _time_first(block)
    n_times, n_regions = signals.shape[1:] if time_first else signals.shape[:0:-1]
    regions = _region_names(block, n_regions, n_times)
    lengths = _lengths(block, n_scans, n_times)
    subjects = _names(block, "subjects", block.subjects)
    scan_ids = _names(block, "scan ids", block.scan_ids)
    if scan_ids is None:
        digits = max(4, len(str(n_scans)))
        unnamed = [f"scan-{number:0{digits}d}" for number in range(1, n_scans + 1)]
        scan_ids = unnamed if subjects is None else unique_scan_ids(subjects)
    scans = [
        Scan(
            scan_ids[i],
            scan_ids[i] if subjects is None else subjects[i],
            _loader(signals[i], lengths[i], time_first),
            {name: values[i] for name, values in block.metadata.items()},
        )
        for i in range(n_scans)
    ]
    return Scans(scans, regions, block.tr)


def _time_first(block: _Block) -> bool:
    """Take the axis of time as names of regions or the signals show it; else it comes first."""
    shape = block.signals.shape
    if block.regions is not None and shape[1] != shape[2]:
        return bool(len(block.regions) != shape[1])
    lengths = block.lengths or [shape[1]] * len(block.signals)
    whole = [i for i, length in enumerate(lengths) if length == shape[1]]
    return rows_are_time(block.signals[i] for i in whole) is not False


def _loader(scan: NDArray[Any], length: int, time_first: bool) -> Callable[[], NDArray[Any]]:
    return lambda: scan[:length].T if time_first else scan[:, :length]


def _region_names(block: _Block, n_regions: int, n_times: int) -> list[str]:
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


def _lengths(block: _Block, n_scans: int, n_times: int) -> list[int]:
    if block.lengths is None:
        return [n_times] * n_scans
    if len(block.lengths) != n_scans:
        raise InputError(
            f"Expected one value of {_LENGTHS[0]} per scan in {block.source}, found "
            f"{len(block.lengths)} for {n_scans} scans."
        )
    wrong = [
        f"{length} at row {row}"
        for row, length in enumerate(block.lengths)
        if not isinstance(length, int | float) or not 0 <= length <= n_times or length % 1
    ]
    if wrong:
        raise InputError(
            f"Expected whole numbers from 0 to {n_times} (the time axis) as {_LENGTHS[0]} in "
            f"{block.source}, found {name_first(wrong)}; correct them, or choose the other "
            "--layout."
        )
    return [int(length) for length in block.lengths]


def _names(block: _Block, what: str, names: Sequence[Any] | None) -> list[str] | None:
    if names is None:
        return None
    strings = ["" if name is None else str(name).strip() for name in names]
    if len(strings) != len(block.signals):
        raise InputError(
            f"Expected one of the {what} per scan of {block.source}, found {len(strings)} for "
            f"{len(block.signals)} scans."
        )
    empty = [f"row {row}" for row, text in enumerate(strings) if not text]
    if empty:
        raise InputError(
            f"Expected {what} for all scans of {block.source}; empty in {name_first(empty)}."
        )
    return strings
