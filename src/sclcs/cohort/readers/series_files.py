"""One scan per file: csv, tsv, txt, C-PAC's .1D (also with .gz), .npy, .npz, .mat, CIFTI.

Nothing is unpickled, and damage is named. Which axis is time is taken from what the files say,
from scans of different length, or from connectivity that repeats itself from scan to scan.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnreadableFileError,
    explain_damage,
    import_extra,
    name_first,
    open_gzip,
    refuse_inflated,
    regular_file,
)
from sclcs.cohort.readers.mat_files import load_mat_matrix, peek_mat_series

_TEXT = (".csv", ".tsv", ".txt", ".1d")
_PTSERIES = ".ptseries.nii"
GRETNA = "GretnaTimeCourse"
SERIES_ENDINGS = (*_TEXT, *(f"{end}.gz" for end in _TEXT), ".npy", ".npz", ".mat", _PTSERIES)
"""What the names of these files end with, in lower case."""

_MISSING = frozenset({"", "n/a", "na", "nan"})
_PEEKED_LINES = 50  # header and comments are expected among these
#: The share of files that must differ from the most common size to show which axis is time.
LEAST_DIFFERENT = 1 / 3
#: How many scans must repeat the similarities of their regions, and how much (correlation); how
#: much smoother (lag-1 autocorrelation) the other axis must be. In 2400 draws of 5 or 12 scans of
#: four public data sets 93 % showed the right axis and none the wrong one.
ENOUGH_SCANS, MOST_COMPARED, REPEATED, SMOOTHER = 5, 12, 0.1, 0.05


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

    `read` returns the matrix as it is in the file; `shape` is rows and columns, with 0 rows where
    they are not counted yet; `own_names` are those of the regions, if the file has them;
    `time_first` says whether rows are time points, None where the file does not tell; `error` what
    is wrong with a damaged one.
    """

    path: Path
    read: Callable[[], NDArray[Any]]
    shape: tuple[int, ...]
    own_names: tuple[str, ...] | None = None
    time_first: bool | None = None
    tr: float | None = None
    error: UnreadableFileError | None = None

    @property
    def n_regions(self) -> int:
        """Number of regions."""
        return self.shape[1 if self.time_first else 0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the regions; numbers where the file has none."""
        return self.own_names or tuple(f"region-{i}" for i in range(self.n_regions))

    def load(self) -> NDArray[Any]:
        """Read the signals (region, time)."""
        matrix = self.read()
        return matrix.T if self.time_first else matrix


def look_at(path: Path, time_first: bool | None = None, key: str | None = None) -> SeriesFile:
    """Look at one file; a damaged one is found too, and raises when it is read.

    `time_first` is what the user says, if anything; `key` the variable of .mat and .npz files.
    """
    if time_first is None and (path.name.startswith("ROISignals_") or path.parent.name == GRETNA):
        time_first = True  # DPABI and GRETNA have a column per region
    try:
        lower = path.name.lower()
        if lower.endswith(".mat"):
            found = peek_mat_series(path, key)
            if found.names and time_first is None and found.shape[0] != found.shape[1]:
                time_first = len(found.names) == found.shape[1]
            read = partial(load_mat_matrix, path, found.variable)
            return SeriesFile(path, read, found.shape, found.names, time_first)
        if lower.endswith(_PTSERIES):
            return _ptseries(path)
        if lower.endswith((".npy", ".npz")):
            read = partial(_numpy_matrix, path, key)
            return SeriesFile(path, read, read().shape, None, time_first)
        return _text_file(path, time_first)
    except UnreadableFileError as error:
        return SeriesFile(path, partial(_raise, error), (0, 0), error=error)


def _raise(error: UnreadableFileError) -> NDArray[Any]:
    raise error


class NpzArchive:
    """The arrays of an .npz file, whose shapes and types are known before any is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with explain_damage(path, "an .npz archive"), zipfile.ZipFile(path) as archive:
            held = sum(member.compress_size for member in archive.infolist())
            unpacked = sum(member.file_size for member in archive.infolist())
            refuse_inflated(path, unpacked, held=held, packed=held < unpacked)
            self.arrays: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
            for member in archive.infolist():
                shape, dtype = _header(archive.open(member.filename))
                _refuse_inflated_array(path, shape, dtype, member.file_size)
                self.arrays[member.filename.removesuffix(".npy")] = (shape, dtype)
        pickled = [name for name, (_, dtype) in self.arrays.items() if dtype.hasobject]
        if pickled:
            raise _refusal_to_unpickle(f"{path} under {', '.join(pickled)}")

    def numbers(self, n_axes: int) -> list[str]:
        """Return the names of the arrays of numbers with so many axes."""
        return [
            name
            for name, (shape, dtype) in self.arrays.items()
            if dtype.kind in "fiu" and len(shape) == n_axes
        ]

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


def _numpy_matrix(path: Path, key: str | None) -> NDArray[Any]:
    """Read one scan from an .npy file, or from the only (or the named) matrix of an .npz."""
    if path.name.lower().endswith(".npz"):
        archive = NpzArchive(path)
        matrices = archive.numbers(2)
        chosen = [name for name in matrices if key in {None, name}]
        if len(chosen) != 1:
            raise UnreadableFileError(
                f"Expected one matrix (time x region) in {path}, found "
                f"{name_first(matrices) or 'none'}; name it with --key (key=...)"
            )
        return archive.read(chosen[0])
    matrix = open_npy(path)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"Expected a matrix of numbers (time x region) in {path}, found shape {matrix.shape} "
            f"of type {matrix.dtype}."
        )
    return matrix


