"""Regions in an image: spheres around coordinates, or the labels of an atlas image."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.readers.nifti_image import load_image, make_image, to_grid
from sclcs.cohort.regions import dosenbach_places, region_set
from sclcs.cohort.table_files import read_table_file
from sclcs.core.errors import InputError, UnknownNameError, UnreadableFileError, name_first
from sclcs.core.optional import import_extra

__all__ = ["LabelImage", "Parcellation", "Spheres", "label_image", "label_image_of", "spheres"]

Masker = Any  # of nilearn; it is imported only where it is used


class Parcellation(Protocol):
    """Regions of which mean signals can be taken."""

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of the regions."""

    def masker(
        self, affine: NDArray[np.float64], valid: NDArray[np.bool_], cleaning: Mapping[str, Any]
    ) -> tuple[NDArray[np.bool_], Masker]:
        """Tell which regions have voxels in an image, and make nilearn's masker for them."""


@dataclass(frozen=True)
class Spheres:
    """Spheres around points; where two overlap, both use the voxels they share.

    Parameters
    ----------
    regions : tuple of str
        Their names.
    centres : ndarray, shape (region, 3)
        In millimetres (MNI).
    radius : float
        In millimetres.
    """

    regions: tuple[str, ...]
    centres: NDArray[np.float64]
    radius: float

    def masker(
        self, affine: NDArray[np.float64], valid: NDArray[np.bool_], cleaning: Mapping[str, Any]
    ) -> tuple[NDArray[np.bool_], Masker]:
        """Tell which spheres have voxels in an image, and make nilearn's masker for them."""
        needed = np.zeros_like(valid)
        covered = np.array([self._mark_voxels(c, affine, valid, needed) for c in self.centres])
        maskers = import_extra("nilearn.maskers", "nifti")
        return covered, maskers.NiftiSpheresMasker(
            seeds=[tuple(centre) for centre in self.centres[covered]],
            radius=self.radius,
            # Without a mask nilearn goes through every voxel of the image for each sphere.
            mask_img=make_image(needed.astype(np.int8), affine),
            allow_overlap=True,
            **cleaning,
        )

    def _mark_voxels(
        self,
        centre: NDArray[np.float64],
        affine: NDArray[np.float64],
        valid: NDArray[np.bool_],
        needed: NDArray[np.bool_],
    ) -> bool:
        """Mark the valid voxels of a sphere (and the nearest, as nilearn does); tell if any."""
        nearest = np.rint((np.linalg.inv(affine) @ np.append(centre, 1.0))[:3]).astype(int)
        size = np.linalg.norm(affine[:3, :3], axis=0)
        reach = np.ceil(self.radius / size).astype(int) + 1
        low = np.maximum(nearest - reach, 0)
        high = np.minimum(nearest + reach + 1, valid.shape)
        if (low >= high).any():
            return False
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        voxels = np.stack(np.meshgrid(*map(np.arange, low, high), indexing="ij"), axis=-1)
        points = voxels @ affine[:3, :3].T + affine[:3, 3]
        inside = np.linalg.norm(points - centre, axis=-1) <= self.radius
        inside |= (voxels == nearest).all(axis=-1)
        inside &= valid[box]
        needed[box] |= inside
        return bool(inside.any())


@dataclass(frozen=True)
class LabelImage:
    """An atlas image with one integer per region.

    Parameters
    ----------
    regions : tuple of str
        Names of the labels.
    values : ndarray of int
        The label of each region, ascending.
    labels : ndarray of int, shape (x, y, z)
        The image; 0 is background.
    affine : ndarray, shape (4, 4)
        From voxels to millimetres.
    """

    regions: tuple[str, ...]
    values: NDArray[np.int64]
    labels: NDArray[np.int32]
    affine: NDArray[np.float64]

    def masker(
        self, affine: NDArray[np.float64], valid: NDArray[np.bool_], cleaning: Mapping[str, Any]
    ) -> tuple[NDArray[np.bool_], Masker]:
        """Tell which labels have voxels in an image, and make nilearn's masker for them."""
        labels = to_grid(self.labels, self.affine, affine, valid.shape)
        labels = np.where(valid, labels, 0).astype(np.int32)
        maskers = import_extra("nilearn.maskers", "nifti")
        masker = maskers.NiftiLabelsMasker(
            make_image(labels, affine), resampling_target=None, **cleaning
        )
        return np.isin(self.values, labels), masker


