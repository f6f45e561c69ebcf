"""Damage in MATLAB files of version 5, found before scipy reads them.

scipy's compiled reader trusts the tags of a file: one changed byte in a type or a number of axes
ends the whole process. Here every tag is compared with what is there; nothing is converted. After
the published description of the format.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Mapping
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
    """Return type and bytes of the element at a place, and where the next one is."""
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


_READ = {
    "cell",
    "char",
    "logical",
    "double",
    "single",
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
}


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
    """Find the signals of one scan in a .mat file.

    `path`: as DPABI (``ROISignals``), BRANT or own scripts leave it; `key`: name of the variable.
    By default one that is called as signals are, the only matrix, or the only one that is not
    square. Returns: names are those of a cell array of strings that fits one axis.
    """
    held = _variables(path)
    matrices = {name: shape for name, (shape, kind) in held.items() if kind != "cell"}
    matrices = {
        name: shape for name, shape in matrices.items() if len(shape) == 2 and min(shape) > 1
    }
    if key is not None:
        if key not in matrices:
            raise _no_variable(path, key, matrices)
        chosen = key
    else:
        bare = {re.sub(r"[\W_]+", "", name).lower(): name for name in matrices}
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
    return MatSeries(chosen, (rows, columns), _names_beside(path, held, (rows, columns)))


def _names_beside(
    path: Path, held: Mapping[str, tuple[tuple[int, ...], str]], shape: tuple[int, int]
) -> tuple[str, ...] | None:
    for name, (size, kind) in held.items():
        known = re.sub(r"[\W_]+", "", name).lower() in _NAMES
        if known and kind == "cell" and prod(size) in shape:
            cells = load_mat_cells(path, name)
            if all(isinstance(cell, str) for cell in cells) and len(set(cells)) == len(cells):
                return tuple(cells)
    return None


def _variables(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and kind of every variable of numbers or cells, as MATLAB has them."""
    import h5py
    from scipy.io import whosmat

    with explain_damage(path, "a MATLAB file"):
        if not h5py.is_hdf5(path):
            with path.open("rb") as stream:
                version_4 = 0 in stream.read(4)
            if not version_4:
                check_mat(path)
            return {
                name: (tuple(shape), kind) for name, shape, kind in whosmat(path) if kind in _READ
            }
        with h5py.File(path, "r") as file:
            stored = {name: one for name, one in file.items() if isinstance(one, h5py.Dataset)}
            return {
                name: (one.shape[::-1], "cell" if one.dtype.kind == "O" else "double")
                for name, one in stored.items()
                if one.dtype.kind in "fiubO" and one.attrs.get("MATLAB_class", b"") != b"char"
            }


def load_mat_matrix(path: Path, variable: str) -> NDArray[Any]:
    """Load a matrix of numbers from a .mat file.

    `path`: a MATLAB file, v5 (and older) or v7.3 (HDF5); `variable`: name of the matrix. Returns:
    two axes, rows and columns as in MATLAB.
    """
    import h5py

    with explain_damage(path, "a MATLAB file"):
        matrix = (_load_v73 if h5py.is_hdf5(path) else _load_v5)(path, variable)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        found = type(matrix).__name__
        if isinstance(matrix, np.ndarray):
            kind = "cells" if matrix.dtype.kind == "O" else matrix.dtype
            found = f"shape {matrix.shape} of {kind}"
        raise UnreadableFileError(
            f"Expected {variable} in {path} to be a matrix of numbers, found {found}."
        )
    return matrix


def load_mat_cells(path: Path, variable: str) -> list[Any]:
    """Load a cell array of matrices and strings from a .mat file.

    `path`: a MATLAB file, v5 (and older) or v7.3 (HDF5); `variable`: name of the cell array.
    Returns: its cells in order: arrays of numbers (rows and columns as in MATLAB) and str.
    """
    import h5py

    with explain_damage(path, "a MATLAB file"):
        cells = (_cells_v73 if h5py.is_hdf5(path) else _cells_v5)(path, variable)
    if cells is None:
        raise UnreadableFileError(f"Expected {variable} in {path} to be a cell array.")
    return cells


def _load_v5(path: Path, variable: str) -> Any:  # noqa: ANN401
    """Load one variable; scipy reads numbers, strings and cells, and runs nothing."""
    from scipy.io import loadmat, whosmat

    with path.open("rb") as stream:
        version_4 = 0 in stream.read(4)
    if not version_4:
        check_mat(path)
    sizes = {name: (shape, kind) for name, shape, kind in whosmat(path)}
    if variable not in sizes:
        raise _no_variable(path, variable, sizes)
    shape, kind = sizes[variable]
    if kind not in _READ:
        raise UnreadableFileError(
            f"Expected {variable} in {path} to hold numbers or cells, found {kind}."
        )
    # Sizes are compared with the file before memory is taken for them; an entry has a byte or more.
    refuse_inflated(path, int(np.prod(shape, dtype=object)), packed=True)
    return loadmat(path, variable_names=[variable])[variable]


def _cells_v5(path: Path, variable: str) -> list[Any] | None:
    values = _load_v5(path, variable)
    if not isinstance(values, np.ndarray) or values.dtype.kind != "O":
        return None
    return [
        str(cell[0]) if cell.dtype.kind == "U" and cell.size else cell
        for cell in values.ravel(order="F")
    ]


def _load_v73(path: Path, variable: str) -> NDArray[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        if variable not in file:
            raise _no_variable(path, variable, file)
        stored = file[variable]
        if not isinstance(stored, h5py.Dataset) or stored.dtype.kind not in "fiub":
            raise UnreadableFileError(
                f"Expected {variable} in {path} to be a matrix of numbers, found something else."
            )
        refuse_inflated(path, stored.size * stored.dtype.itemsize, packed=True)
        # MATLAB keeps columns together, HDF5 rows: the stored matrix is the transposed one.
        return np.asarray(stored).T


def _cells_v73(path: Path, variable: str) -> list[Any] | None:
    import h5py

    with h5py.File(path, "r") as file:
        if variable not in file:
            raise _no_variable(path, variable, file)
        stored = file[variable]
        if not isinstance(stored, h5py.Dataset) or stored.dtype.kind != "O":
            return None
        # As for matrices, HDF5 holds the transposed array: its rows are MATLAB's columns.
        return [_v73_cell(file[reference]) for reference in np.asarray(stored).ravel()]


def _v73_cell(stored: Any) -> Any:  # noqa: ANN401 (h5py has no types)
    values = np.asarray(stored)
    if stored.attrs.get("MATLAB_class", b"") == b"char":
        return "".join(map(chr, values.ravel().tolist()))
    return values.T


def _no_variable(path: Path, variable: str, found: Iterable[str]) -> UnreadableFileError:
    names = name_first(found) or "no variable"
    return UnreadableFileError(f"Expected a variable {variable} in {path}, found {names}.")
