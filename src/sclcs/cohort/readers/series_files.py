"""One scan in one file, of any format that pipelines write: text, .npy or CIFTI.

A file is looked at first (how many regions, their names, which axis is time) and read later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from numpy.typing import NDArray

from sclcs.cohort.readers.array_files import open_npy
from sclcs.cohort.readers.cifti import load_ptseries, peek_ptseries
from sclcs.cohort.readers.text_matrix import (
    TextLayout,
    load_text_matrix,
    peek_text_matrix,
    plain_suffix,
    row_labels,
)
from sclcs.core.errors import InputError, UnreadableFileError, name_first

__all__ = [
    "SERIES_ENDINGS",
    "Layout",
    "SeriesFile",
    "is_series_file",
    "look_at",
    "oriented",
    "require_layout",
    "series_stem",
]

Layout = Literal["auto", "scan-time-region", "scan-region-time"]

_TEXT = (".csv", ".tsv", ".txt", ".1d")
PTSERIES = ".ptseries.nii"
SERIES_ENDINGS = (*_TEXT, *(f"{end}.gz" for end in _TEXT), ".npy", PTSERIES)
"""What the names of these files end with, in lower case."""

#: The share of files that must differ from the most common size to show which axis is time.
LEAST_DIFFERENT = 1 / 3

SHORT = {"time-region": "scan-time-region", "region-time": "scan-region-time"}


def require_layout(layout: str) -> Layout:
    """Return a layout a user named, or raise; ``region-time`` is short for one scan's axes."""
    name = SHORT.get(layout, layout)
    for known in get_args(Layout):
        if name == known:
            return known  # type: ignore[no-any-return]
    raise InputError(f"Expected layout to be one of {get_args(Layout)}, got {layout!r}.")


def is_series_file(path: Path) -> bool:
    """Tell whether a file may be one scan, by its name."""
    return path.name.lower().endswith(SERIES_ENDINGS) and not path.name.startswith(".")


def series_stem(path: Path) -> str:
    """Return the name of a file without its ending."""
    lower = path.name.lower()
    ending = max((end for end in SERIES_ENDINGS if lower.endswith(end)), key=len, default="")
    return path.name[: len(path.name) - len(ending)]


@dataclass(frozen=True)
class SeriesFile:
    """What is known of one file before its numbers are used.

    Parameters
    ----------
    path : Path
        The file.
    read : callable
        Returns the matrix as it is in the file.
    shape : tuple of int
        Rows and columns; 0 rows where they are not counted yet. (0, 0) if it is damaged.
    names : tuple of str or None
        Names of the regions, if the file has them.
    time_first : bool or None
        Whether rows are time points; None if the file does not tell.
    tr : float or None
        Repetition time in seconds, if the file tells it.
    """

    path: Path
    read: Callable[[], NDArray[Any]]
    shape: tuple[int, int]
    names: tuple[str, ...] | None = None
    time_first: bool | None = None
    tr: float | None = None

    @property
    def damaged(self) -> bool:
        """Whether reading it will raise."""
        return self.shape == (0, 0)

    @property
    def n_regions(self) -> int | None:
        """Number of regions; None if the file is damaged."""
        return None if self.damaged else self.shape[1 if self.time_first else 0]

    def load(self) -> NDArray[Any]:
        """Read the signals (region, time)."""
        matrix = self.read()
        return matrix.T if self.time_first else matrix


def look_at(path: Path, layout: Layout = "auto") -> SeriesFile:
    """Look at one file; a damaged one is found too, and raises when it is read.

    Parameters
    ----------
    path : Path
        A file whose name ends as in :data:`SERIES_ENDINGS`.
    layout : {'auto', 'scan-time-region', 'scan-region-time'}
        What the rows are; ``auto`` takes what the file says, if it says.

    Returns
    -------
    SeriesFile
    """
    wanted = {"scan-time-region": True, "scan-region-time": False}.get(layout)
    try:
        lower = path.name.lower()
        if lower.endswith(PTSERIES):
            names, n_times, tr = peek_ptseries(path)
            shape = (n_times, len(names))
            return SeriesFile(path, partial(load_ptseries, path), shape, names, True, tr)
        if lower.endswith(".npy"):
            matrix = _read_npy(path)
            return SeriesFile(path, partial(_read_npy, path), _shape(matrix), None, wanted)
        return _look_at_text(path, wanted)
    except UnreadableFileError as error:
        return SeriesFile(path, partial(_raise, error), (0, 0))


