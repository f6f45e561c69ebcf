"""Reading NIfTI images so that damage is noticed and named."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import UnreadableFileError
from sclcs.core.gate import explain_damage, refuse_inflated, require_memory
from sclcs.core.optional import import_extra

__all__ = ["header_facts", "load_image", "make_image", "open_image", "to_grid"]

Image = Any  # a nibabel image; nibabel is imported only where it is used

_SECONDS_PER_UNIT = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6, "unknown": 1.0}


def open_image(path: Path, n_dimensions: int) -> Image:
    """Open an image; only its header is read.

    Parameters
    ----------
    path : Path
        A ``.nii`` or ``.nii.gz`` file.
    n_dimensions : int
        4 for a scan, 3 for a mask or atlas.

    Returns
    -------
    nibabel image
    """
    nibabel = import_extra("nibabel", "nifti")
    with explain_damage(path, f"a {n_dimensions}-D NIfTI image"):
        image = nibabel.load(path)
        _require_sound_sizes(path, image)
    if len(image.shape) != n_dimensions:
        found = " x ".join(map(str, image.shape))
        raise UnreadableFileError(
            f"Expected a {n_dimensions}-D image in {path}, found {len(image.shape)}-D ({found}); "
            "check that it is the right file."
        )
    return image


def load_image(path: Path, n_dimensions: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Read the values and the affine of an image.

    Parameters
    ----------
    path : Path
        A ``.nii`` or ``.nii.gz`` file.
    n_dimensions : int
        4 for a scan, 3 for a mask or atlas.

    Returns
    -------
    values : ndarray of float32
    affine : ndarray, shape (4, 4)
        From voxels to millimetres.
    """
    image = open_image(path, n_dimensions)
    with explain_damage(path, f"a {n_dimensions}-D NIfTI image"):
        values = image.get_fdata(dtype=np.float32, caching="unchanged")
        affine = np.asarray(image.affine, dtype=np.float64)
        if not np.isfinite(affine).all():
            raise ValueError("its affine is not finite")
    return values, affine


def header_facts(path: Path) -> tuple[int, float | None]:
    """Return the number of volumes of a scan and its repetition time in seconds, if given."""
    header = open_image(path, 4).header
    step = float(header.get_zooms()[3])
    seconds = step * _SECONDS_PER_UNIT.get(header.get_xyzt_units()[1], 1.0)
    return int(header.get_data_shape()[3]), (seconds if seconds > 0 else None)


def to_grid(
    values: NDArray[Any],
    affine: NDArray[np.float64],
    target: NDArray[np.float64],
    shape: Sequence[int],
) -> NDArray[Any]:
    """Bring a 3-D image to another grid; each voxel takes the value of the nearest one."""
    if values.shape == tuple(shape) and np.allclose(affine, target):
        return values
    resampled = import_extra("nilearn.image", "nifti").resample_img(
        make_image(values, affine),
        target_affine=target,
        target_shape=tuple(shape),
        interpolation="nearest",
        copy_header=True,
        force_resample=True,
    )
    return np.asarray(resampled.dataobj)


def make_image(values: NDArray[Any], affine: NDArray[np.float64]) -> Image:
    """Make an image in memory."""
    return import_extra("nibabel", "nifti").Nifti1Image(values, affine)


def _require_sound_sizes(path: Path, image: Image) -> None:
    """Refuse a header whose sizes are negative or promise more than the file holds."""
    shape = [int(size) for size in image.shape]
    if any(size < 1 for size in shape):
        raise ValueError(f"its header declares the sizes {shape}")
    declared = prod(shape) * int(image.get_data_dtype().itemsize)
    refuse_inflated(path, declared, packed=path.name.endswith(".gz"))
    require_memory(prod(shape) * np.dtype(np.float32).itemsize, str(path))