def _ptseries(path: Path) -> SeriesFile:
    """Look at the header of a parcellated CIFTI time series."""
    image = _open_ptseries(path)
    with explain_damage(path, "a CIFTI file"):
        series, parcels = image.header.get_axis(0), image.header.get_axis(1)
    names = tuple(str(name) for name in parcels.name)
    seconds = float(series.step) if str(series.unit).upper() == "SECOND" else 0.0
    tr = seconds if np.isfinite(seconds) and seconds > 0 else None

    def read() -> NDArray[Any]:
        with explain_damage(path, "a CIFTI file"):
            return np.asarray(_open_ptseries(path).dataobj)

    return SeriesFile(path, read, (len(series), len(names)), names, True, tr)


def _open_ptseries(path: Path) -> Any:  # noqa: ANN401 (nibabel has no types)
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


@dataclass(frozen=True)
class _TextFile:
    """How the numbers are laid out in a text file.

    `n_skipped` lines stand before the first row of numbers; `names` are those of the columns;
    `delimiter` None is any white space; the first column may number the rows (`indexed`: pandas
    writes one, under an empty name) or name them (`labelled`: rows are regions then).
    """

    path: Path
    n_skipped: int
    n_columns: int
    names: tuple[str, ...] | None
    delimiter: str | None
    indexed: bool = False
    labelled: bool = False

    def lines(self) -> list[str]:
        """Return the rows of numbers, not taken apart."""
        with _opened(self.path) as stream:
            lines = [line for line in islice(stream, self.n_skipped, None) if line.strip()]
        if not lines:
            raise UnreadableFileError(
                f"Expected rows of numbers below the header of {self.path}, found none; extract it "
                "again."
            )
        return lines

    def load(self) -> NDArray[np.float64]:
        """Read the numbers; empty cells and n/a become NaN."""
        lines = self.lines()
        if self.labelled:
            lines = [self._split_label(line)[1] for line in lines]
        try:
            matrix = np.loadtxt(lines, delimiter=self.delimiter, comments=None, ndmin=2)
        except ValueError:  # an empty cell, n/a, or damage: look at every cell
            matrix = self._parse_cells(lines)
        matrix = matrix[:, 1:] if self.indexed else matrix
        if matrix.shape[1] != self.n_columns:
            raise self._ragged(self.n_columns, [f"{matrix.shape[1]} in all rows of numbers"])
        return matrix

    def row_names(self) -> tuple[str, ...]:
        """Return the names that rows begin with."""
        return tuple(self._split_label(line)[0] for line in self.lines())

    def _split_label(self, line: str) -> tuple[str, str]:
        label, *rest = line.strip().split(self.delimiter, 1)
        return label.strip().strip('"'), rest[0] if rest else ""

    def _parse_cells(self, lines: Sequence[str]) -> NDArray[np.float64]:
        rows = [_split(line.rstrip("\r\n"), self.delimiter) for line in lines]
        width = self.n_columns + self.indexed
        ragged = [
            f"{len(row)} in line {number}"
            for number, row in enumerate(rows, start=self.n_skipped + 1)
            if len(row) != width
        ]
        if ragged:
            raise self._ragged(width, ragged)
        try:
            return np.array([[_number(cell) for cell in row] for row in rows], dtype=np.float64)
        except ValueError as error:
            raise UnreadableFileError(
                f"Expected numbers only below the header of {self.path} ({error}); extract it "
                "again."
            ) from error

    def _ragged(self, width: int, found: Sequence[str]) -> UnreadableFileError:
        return UnreadableFileError(
            f"Expected {width} columns in every row of {self.path}, found {name_first(found)}; the "
            "file is cut off or of another format."
        )


