"""A folder with one file per scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.readers.array_files import open_npy
from sclcs.cohort.readers.text_matrix import TextLayout, load_text_matrix, peek_text_matrix
from sclcs.cohort.scans import Scan, Scans
from sclcs.core.errors import InputError, NotFoundError, UnreadableFileError, name_first

__all__ = ["Layout", "read_scan_folder"]

Layout = Literal["scan-time-region", "scan-region-time"]

_SUFFIXES = (".csv", ".tsv", ".txt", ".1d", ".npy")


@dataclass(frozen=True)
class _File:
    """What is known of one file before its numbers are loaded."""

    path: Path
    load: Callable[[], NDArray[Any]]
    n_regions: int | None  # None: the file is damaged, and loading it will say how
    names: tuple[str, ...] | None = None


def read_scan_folder(
    folder: Path,
    *,
    layout: Layout = "scan-time-region",
    pattern: str = "*",
    strip_suffix: str = "",
    ignore: Sequence[Path] = (),
) -> Scans:
    """Read a folder of .csv, .tsv, .txt, .1D or .npy files, one scan each.

    Parameters
    ----------
    folder : Path
        The folder.
    layout : {'scan-time-region', 'scan-region-time'}
        Whether the rows of a file are time points or regions.
    pattern : str
        Which files, for example ``"*_rois_dosenbach160.1D"`` or ``"**/*.csv"``.
    strip_suffix : str
        Text removed from the end of the file stem; what is left is the scan id.
    ignore : sequence of Path
        Files that are not scans, such as the table of labels.

    Returns
    -------
    Scans
        The subject of each scan is its id until labels say otherwise.
    """
    left_out = {path.resolve() for path in ignore}
    paths = [
        path
        for path in sorted(folder.glob(pattern))
        if path.suffix.lower() in _SUFFIXES
        and not path.name.startswith(".")
        and path.resolve() not in left_out
    ]
    if not paths:
        raise NotFoundError(
            f"Expected files {', '.join(_SUFFIXES)} that match {pattern!r} in {folder}, found none."
        )
    files = [_peek(path, layout) for path in paths]
    regions, from_header = _common_regions(files, folder)
    scans = []
    for file in files:
        scan_id = file.path.stem.removesuffix(strip_suffix)
        load = _checked(file, regions) if from_header else file.load
        scans.append(Scan(scan_id, scan_id, load))
    return Scans(scans, regions)


def _peek(path: Path, layout: Layout) -> _File:
    rows_are_time = layout == "scan-time-region"
    try:
        if path.suffix.lower() == ".npy":
            load = partial(_load_npy, path, rows_are_time)
            return _File(path, load, load().shape[0])
        text = peek_text_matrix(path)
        load_text = partial(_load_text, path, text, rows_are_time)
        if rows_are_time:
            return _File(path, load_text, text.n_columns, text.names)
        return _File(path, load_text, load_text().shape[0])
    except UnreadableFileError as error:
        return _File(path, partial(_raise, error), None)


def _load_npy(path: Path, rows_are_time: bool) -> NDArray[Any]:
    matrix = open_npy(path)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"Expected a matrix of numbers (time x region) in {path}, found shape {matrix.shape} "
            f"of type {matrix.dtype}."
        )
    return matrix.T if rows_are_time else matrix


def _load_text(path: Path, layout: TextLayout, rows_are_time: bool) -> NDArray[np.float64]:
    matrix = load_text_matrix(path, layout)
    return matrix.T if rows_are_time else matrix


def _raise(error: UnreadableFileError) -> NDArray[Any]:
    raise error


def _common_regions(files: Sequence[_File], folder: Path) -> tuple[tuple[str, ...], bool]:
    """Return the region names of most files, and whether they come from headers."""
    readable = [file for file in files if file.n_regions is not None]
    if not readable:
        files[0].load()  # says what is wrong with the first
        raise UnreadableFileError(f"None of the {len(files)} files in {folder} can be read.")
    names, _ = Counter(file.names for file in readable).most_common(1)[0]
    if names is None:
        count, _ = Counter(file.n_regions for file in readable).most_common(1)[0]
        return tuple(f"region-{i}" for i in range(count or 0)), False
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        example = next(file.path for file in readable if file.names == names)
        raise InputError(
            f"Expected each region once in the header of {example}; repeated: "
            f"{name_first(repeated)}; correct the headers."
        )
    return names, True


def _checked(file: _File, regions: tuple[str, ...]) -> Callable[[], NDArray[Any]]:
    """Refuse a file whose columns are named differently: they would be mixed up."""
    if file.n_regions != len(regions) or file.names == regions:
        return file.load  # another number of regions is found and named by the quality check
    if file.names is None:
        found = "has no header"
    else:
        pairs = zip(regions, file.names, strict=True)
        found = "has " + next(f"{b} in place of {a}" for a, b in pairs if a != b)
    error = UnreadableFileError(
        f"Expected the regions {name_first(regions, 3)} in the header of {file.path} as in most "
        f"files, but it {found}; put all files in one order of regions."
    )
    return partial(_raise, error)
