"""Matrices and cells in MATLAB files of every version, through scipy and h5py.

scipy's compiled reader trusts the tags of a file of version 5: one changed byte in a type or a
number of axes ends the whole process. So every tag is compared with what is there first; nothing is
converted. After the published description of the format.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    LARGEST_RATIO,
    InputError,
    UnreadableFileError,
    explain_damage,
    name_first,
    refuse_inflated,
    require_memory,
)

_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _CHAR, _NUMBERS = 1, 4, range(6, 16)
_COMPLEX = 0x0800


def check_mat(path: Path) -> None:
    """Raise ValueError if the tags of numbers, strings and cells do not fit what is there."""
    content = memoryview(path.read_bytes())
    mark = bytes(content[126:128])
    if mark not in {b"IM", b"MI"}:
        raise ValueError("there is no mark of a MATLAB file in its header")
    order, at = "<" if mark == b"IM" else ">", 128
    while at < len(content):
        kind, size = struct.unpack_from(f"{order}II", content, at)
        body = content[at + 8 : at + 8 + size]
        _expect(len(body) == size, "a variable is cut off")
        at += 8 + size
        if kind == _COMPRESSED:
            kind, body = _unpacked(body, order)
        _expect(kind == _MATRIX, f"a variable is of the unknown type {kind}")
        _check_matrix(body, order)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _unpacked(body: memoryview, order: str) -> tuple[int, memoryview]:
    """Unpack a compressed variable, never more than its own header promises."""
    stream = zlib.decompressobj()
    kind, size = struct.unpack(f"{order}II", stream.decompress(body, 8))
    _expect(size <= len(body) * LARGEST_RATIO, "a variable promises more than it can hold")
    require_memory(size, "a compressed variable")
    found = stream.decompress(stream.unconsumed_tail, size) if size else b""
    # The rest is the checksum, which zlib compares; scipy stops before it.
    stream.decompress(stream.unconsumed_tail, 1)
    _expect(len(found) == size and stream.eof, "a compressed variable is cut off")
    return kind, memoryview(found)


def _element(body: memoryview, at: int, order: str) -> tuple[int, memoryview, int]:
    """Return type and bytes of an element, and where the next one is."""
    (kind,) = struct.unpack_from(f"{order}I", body, at)
    if kind >> 16:  # a small element: size, type and up to four bytes in one
        kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        _expect(size <= 4, "a small element promises more than four bytes")
    else:
        (size,) = struct.unpack_from(f"{order}I", body, at + 4)
        start, end = at + 8, at + 8 + size + (0 if kind == _MATRIX else -size % 8)
    _expect(start + size <= len(body), "an element is cut off")
    return kind, body[start : start + size], end


def _check_matrix(body: memoryview, order: str) -> None:
    if not body:
        return  # an empty cell
    kind, flags, at = _element(body, 0, order)
    _expect(kind == 6 and len(flags) == 8, "the flags of a variable are damaged")
    (word,) = struct.unpack_from(f"{order}I", flags)
    kind, sizes, at = _element(body, at, order)
    _expect(kind == 5 and len(sizes) in range(8, 129, 4), "the sizes of a variable are damaged")
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    _expect(min(shape) >= 0, f"the sizes of a variable are {shape}")
    kind, _, at = _element(body, at, order)
    _expect(kind == 1, "the name of a variable is damaged")
    held = word & 0xFF
    if held == _CELL:
        _expect(prod(shape) * 8 <= len(body), "a cell array promises more than it can hold")
        for _ in range(prod(shape)):
            kind, inner, at = _element(body, at, order)
            _expect(kind == _MATRIX, "a cell is no matrix")
            _check_matrix(inner, order)
    elif held == _CHAR or held in _NUMBERS:
        for _ in range(2 if word & _COMPLEX and held != _CHAR else 1):
            kind, numbers, at = _element(body, at, order)
            _expect(kind in _BYTES, f"numbers are of the unknown type {kind}")
            fits = len(numbers) == prod(shape) * _BYTES[kind]
            _expect(fits or held == _CHAR, f"{len(numbers)} bytes do not fit the sizes {shape}")


_READ = {"cell", "char", "logical", "double", "single"}
_READ |= {f"{unsigned}int{bits}" for unsigned in ("", "u") for bits in (8, 16, 32, 64)}

#: What people call the signals, in lower case without separators; the first found is used.
_SIGNALS = (
    "roisignals", "timeseries", "roits", "roists", "tsrois", "timecourse", "timecourses", "tc",
    "ts", "signals", "signal", "bold", "data", "x",
)  # fmt: skip
_NAMES = ("roinames", "regionnames", "regions", "rois", "labels", "roilabels", "names")


@dataclass(frozen=True)
class MatSeries:
    """The signals in a .mat file: the variable, rows and columns, and names if it has some."""

    variable: str
    shape: tuple[int, int]
    names: tuple[str, ...] | None


def peek_mat_series(path: Path, key: str | None = None) -> MatSeries:
    """Find the signals of one scan in a .mat file, as DPABI, BRANT or own scripts leave it.

    The variable that is named, else one that is called as signals are, the only matrix, or the only
    one that is not square. Names are those of a cell array of strings that fits one axis.
    """
    held = _variables(path)
    matrices = {
        name: shape
        for name, (shape, kind) in held.items()
        if kind != "cell" and len(shape) == 2 and min(shape) > 1
    }
    if key is not None:
        if key not in matrices:
            raise _no_variable(path, key, matrices)
        chosen = key
    else:
        bare = {_bare(name): name for name in matrices}
        called = [bare[name] for name in _SIGNALS if name in bare]
        oblong = [name for name, shape in matrices.items() if shape[0] != shape[1]]
        likely = called[:1] or (oblong if len(oblong) == 1 else list(matrices))
        if len(likely) != 1:
            found = [f"{name} ({' x '.join(map(str, shape))})" for name, (shape, _) in held.items()]
            raise InputError(
                f"Expected the signals of a scan in {path} as its only matrix, or under a name "
                f"such as ROISignals or timeseries, found {name_first(found, 8) or 'nothing'}; "
                "name the variable with --key (key=...)."
            )
        chosen = likely[0]
    rows, columns = matrices[chosen]
    for name, (size, kind) in held.items():
        if _bare(name) in _NAMES and kind == "cell" and prod(size) in (rows, columns):
            cells = load_mat_cells(path, name)
            if all(isinstance(cell, str) for cell in cells) and len(set(cells)) == len(cells):
                return MatSeries(chosen, (rows, columns), tuple(cells))
    return MatSeries(chosen, (rows, columns), None)


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _variables(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and kind of every variable of numbers or cells, as MATLAB has them."""
    import h5py

    with explain_damage(path, "a MATLAB file"):
        if not h5py.is_hdf5(path):
            return {name: one for name, one in _sizes_v5(path).items() if one[1] in _READ}
        with h5py.File(path, "r") as file:
            stored = {name: one for name, one in file.items() if isinstance(one, h5py.Dataset)}
            return {
                name: (one.shape[::-1], "cell" if one.dtype.kind == "O" else "double")
                for name, one in stored.items()
                if one.dtype.kind in "fiubO" and one.attrs.get("MATLAB_class", b"") != b"char"
            }


