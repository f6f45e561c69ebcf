"""Parcellated time series in CIFTI files (``.ptseries.nii``): HCP, XCP-D, Connectome Workbench."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.damage import explain_damage
from sclcs.core.errors import UnreadableFileError
from sclcs.core.gate import refuse_inflated
from sclcs.core.optional import import_extra

__all__ = ["load_ptseries", "peek_ptseries"]


def peek_ptseries(path: Path) -> tuple[tuple[str, ...], int, float | None]:
    """Look at the header of a parcellated time series.

    Parameters
    ----------
    path : Path
        A ``.ptseries.nii`` file.

    Returns
    -------
    names : tuple of str
        Of the parcels.
    n_times : int
        Time points.
    tr : float or None
        Repetition time in seconds; None if the series is not one of time.
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
