"""Atlases by name, through nilearn's fetchers: downloaded once, then read from its folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    did_you_mean,
    import_extra,
    name_first,
)
from sclcs.cohort.readers.nifti_images import load_image, make_image, to_grid
from sclcs.cohort.regions import REGION_SETS, dosenbach_places, region_set
from sclcs.cohort.tables import read_table_file

__all__ = [
    "LabelImage",
    "Parcellation",
    "Spheres",
    "is_named_atlas",
    "known_atlases",
    "label_image",
    "label_image_of",
    "named_atlas",
    "spheres",
]


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

    `centres`: in millimetres (MNI); `radius`: in millimetres.
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

    `regions`: names of the labels; `values`: the label of each region, ascending; `labels`: the
    image; 0 is background; `affine`: from voxels to millimetres.
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

    `name`: a region set, for example ``"dosenbach-dmn33"``; `radius`: in millimetres.
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

    `path`: a 3-D image of integers; `names`: a tsv or csv table with the columns `index` (or
    `value`) and `name` (or `label`), as BIDS ``*_dseg.tsv``. Without it regions are ``label-1``,
    ``label-2``, ...
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

    `image`: as nilearn returns it; `names`: by label; a label without a name is
    ``label-<number>``; `what`: for messages, for example ``"the atlas aal"``.
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


@dataclass(frozen=True)
class _Fetched:
    """A label image that nilearn fetches: its function, arguments, and the files it looks for."""

    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()


def _schaefer(count: int, networks: int) -> _Fetched:
    stem = f"schaefer_2018/Schaefer2018_{count}Parcels_{networks}Networks_order"
    return _Fetched(
        "fetch_atlas_schaefer_2018",
        {"n_rois": count, "yeo_networks": networks, "resolution_mm": 2},
        (f"{stem}_FSLMNI152_2mm.nii.gz", f"{stem}.txt"),
    )


_FSL = "fsl/data/atlases"
_LABEL_IMAGES: dict[str, _Fetched] = {
    **{f"schaefer{n}": _schaefer(n, 7) for n in range(100, 1001, 100)},
    **{f"schaefer{n}-17": _schaefer(n, 17) for n in range(100, 1001, 100)},
    "aal": _Fetched(
        "fetch_atlas_aal",
        {"version": "SPM12"},
        ("aal_SPM12/aal/atlas/AAL.nii", "aal_SPM12/aal/atlas/AAL.xml"),
    ),
    "aal3": _Fetched(
        "fetch_atlas_aal",
        {"version": "3v2"},
        ("aal_3v2/AAL3/AAL3v1.nii", "aal_3v2/AAL3/AAL3v1.xml"),
    ),
    "harvard-oxford": _Fetched(
        "fetch_atlas_harvard_oxford",
        {"atlas_name": "cort-maxprob-thr25-2mm", "symmetric_split": True},
        (
            f"{_FSL}/HarvardOxford/HarvardOxford-cortl-maxprob-thr25-2mm.nii.gz",
            f"{_FSL}/HarvardOxford-Cortical-Lateralized.xml",
        ),
    ),
    "harvard-oxford-sub": _Fetched(
        "fetch_atlas_harvard_oxford",
        {"atlas_name": "sub-maxprob-thr25-2mm"},
        (
            f"{_FSL}/HarvardOxford/HarvardOxford-sub-maxprob-thr25-2mm.nii.gz",
            f"{_FSL}/HarvardOxford-Subcortical.xml",
        ),
    ),
    "destrieux": _Fetched(
        "fetch_atlas_destrieux_2009",
        {},
        (
            "destrieux_2009/destrieux2009_rois_lateralized.nii.gz",
            "destrieux_2009/destrieux2009_rois_labels_lateralized.csv",
        ),
    ),
}
# Coordinates come with nilearn; nothing is downloaded.
_COORDINATES = {"power264": "fetch_coords_power_2011", "seitzman300": "fetch_coords_seitzman_2018"}
_REGION_SETS = {"dosenbach160": "dosenbach-160", "dosenbach33": "dosenbach-dmn33"}


def known_atlases() -> list[str]:
    """Return the names that ``--atlas`` understands, besides label images of the user's own."""
    return [*REGION_SETS, *_REGION_SETS, *_COORDINATES, *_LABEL_IMAGES]


def is_named_atlas(name: str) -> bool:
    """Tell whether a text is the name of an atlas rather than a file."""
    return _plain(name) in {_plain(known) for known in known_atlases()}


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def named_atlas(
    name: str, radius: float, data_dir: str | os.PathLike[str] | None = None
) -> Parcellation:
    """Return the regions of a known atlas.

    `name`: for example ``"schaefer400"``, ``"schaefer200-17"``, ``"aal"``, ``"dosenbach160"``;
    `radius`: of spheres around coordinates, in mm; `data_dir`: where nilearn keeps downloads; its
    own folder by default.
    """
    plain = {_plain(known): known for known in known_atlases()}
    known = plain.get(_plain(name))
    if known is None:
        raise UnknownNameError(
            f"Unknown atlas {name!r}; give a label image (.nii.gz) or one of "
            f"{', '.join(n for n in known_atlases() if not n.startswith('schaefer'))}, "
            f"schaefer100 to schaefer1000 (-17 for 17 networks).{did_you_mean(name, plain)}"
        )
    if known in REGION_SETS or known in _REGION_SETS:
        return spheres(_REGION_SETS.get(known, known), radius)
    if known in _COORDINATES:
        return _spheres_of(known, radius)
    return _fetch(known, data_dir)


def _spheres_of(name: str, radius: float) -> Spheres:
    if not radius > 0:
        raise InputError(f"Expected a sphere radius above 0 mm, got {radius}.")
    datasets = import_extra("nilearn.datasets", "nifti")
    table = getattr(datasets, _COORDINATES[name])().rois
    centres = table[["x", "y", "z"]].to_numpy(dtype=np.float64)
    digits = len(str(len(centres)))
    bare = name.rstrip("0123456789")
    names = tuple(f"{bare}_{number:0{digits}d}" for number in range(1, len(centres) + 1))
    return Spheres(names, centres, float(radius))


def _fetch(name: str, data_dir: str | os.PathLike[str] | None) -> LabelImage:
    datasets = import_extra("nilearn.datasets", "nifti")
    row = _LABEL_IMAGES[name]
    folder = Path(datasets.get_data_dirs(None if data_dir is None else str(data_dir))[0])
    try:
        atlas = getattr(datasets, row.function)(data_dir=str(folder), verbose=0, **row.options)
    # nilearn passes on whatever the network, the archive or the parser raised.
    except Exception as error:
        files = " and ".join(str(folder / file) for file in row.files)
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NotFoundError(
            f"Expected the atlas {name} in {folder}, but it is not there and cannot be downloaded "
            f"({reason}); put {files} there (fetch them where there is a network), choose another "
            "folder with --data-dir, or give a label image with --atlas FILE --atlas-names TABLE."
        ) from error
    table = atlas.lut
    names = dict(zip(map(int, table["index"]), map(str, table["name"]), strict=True))
    return label_image_of(atlas.maps, names, f"the atlas {name}")