def _text_file(path: Path, time_first: bool | None) -> SeriesFile:
    text = _peek_text(path)
    if text.labelled:  # each row begins with the name of its region
        names = text.row_names()
        return SeriesFile(path, text.load, (len(names), text.n_columns), names, False)
    if time_first is None and _ending(path) == ".1d":
        time_first = True  # AFNI's and C-PAC's format: a column per region
    if time_first or (text.names is not None and time_first is None):
        return SeriesFile(path, text.load, (0, text.n_columns), text.names, True)
    return SeriesFile(path, text.load, text.load().shape, None, time_first)


def _peek_text(path: Path) -> _TextFile:
    """Find out how a text file is laid out from its first lines.

    A header is a line that starts with ``#`` and has as many cells as the numbers below
    (C-PAC), a first line with a cell that is not a number, or one that counts 0, 1, 2, ...
    or 1, 2, 3, ... (pandas). Other lines that start with ``#`` are comments.
    """
    with _opened(path) as stream:
        lines = list(islice(stream, _PEEKED_LINES))
    is_comment = [line.startswith("#") or not line.strip() for line in lines]
    if all(is_comment):
        raise UnreadableFileError(
            f"Expected rows of numbers in {path}, found none; fetch or extract it again."
        )
    start = is_comment.index(False)
    first = lines[start].rstrip("\r\n")
    delimiter = _delimiter(path, first)
    cells = _split(first, delimiter)
    below = next((line for line in lines[start + 1 :] if line.strip()), first)
    if _is_labelled(_split(below.rstrip("\r\n"), delimiter)):
        headed = not _is_labelled(cells) or _is_header(cells[1:])
        return _TextFile(path, start + headed, len(cells) - 1, None, delimiter, labelled=True)
    if _is_header(cells):
        indexed = cells[0] == "" and len(cells) > 1
        names = tuple(cells[1:] if indexed else cells)
        return _TextFile(path, start + 1, len(names), names, delimiter, indexed)
    names_above = _names_in_comment(lines[:start], delimiter, len(cells))
    return _TextFile(path, start, len(cells), names_above, delimiter)


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a text file, plain or compressed; bytes that are no text are an error that says so."""
    regular_file(path, "a file of numbers")
    try:
        if path.name.lower().endswith(".gz"):
            with open_gzip(path) as stream:
                yield stream
        else:
            with path.open(encoding="utf-8-sig") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"Expected text in {path}, found binary data; check the format."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnreadableFileError(
            f"Expected text compressed with gzip in {path}, but it is cut off or damaged "
            f"({error}); fetch it again."
        ) from error


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _delimiter(path: Path, line: str) -> str | None:
    if _ending(path) == ".tsv" or "\t" in line.strip():
        return "\t"
    if _ending(path) == ".csv" or "," in line:
        return ";" if ";" in line and "," not in line else ","
    return None


def _split(line: str, delimiter: str | None) -> list[str]:
    # C-PAC ends some rows with a tab; it separates nothing.
    text = line.rstrip("\t ") if delimiter == "\t" else line
    return [cell.strip().strip('"') for cell in text.split(delimiter)]


def _is_labelled(cells: Sequence[str]) -> bool:
    """Tell whether a line is a name followed by numbers; a header has names only."""
    if len(cells) < 3 or _is_number(cells[0]) or cells[0] == "" or cells[0].startswith("#"):
        return False
    return all(_is_number(cell) or cell == "" for cell in cells[1:])


def _is_header(cells: Sequence[str]) -> bool:
    if not all(_is_number(cell) for cell in cells):
        return True
    if len(cells) < 3 or not all(cell.isdigit() for cell in cells):
        return False
    return [int(cell) for cell in cells] in ([*range(len(cells))], [*range(1, len(cells) + 1)])


def _names_in_comment(
    comments: Iterable[str], delimiter: str | None, n_columns: int
) -> tuple[str, ...] | None:
    for line in reversed(list(comments)):
        for separator in (delimiter, None):
            cells = _split(line.strip(), separator)
            names = tuple(cell.lstrip("#").strip() for cell in cells)
            if len(names) == n_columns and all(names):
                return names
    return None


def _number(cell: str) -> float:
    """Read a number; Python would take 1_234 for one, which no other program does."""
    if "_" in cell:
        raise ValueError(f"could not convert string to float: {cell!r}")
    return float("nan") if cell.lower() in _MISSING else float(cell)


def _is_number(cell: str) -> bool:
    try:
        _number(cell or "?")  # an empty first cell is pandas' header over its index
    except ValueError:
        return False
    return True


def oriented(files: Sequence[SeriesFile], n_regions: int | None = None) -> list[SeriesFile]:
    """Find out which axis is time where the files alone do not tell.

    It is certain if a number of regions is known and only one axis has it, if another file of
    the same regions shows it, if scans differ in length (the regions are the axis that does not
    vary), or if the similarities along one axis repeat themselves from scan to scan. Otherwise
    the user is asked.
    """
    sound = [file for file in files if file.error is None]
    unclear = [file for file in sound if file.time_first is None]
    if not unclear:
        return list(files)
    known = {file.n_regions for file in sound if file.time_first is not None}
    counts = known if n_regions is None else {*known, n_regions}
    time_first = _time_first_by_sizes([file.shape for file in unclear], counts)
    if time_first is None:
        time_first = rows_are_time(file.read() for file in unclear)
    if time_first is None:
        shapes = sorted({f"{a} x {b}" for a, b in (file.shape for file in unclear)})
        raise InputError(
            f"Expected to find out whether rows are time points or regions, but "
            f"{unclear[0].path} and {len(unclear) - 1} others have no header and "
            f"their sizes ({name_first(shapes)}) allow both; say it with --layout time-region or "
            "--layout region-time (layout=...)."
        )
    found = {id(file) for file in unclear}
    return [replace(one, time_first=time_first) if id(one) in found else one for one in files]


def _time_first_by_sizes(shapes: Sequence[tuple[int, ...]], counts: set[int]) -> bool | None:
    """Return whether rows are time, or None if both may be."""
    rows, columns = ([shape[axis] for shape in shapes] for axis in (0, 1))
    if len(counts) == 1 and (set(rows) == counts) != (set(columns) == counts):
        return set(columns) == counts
    if _varies(rows) and len(set(columns)) == 1:
        return True
    if _varies(columns) and len(set(rows)) == 1:
        return False
    return None


def _varies(sizes: list[int]) -> bool:
    """Tell whether sizes differ as lengths of scans do; a few odd files may be mistakes."""
    usual = max(sizes.count(size) for size in set(sizes))
    return len(sizes) - usual >= LEAST_DIFFERENT * len(sizes)


def rows_are_time(scans: Iterable[NDArray[Any]]) -> bool | None:
    """Tell which axis of scans is time: the smooth one, where the other repeats itself.

    The same regions are alike in all people, while two moments have nothing in common from scan to
    scan but how far they are apart. Returns None where the two signs do not agree (noise, drifts
    that were not removed, a film that all of them saw), or where scans are few.
    """
    try:
        some = [np.asarray(scan, np.float64) for scan in islice(scans, MOST_COMPARED)]
    except UnreadableFileError:  # named later
        return None
    found = [np.nan_to_num(scan) for scan in some]
    found = [scan for scan in found if scan.shape == found[0].shape]
    if len(found) < ENOUGH_SCANS or min(found[0].shape) < ENOUGH_SCANS:
        return None
    along_rows, along_columns = _repetition(found), _repetition([scan.T for scan in found])
    rows_are_smooth = _smoothness(found) - _smoothness([scan.T for scan in found])
    if along_columns > max(REPEATED, 2 * along_rows) and rows_are_smooth > SMOOTHER:
        return True
    if along_rows > max(REPEATED, 2 * along_columns) and rows_are_smooth < -SMOOTHER:
        return False
    return None


def _repetition(scans: Sequence[NDArray[np.float64]], most: int = 60) -> float:
    """Return the mean correlation between scans of the similarities between their rows.

    Of similarities the mean at each distance is taken away: neighbours in time are always alike.
    """
    patterns = []
    for scan in scans:
        rows = scan[np.linspace(0, len(scan) - 1, min(most, len(scan))).astype(int)]
        centred = rows - rows.mean(axis=1, keepdims=True)
        sizes = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        unit = np.divide(centred, sizes, out=np.zeros_like(centred), where=sizes > 0)
        similar = unit @ unit.T
        diagonals = [np.diagonal(similar, distance) for distance in range(1, len(rows) - 2)]
        patterns.append(np.concatenate([values - values.mean() for values in diagonals]))
    with np.errstate(invalid="ignore"):
        return float(np.nan_to_num(np.corrcoef(patterns))[np.triu_indices(len(patterns), 1)].mean())


def _smoothness(scans: Sequence[NDArray[np.float64]]) -> float:
    """Return the mean correlation of neighbours in a column, without means of rows and columns."""
    found = []
    for scan in scans:
        centred = scan - scan.mean(axis=0) - scan.mean(axis=1, keepdims=True) + scan.mean()
        power = (centred**2).sum()
        found.append((centred[1:] * centred[:-1]).sum() / power if power else 0.0)
    return float(np.mean(found))
