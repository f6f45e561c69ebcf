"""Opening .npy and .npz files safely: nothing is unpickled, damage is named."""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.damage import explain_damage
from sclcs.core.errors import UnreadableFileError
from sclcs.core.gate import refuse_inflated

__all__ = ["NpzArchive", "open_npy"]


class NpzArchive:
    """The arrays of an .npz file, known by shape and type before any is read.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with explain_damage(path, "an .npz archive"), zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                held = member.compress_size
                refuse_inflated(path, member.file_size, held=held, packed=held < member.file_size)
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