def spheres(name: str, radius: float) -> Spheres:
    """Make the spheres of a named region set from nilearn's Dosenbach coordinates.

    Parameters
    ----------
    name : str
        A region set, for example ``"dosenbach-dmn33"``.
    radius : float
        In millimetres.

    Returns
    -------
    Spheres
    """
    if not radius > 0:
        raise InputError(f"Expected a sphere radius above 0 mm, got {radius}.")
    chosen = region_set(name)
    centres = np.array([dosenbach_places()[region] for region in chosen.names])
    return Spheres(chosen.names, centres, float(radius))


def label_image(
    path: str | os.PathLike[str], names: str | os.PathLike[str] | None = None
) -> LabelImage:
    """Read an atlas image.

    Parameters
    ----------
    path : path-like
        A 3-D image of integers.
    names : path-like, optional
        A tsv or csv table with the columns `index` (or `value`) and `name` (or `label`), as BIDS
        ``*_dseg.tsv``. Without it regions are ``label-1``, ``label-2``, ...

    Returns
    -------
    LabelImage
    """
    path = Path(path)
    values, affine = load_image(path, 3)
    labels, found = _whole_numbers(values, f"the atlas {path}")
    return LabelImage(_names(found, names), found, labels, affine)


def label_image_of(
    image: Any,  # noqa: ANN401 (a path, or an image of nibabel)
    names: Mapping[int, str],
    what: str,
) -> LabelImage:
    """Make regions of an atlas that is in memory, or of its file.

    Parameters
    ----------
    image : path-like or image
        As nilearn returns it.
    names : mapping of int to str
        By label; a label without a name is ``label-<number>``.
    what : str
        For messages, for example ``"the atlas aal"``.

    Returns
    -------
    LabelImage
    """
    if isinstance(image, str | os.PathLike):
        values, affine = load_image(Path(image), 3)
    else:
        values, affine = np.asarray(image.dataobj, dtype=np.float64), np.asarray(image.affine)
    labels, found = _whole_numbers(values, what)
    texts = [names.get(int(value), f"label-{value}") for value in found]
    unique = [
        text if texts.count(text) == 1 else f"{text}_{value}"
        for text, value in zip(texts, found, strict=True)
    ]
    return LabelImage(tuple(unique), found, labels, affine)


def _whole_numbers(values: NDArray[Any], what: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    labels = np.rint(values)
    if not np.array_equal(labels, values):
        raise UnreadableFileError(
            f"Expected whole numbers (one per region) in {what}, found others; "
            "give a label image, not a probability map."
        )
    found = np.unique(labels[labels != 0]).astype(np.int64)
    if not found.size:
        raise UnreadableFileError(f"Expected labels in {what}, found background only.")
    return labels.astype(np.int32), found


def _names(values: NDArray[np.int64], table: str | os.PathLike[str] | None) -> tuple[str, ...]:
    if table is None:
        return tuple(f"label-{value}" for value in values)
    columns = {key.lower(): cells for key, cells in read_table_file(Path(table)).items()}
    numbers = columns.get("index") or columns.get("value")
    names = columns.get("name") or columns.get("label")
    if numbers is None or names is None:
        raise UnknownNameError(
            f"Expected the columns index and name in {table}, found {name_first(columns, 10)}."
        )
    known = {number.strip(): name.strip() for number, name in zip(numbers, names, strict=True)}
    nameless = [value for value in values if str(value) not in known]
    if nameless:
        raise UnknownNameError(
            f"Expected a name for every label of the atlas in {table}, but {name_first(nameless)} "
            "have none; complete the table."
        )
    return tuple(known[str(value)] for value in values)