def _look_at_text(path: Path, wanted: bool | None) -> SeriesFile:
    text = peek_text_matrix(path)
    read = partial(load_text_matrix, path, text)
    if text.label_column:  # each row begins with the name of its region
        labels = row_labels(path, text)
        shape = (len(labels), text.n_columns)
        return SeriesFile(path, read, shape, labels, False)
    if plain_suffix(path) == ".1d" and wanted is None:
        wanted = True  # AFNI's and C-PAC's format: a column per region
    if text.names is not None and wanted is not False:
        return SeriesFile(path, read, (0, text.n_columns), text.names, True)
    if wanted is True:
        return SeriesFile(path, read, (0, text.n_columns), None, True)
    rows = _shape(load_text_matrix(path, TextLayout(**vars(text))))
    return SeriesFile(path, read, rows, None, wanted)


def _read_npy(path: Path) -> NDArray[Any]:
    matrix = open_npy(path)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"Expected a matrix of numbers (time x region) in {path}, found shape {matrix.shape} "
            f"of type {matrix.dtype}."
        )
    return matrix


def _shape(matrix: NDArray[Any]) -> tuple[int, int]:
    return (int(matrix.shape[0]), int(matrix.shape[1]))


def _raise(error: UnreadableFileError) -> NDArray[Any]:
    raise error


def oriented(files: Sequence[SeriesFile], n_regions: int | None = None) -> list[SeriesFile]:
    """Find out which axis is time where the files alone do not tell.

    It is certain if a number of regions is known and only one axis has it, if another file of
    the same regions tells, or if scans differ in length: the regions are the axis that does
    not vary. Otherwise the user is asked.

    Parameters
    ----------
    files : sequence of SeriesFile
        Of one study.
    n_regions : int, optional
        How many regions the atlas has.

    Returns
    -------
    list of SeriesFile
        All with a known time axis, in the order given.
    """
    open_questions = [file for file in files if file.time_first is None and not file.damaged]
    if not open_questions:
        return list(files)
    told = {file.n_regions for file in files if file.time_first is not None and not file.damaged}
    counts = told if n_regions is None else {*told, n_regions}
    rows = [file.shape[0] for file in open_questions]
    columns = [file.shape[1] for file in open_questions]
    time_first = _certain(rows, columns, {count for count in counts if count is not None})
    if time_first is None:
        shapes = sorted({f"{a} x {b}" for a, b in (file.shape for file in open_questions)})
        raise InputError(
            f"Expected to find out whether rows are time points or regions, but "
            f"{open_questions[0].path} and {len(open_questions) - 1} others have no header and "
            f"their sizes ({name_first(shapes)}) allow both; say it with --layout time-region or "
            "--layout region-time (layout=...)."
        )
    return [
        SeriesFile(f.path, f.read, f.shape, f.names, time_first, f.tr)
        if f.time_first is None and not f.damaged
        else f
        for f in files
    ]


def _certain(rows: list[int], columns: list[int], counts: set[int]) -> bool | None:
    """Return whether rows are time, or None if both may be."""
    if len(counts) == 1:
        as_regions = (set(rows) == counts, set(columns) == counts)
        if as_regions[0] != as_regions[1]:
            return as_regions[1]
    if _varies(rows) and len(set(columns)) == 1:
        return True
    if _varies(columns) and len(set(rows)) == 1:
        return False
    return None


def _varies(sizes: list[int]) -> bool:
    """Tell whether sizes differ as lengths of scans do; a few odd files may be mistakes."""
    usual = max(sizes.count(size) for size in set(sizes))
    return len(sizes) - usual >= LEAST_DIFFERENT * len(sizes)
