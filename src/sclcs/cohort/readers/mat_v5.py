"""Matrices and cell arrays in MATLAB files of version 5 and 4, read without a compiled parser.

Written from the published description of the MAT-file format. Every size is compared with what is
there before anything is taken, so that a damaged file is an error and never a crash. Structures
and sparse matrices are only named.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.gate import LARGEST_RATIO, require_memory

__all__ = ["MatVariable", "read_variables"]

_HEADER_BYTES = 128
_COMPRESSED, _MATRIX = 15, 14
_ELEMENTS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",
}
_CLASSES = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_OTHERS = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 16: "function"}
_CELL, _CHAR, _UTF8 = 1, 4, 16
_COMPLEX = 0x0800
_V4_TYPES = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_V4_KINDS = {0: "double", 1: "char", 2: "sparse"}


@dataclass(frozen=True)
class MatVariable:
    """A variable of a file.

    Parameters
    ----------
    name : str
    kind : str
        ``number``, or what else it is: struct, cell, char, sparse, complex, ...
    values : ndarray or None
        Of a matrix of numbers.
    cells : list or None
        Of a cell array: texts and matrices of numbers.
    """

    name: str
    kind: str
    values: NDArray[Any] | None = None
    cells: list[Any] | None = None


def read_variables(path: Path, wanted: str) -> Iterator[MatVariable]:
    """Go through the variables of a file; only the wanted one has values.

    Parameters
    ----------
    path : Path
    wanted : str
        Name of the matrix to read.

    Yields
    ------
    MatVariable

    Raises
    ------
    ValueError
        If the file is not what its sizes promise.
    """
    content = memoryview(path.read_bytes())
    if len(content) < 4 or 0 in bytes(content[:4]):
        yield from _version_4(content, wanted)
        return
    yield from _version_5(content, wanted)


def _take(content: memoryview, start: int, count: int) -> memoryview:
    if count < 0 or start < 0 or start + count > len(content):
        raise ValueError(f"{count} bytes are promised at {start}, the file ends at {len(content)}")
    return content[start : start + count]


def _version_5(content: memoryview, wanted: str) -> Iterator[MatVariable]:
    mark = bytes(_take(content, 126, 2))
    if mark not in {b"IM", b"MI"}:
        raise ValueError("there is no mark of a MATLAB file in its header")
    order = "<" if mark == b"IM" else ">"
    place = _HEADER_BYTES
    while place + 8 <= len(content):
        kind, size = struct.unpack(f"{order}II", _take(content, place, 8))
        body = _take(content, place + 8, size)
        place += 8 + size
        if kind == _COMPRESSED:
            kind, body = _unpacked(body, order)
        if kind == _MATRIX:
            yield _matrix(body, order, wanted)


def _unpacked(body: memoryview, order: str) -> tuple[int, memoryview]:
    """Unpack a compressed element, never more than its own header promises."""
    stream = zlib.decompressobj()
    head = stream.decompress(body, 8)
    if len(head) < 8:
        raise ValueError("a compressed variable is cut off")
    kind, size = struct.unpack(f"{order}II", head)
    if size > len(body) * LARGEST_RATIO:
        raise ValueError("a compressed variable promises more than it can hold")
    require_memory(size, "a compressed variable")
    found = stream.decompress(stream.unconsumed_tail, size) if size else b""
    if len(found) < size:
        raise ValueError("a compressed variable is cut off")
    return kind, memoryview(found)


def _element(content: memoryview, place: int, order: str) -> tuple[int, memoryview, int]:
    """Return type and bytes of the element at a place, and where the next one is."""
    (first,) = struct.unpack(f"{order}I", _take(content, place, 4))
    if first >> 16:  # a small element: size, type and up to four bytes in one
        size = first >> 16
        if size > 4:
            raise ValueError("a small element promises more than four bytes")
        return first & 0xFFFF, _take(content, place + 4, size), place + 8
    (size,) = struct.unpack(f"{order}I", _take(content, place + 4, 4))
    return first, _take(content, place + 8, size), place + 8 + size + (-size % 8)


@dataclass(frozen=True)
class _Head:
    """What a matrix says of itself before its content."""

    name: str
    mat_class: int
    is_complex: bool
    shape: tuple[int, ...]
    place: int  # where the content begins


def _head(body: memoryview, order: str) -> _Head:
    _, flags, place = _element(body, 0, order)
    (word,) = struct.unpack(f"{order}I", _take(flags, 0, 4))
    _, sizes, place = _element(body, place, order)
    _, letters, place = _element(body, place, order)
    if len(sizes) % 4:
        raise ValueError("its sizes are cut off")
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    name = bytes(letters).decode("latin-1")
    return _Head(name, word & 0xFF, bool(word & _COMPLEX), shape, place)


def _matrix(body: memoryview, order: str, wanted: str) -> MatVariable:
    head = _head(body, order)
    if head.mat_class == _CELL and head.name == wanted:
        return MatVariable(head.name, "cell", cells=_cells(body, head, order))
    if head.mat_class not in _CLASSES:
        return MatVariable(head.name, _OTHERS.get(head.mat_class, f"of class {head.mat_class}"))
    if head.is_complex:
        return MatVariable(head.name, "complex")
    values = _values(body, head, order) if head.name == wanted else None
    return MatVariable(head.name, "number", values)


def _values(body: memoryview, head: _Head, order: str) -> NDArray[Any]:
    kind, numbers, _ = _element(body, head.place, order)
    if kind not in _ELEMENTS:
        raise ValueError(f"its numbers are of an unknown type ({kind})")
    values = _numbers(numbers, f"{order}{_ELEMENTS[kind]}", head.shape)
    return values.astype(_CLASSES[head.mat_class])


def _cells(body: memoryview, head: _Head, order: str) -> list[Any]:
    """Return the cells of a cell array: texts and matrices of numbers."""
    found: list[Any] = []
    place = head.place
    while place < len(body):
        kind, inner, place = _element(body, place, order)
        if kind != _MATRIX:
            raise ValueError("a cell is no matrix")
        found.append(_cell(inner, order) if len(inner) else np.empty((0, 0)))
    if any(size < 0 for size in head.shape) or prod(head.shape) != len(found):
        raise ValueError(f"{len(found)} cells are there, its sizes are {head.shape}")
    return found


def _cell(body: memoryview, order: str) -> Any:  # noqa: ANN401 (text or numbers)
    head = _head(body, order)
    if head.mat_class == _CHAR:
        kind, letters, _ = _element(body, head.place, order)
        if kind == _UTF8:
            return bytes(letters).decode("utf-8")
        if kind not in _ELEMENTS:
            raise ValueError(f"a text is of an unknown type ({kind})")
        codes = np.frombuffer(letters, dtype=f"{order}{_ELEMENTS[kind]}")
        return "".join(chr(code) for code in codes.tolist())
    if head.mat_class not in _CLASSES or head.is_complex:
        raise ValueError(f"a cell holds {_OTHERS.get(head.mat_class, 'something else')}")
    return _values(body, head, order)


def _numbers(content: memoryview, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    item = np.dtype(dtype).itemsize
    if any(size < 0 for size in shape) or prod(shape) * item > len(content) + 7:
        raise ValueError(f"its sizes {shape} do not fit the {len(content)} bytes that are there")
    flat = np.frombuffer(_take(content, 0, prod(shape) * item), dtype=dtype)
    return flat.reshape(shape, order="F")


def _version_4(content: memoryview, wanted: str) -> Iterator[MatVariable]:
    place = 0
    if len(content) < 20:
        raise ValueError("the file is cut off")
    while place < len(content):
        order = _v4_order(_take(content, place, 4))
        code, rows, columns, imaginary, letters = struct.unpack(
            f"{order}5i", _take(content, place, 20)
        )
        digits = divmod(code % 1000, 100)[1]
        number, kind = divmod(digits, 10)
        if number not in _V4_TYPES or kind not in _V4_KINDS or rows < 0 or columns < 0:
            raise ValueError("it is no MATLAB file")
        name = bytes(_take(content, place + 20, letters)).rstrip(b"\0").decode("latin-1")
        dtype = f"{order}{_V4_TYPES[number]}"
        size = rows * columns * np.dtype(dtype).itemsize
        body = _take(content, place + 20 + letters, size * (2 if imaginary else 1))
        place += 20 + letters + len(body)
        if kind or imaginary:
            yield MatVariable(name, "complex" if imaginary else _V4_KINDS[kind])
        else:
            values = _numbers(body, dtype, (rows, columns)) if name == wanted else None
            yield MatVariable(name, "number", values)


def _v4_order(head: memoryview) -> str:
    (little,) = struct.unpack("<i", head)
    return "<" if 0 <= little < 5000 else ">"
