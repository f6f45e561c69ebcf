"""Open whatever a user points at: a stored cohort, or raw arrays."""

from __future__ import annotations

import os
from pathlib import Path

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.readers.arrays import read_arrays
from sclcs.cohort.scans import Scans
from sclcs.core.errors import InputError
from sclcs.core.files import require_existing

__all__ = ["open_source"]


def open_source(
    path: str | os.PathLike[str], labels: str | os.PathLike[str] | None = None
) -> Cohort | Scans:
    """Open a cohort folder, or read scans from arrays.

    Parameters
    ----------
    path : path-like
        A cohort written by sclcs, an .npz or .npy file, or a folder of time series.
    labels : path-like, optional
        Table of labels; only for raw arrays.

    Returns
    -------
    Cohort or Scans
    """
    path = require_existing(path)
    if not (Path(path) / "zarr.json").exists():
        return read_arrays(path, labels=labels)
    if labels is not None:
        raise InputError(f"{path} is a cohort and has its labels inside; leave out --labels.")
    return Cohort.open(path)
