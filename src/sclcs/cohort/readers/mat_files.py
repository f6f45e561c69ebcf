"""One matrix from a MATLAB file, v5 or v7.3."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import UnreadableFileError, name_first

__all__ = ["load_mat_matrix"]

# What scipy and h5py raise on truncated, damaged or foreign files.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    MemoryError,  # a damaged length field asks for an absurd amount
    NotImplementedError,
    RuntimeError,
    struct.error,
    zlib.error,
)


def load_mat_matrix(path: Path, variable: str) -> NDArray[Any]:
    """Load a matrix of numbers from a .mat file.

    Parameters
    ----------
    path : Path
        A MATLAB file, v5 (and older) or v7.3 (HDF5).
    variable : str
        Name of the matrix.

    Returns
    -------
    ndarray
        Two axes, rows and columns as in MATLAB.
    """
    import h5py

    with _explain_damage(path):
        load = _load_v73 if h5py.is_hdf5(path) else _load_v5
        matrix = load(path, variable)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"Expected {variable} in {path} to be a matrix of numbers, found shape {matrix.shape} "
            f"of type {matrix.dtype}."
        )
    return matrix


def _load_v5(path: Path, variable: str) -> NDArray[Any]:
    import scipy.io

    content = scipy.io.loadmat(str(path), variable_names=[variable])
    if variable not in content:
        raise _no_variable(path, variable, (entry[0] for entry in scipy.io.whosmat(str(path))))
    return np.asarray(content[variable])


def _load_v73(path: Path, variable: str) -> NDArray[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        if variable not in file:
            raise _no_variable(path, variable, file)
        # MATLAB keeps columns together, HDF5 rows: the stored matrix is the transposed one.
        return np.asarray(file[variable]).T


def _no_variable(path: Path, variable: str, found: Iterable[str]) -> UnreadableFileError:
    names = name_first(found) or "no variable"
    return UnreadableFileError(f"Expected a variable {variable} in {path}, found {names}.")


@contextmanager
def _explain_damage(path: Path) -> Iterator[None]:
    from scipy.io.matlab import MatReadError

    try:
        yield
    except UnreadableFileError:
        raise
    except (*_DAMAGE, MatReadError) as error:
        raise UnreadableFileError(
            f"Expected a MATLAB file in {path}, but it is truncated, damaged or of another format "
            f"({error}); fetch it again."
        ) from error