def _sizes_v5(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and kind of every variable of a file of version 5 or 4."""
    from scipy.io import whosmat

    with path.open("rb") as stream:
        version_4 = 0 in stream.read(4)
    if not version_4:
        check_mat(path)
    return {name: (tuple(shape), kind) for name, shape, kind in whosmat(path)}


def load_mat_matrix(path: Path, variable: str) -> NDArray[Any]:
    """Load a matrix of numbers from a .mat file of any version; rows and columns as in MATLAB."""
    matrix = _load(path, variable)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        found = "a matrix of cells" if isinstance(matrix, list) else type(matrix).__name__
        if isinstance(matrix, np.ndarray):
            found = f"shape {matrix.shape} of {matrix.dtype}"
        raise UnreadableFileError(
            f"Expected {variable} in {path} to be a matrix of numbers, found {found}."
        )
    return matrix


def load_mat_cells(path: Path, variable: str) -> list[Any]:
    """Load a cell array of matrices and strings from a .mat file of any version."""
    cells = _load(path, variable)
    if not isinstance(cells, list):
        raise UnreadableFileError(f"Expected {variable} in {path} to be a cell array.")
    return cells


def _load(path: Path, variable: str) -> Any:  # noqa: ANN401
    """Load one variable: a list of cells, or an array. Nothing in the file is run."""
    import h5py

    with explain_damage(path, "a MATLAB file"):
        if not h5py.is_hdf5(path):
            return _load_v5(path, variable)
        with h5py.File(path, "r") as file:
            if variable not in file:
                raise _no_variable(path, variable, file)
            stored = file[variable]
            if not isinstance(stored, h5py.Dataset) or stored.dtype.kind not in "fiubO":
                return None
            if stored.dtype.kind == "O":
                return [_v73_cell(file[reference]) for reference in np.asarray(stored).ravel()]
            refuse_inflated(path, stored.size * stored.dtype.itemsize, packed=True)
            # MATLAB keeps columns together, HDF5 rows: the stored matrix is the transposed one.
            return np.asarray(stored).T


def _load_v5(path: Path, variable: str) -> Any:  # noqa: ANN401
    from scipy.io import loadmat

    sizes = _sizes_v5(path)
    if variable not in sizes:
        raise _no_variable(path, variable, sizes)
    shape, kind = sizes[variable]
    if kind not in _READ:
        raise UnreadableFileError(
            f"Expected {variable} in {path} to hold numbers or cells, found {kind}."
        )
    # Sizes are compared with the file before memory is taken for them; an entry has a byte or more.
    refuse_inflated(path, int(np.prod(shape, dtype=object)), packed=True)
    values = loadmat(path, variable_names=[variable])[variable]
    if not isinstance(values, np.ndarray) or values.dtype.kind != "O":
        return values
    return [
        str(cell[0]) if cell.dtype.kind == "U" and cell.size else cell
        for cell in values.ravel(order="F")
    ]


def _v73_cell(stored: Any) -> Any:  # noqa: ANN401 (h5py has no types)
    values = np.asarray(stored)
    if stored.attrs.get("MATLAB_class", b"") == b"char":
        return "".join(map(chr, values.ravel().tolist()))
    return values.T


def _no_variable(path: Path, variable: str, found: Iterable[str]) -> UnreadableFileError:
    names = name_first(found) or "no variable"
    return UnreadableFileError(f"Expected a variable {variable} in {path}, found {names}.")
