"""Opening .npy and .npz files safely: nothing is unpickled, damage is named."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnreadableFileError,
    explain_damage,
    import_extra,
    name_first,
    refuse_inflated,
)
from sclcs.cohort.readers.mat_files import load_mat_matrix, peek_mat_series
from sclcs.cohort.readers.text_matrix import (
    TextLayout,
    load_text_matrix,
    peek_text_matrix,
    plain_suffix,
    row_labels,
)

__all__ = [
    "SERIES_ENDINGS",
    "Layout",
    "NpzArchive",
    "SeriesFile",
    "is_series_file",
    "load_ptseries",
    "look_at",
    "open_npy",
    "oriented",
    "peek_ptseries",
    "require_layout",
    "series_stem",
]


class NpzArchive:
    """The arrays of an .npz file, known by shape and type before any is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with explain_damage(path, "an .npz archive"), zipfile.ZipFile(path) as archive:
            held = sum(member.compress_size for member in archive.infolist())
            unpacked = sum(member.file_size for member in archive.infolist())
            refuse_inflated(path, unpacked, held=held, packed=held < unpacked)
            self._headers = {
                name.removesuffix(".npy"): _header(archive.open(name))
                for name in archive.namelist()
            }
            for member in archive.infolist():
                shape, dtype = self._headers[member.filename.removesuffix(".npy")]
                _refuse_inflated_array(path, shape, dtype, member.file_size)
        pickled = [name for name, (_, dtype) in self._headers.items() if dtype.hasobject]
        if pickled:
            raise _refusal_to_unpickle(f"{path} under {', '.join(pickled)}")

    @property
    def names(self) -> list[str]:
        """The names of the arrays."""
        return list(self._headers)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        return self._headers[name][0]

    def kind(self, name: str) -> str:
        """Return the numpy kind of an array ('f', 'i', 'U', ...) without reading it."""
        return self._headers[name][1].kind

    def read(self, name: str) -> NDArray[Any]:
        """Read one array."""
        with (
            explain_damage(self.path, "an .npz archive"),
            np.load(self.path, allow_pickle=False) as archive,
        ):
            return np.asarray(archive[name])


def open_npy(path: Path) -> NDArray[Any]:
    """Open an .npy file as a memory map, so that only what is used is read."""
    with explain_damage(path, "an .npy array"):
        with path.open("rb") as stream:
            shape, dtype = _header(stream)
        if dtype.hasobject:
            raise _refusal_to_unpickle(str(path))
        _refuse_inflated_array(path, shape, dtype, path.stat().st_size)
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    with stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:  # 2.0, and 3.0 which differs in the encoding of names of fields only
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    return shape, dtype


def _refuse_inflated_array(
    path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], held: int
) -> None:
    if any(size < 0 for size in shape):
        raise ValueError(f"it declares the shape {shape}")
    refuse_inflated(path, prod(shape) * dtype.itemsize, held=held)


def _refusal_to_unpickle(where: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"Expected plain arrays, found pickled Python objects in {where}; they are never loaded, "
        "because a pickle can run any code. Save numbers and strings as plain numpy arrays "
        "(dtype other than object)."
    )


def peek_ptseries(path: Path) -> tuple[tuple[str, ...], int, float | None]:
    """Look at the header of a parcellated time series.

    `path`: a ``.ptseries.nii`` file. Returns: `names`, of the parcels; `n_times`, time points;
    `tr`, repetition time in seconds; None if the series is not one of time.
    """
    image = _open(path)
    with explain_damage(path, "a CIFTI file"):
        series, parcels = image.header.get_axis(0), image.header.get_axis(1)
    names = tuple(str(name) for name in parcels.name)
    if len(set(names)) < len(names):
        raise UnreadableFileError(
            f"Expected each parcel once in {path}, but names are repeated; correct the atlas."
        )
    seconds = float(series.step) if str(series.unit).upper() == "SECOND" else 0.0
    return names, len(series), seconds if np.isfinite(seconds) and seconds > 0 else None


def load_ptseries(path: Path) -> NDArray[Any]:
    """Load the numbers of a parcellated time series (time, parcel)."""
    image = _open(path)
    with explain_damage(path, "a CIFTI file"):
        return np.asarray(image.dataobj)


def _open(path: Path) -> Any:  # noqa: ANN401 (nibabel has no types)
    nib = import_extra("nibabel", "nifti")
    with explain_damage(path, "a CIFTI file"):
        image = nib.load(path)
        declared = prod(image.shape) * int(image.get_data_dtype().itemsize)
        refuse_inflated(path, declared, packed=path.name.endswith(".gz"))
        kinds = [type(image.header.get_axis(k)).__name__ for k in range(len(image.shape))]
    if kinds != ["SeriesAxis", "ParcelsAxis"]:
        raise UnreadableFileError(
            f"Expected a parcellated time series (series x parcels) in {path}, found "
            f"{' x '.join(kinds)}; parcellate it first (wb_command -cifti-parcellate)."
        )
    return image


Layout = Literal["auto", "scan-time-region", "scan-region-time"]

_TEXT = (".csv", ".tsv", ".txt", ".1d")
PTSERIES = ".ptseries.nii"
GRETNA = "GretnaTimeCourse"
SERIES_ENDINGS = (*_TEXT, *(f"{end}.gz" for end in _TEXT), ".npy", ".mat", PTSERIES)
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

    `read`: returns the matrix as it is in the file; `shape`: rows and columns; 0 rows where they
    are not counted yet. (0, 0) if it is damaged; `names`: names of the regions, if the file has
    them; `time_first`: whether rows are time points; None if the file does not tell; `tr`:
    repetition time in seconds, if the file tells it.
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


def look_at(path: Path, layout: Layout = "auto", key: str | None = None) -> SeriesFile:
    """Look at one file; a damaged one is found too, and raises when it is read.

    `path`: a file whose name ends as in :data:`SERIES_ENDINGS`; `layout`: what the rows are;
    ``auto`` takes what the file says, if it says; `key`: variable of a .mat file.
    """
    wanted = {"scan-time-region": True, "scan-region-time": False}.get(layout)
    if wanted is None and (path.name.startswith("ROISignals_") or path.parent.name == GRETNA):
        wanted = True  # DPABI and GRETNA have a column per region
    try:
        lower = path.name.lower()
        if lower.endswith(".mat"):
            found = peek_mat_series(path, key)
            by_names = {found.shape[1]: True, found.shape[0]: False}
            if found.names and wanted is None and found.shape[0] != found.shape[1]:
                wanted = by_names[len(found.names)]
            read = partial(load_mat_matrix, path, found.variable)
            return SeriesFile(path, read, found.shape, found.names, wanted)
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

    `n_regions`: how many regions the atlas has. Returns: all with a known time axis, in the order
    given.
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
