"""One matrix or cell array from a MATLAB file, v5 or v7.3."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.damage import explain_damage
from sclcs.cohort.readers.mat_v5 import read_variables
from sclcs.core.errors import UnreadableFileError, name_first
from sclcs.core.gate import refuse_inflated

__all__ = ["load_mat_cells", "load_mat_matrix"]


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

    with explain_damage(path, "a MATLAB file"):
        load = _load_v73 if h5py.is_hdf5(path) else _load_v5
        matrix = load(path, variable)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise UnreadableFileError(
            f"Expected {variable} in {path} to be a matrix of numbers, found shape {matrix.shape} "
            f"of type {matrix.dtype}."
        )
    return matrix


def _load_v5(path: Path, variable: str) -> NDArray[Any]:
    found: list[str] = []
    for known in read_variables(path, variable):
        if known.name == variable and known.values is None:
            raise UnreadableFileError(
                f"Expected {variable} in {path} to be a matrix of numbers, found {known.kind}."
            )
        if known.values is not None:
            return known.values
        found.append(known.name)
    raise _no_variable(path, variable, found)


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


def _no_variable(path: Path, variable: str, found: Iterable[str]) -> UnreadableFileError:
    names = name_first(found) or "no variable"
    return UnreadableFileError(f"Expected a variable {variable} in {path}, found {names}.")


def load_mat_cells(path: Path, variable: str) -> list[Any]:
    """Load a cell array of matrices and texts from a .mat file.

    Parameters
    ----------
    path : Path
        A MATLAB file, v5 (and older) or v7.3 (HDF5).
    variable : str
        Name of the cell array.

    Returns
    -------
    list
        Its cells in order: arrays of numbers (rows and columns as in MATLAB) and str.
    """
    import h5py

    with explain_damage(path, "a MATLAB file"):
        load = _cells_v73 if h5py.is_hdf5(path) else _cells_v5
        return load(path, variable)


def _cells_v5(path: Path, variable: str) -> list[Any]:
    found: list[str] = []
    for known in read_variables(path, variable):
        if known.cells is not None:
            return known.cells
        if known.name == variable:
            raise UnreadableFileError(
                f"Expected {variable} in {path} to be a cell array, found {known.kind}."
            )
        found.append(known.name)
    raise _no_variable(path, variable, found)


def _cells_v73(path: Path, variable: str) -> list[Any]:
    import h5py

    with h5py.File(path, "r") as file:
        if variable not in file:
            raise _no_variable(path, variable, file)
        stored = file[variable]
        if not isinstance(stored, h5py.Dataset) or stored.dtype.kind != "O":
            raise UnreadableFileError(f"Expected {variable} in {path} to be a cell array.")
        # As for matrices, HDF5 holds the transposed array: its rows are MATLAB's columns.
        return [_v73_cell(file[reference]) for reference in np.asarray(stored).ravel()]


def _v73_cell(stored: Any) -> Any:  # noqa: ANN401 (h5py has no types)
    values = np.asarray(stored)
    if stored.attrs.get("MATLAB_class", b"") == b"char":
        return "".join(map(chr, values.ravel().tolist()))
    return values.T
