"""Images and the regions in them: NIfTI files whose damage is named, atlases by name or file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    did_you_mean,
    explain_damage,
    import_extra,
    name_first,
    refuse_inflated,
    require_memory,
)
from sclcs.cohort.regions import REGION_SETS, dosenbach_coordinates, region_set
from sclcs.cohort.tables import read_table_file

Image = Any  # of nibabel; like nilearn's maskers it is imported only where it is used
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SECONDS_PER_UNIT = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6, "unknown": 1.0}


def open_image(path: Path, n_dimensions: int) -> Image:
    """Open a .nii or .nii.gz file: 4-D for a scan, 3-D for a mask or atlas; reads its header."""
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


def _require_sound_sizes(path: Path, image: Image) -> None:
    """Refuse a header whose sizes are negative or promise more than the file holds."""
    shape = [int(size) for size in image.shape]
    if any(size < 1 for size in shape):
        raise ValueError(f"its header declares the sizes {shape}")
    declared = prod(shape) * int(image.get_data_dtype().itemsize)
    refuse_inflated(path, declared, packed=path.name.endswith(".gz"))
    require_memory(prod(shape) * np.dtype(np.float32).itemsize, str(path))


def load_image(path: Path, n_dimensions: int) -> tuple[NDArray[np.float32], Floats]:
    """Read the values of an image and its affine, from voxels to millimetres."""
    image = open_image(path, n_dimensions)
    with explain_damage(path, f"a {n_dimensions}-D NIfTI image"):
        values = image.get_fdata(dtype=np.float32, caching="unchanged")
        affine = np.asarray(image.affine, dtype=np.float64)
        if not np.isfinite(affine).all():
            raise ValueError("its affine is not finite")
    return values, affine


def image_header(path: Path) -> tuple[int, float | None]:
    """Return the number of volumes of a scan and its repetition time in seconds, if given."""
    header = open_image(path, 4).header
    step = float(header.get_zooms()[3])
    seconds = step * _SECONDS_PER_UNIT.get(header.get_xyzt_units()[1], 1.0)
    return int(header.get_data_shape()[3]), (seconds if seconds > 0 else None)


def to_grid(
    values: NDArray[Any], affine: Floats, target: Floats, shape: Sequence[int]
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


def make_image(values: NDArray[Any], affine: Floats) -> Image:
    """Make an image in memory."""
    return import_extra("nibabel", "nifti").Nifti1Image(values, affine)


@dataclass(frozen=True)
class Spheres:
    """Spheres around points in mm (MNI); where two overlap, both use the voxels they share."""

    regions: tuple[str, ...]
    centres: Floats
    radius: float

    def masker(self, affine: Floats, valid: Mask, cleaning: Mapping[str, Any]) -> tuple[Mask, Any]:
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

    def _mark_voxels(self, centre: Floats, affine: Floats, valid: Mask, needed: Mask) -> bool:
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
    """An atlas image with one integer per region (0 is background); `values` are ascending."""

    regions: tuple[str, ...]
    values: NDArray[np.int64]
    labels: NDArray[np.int32]
    affine: Floats

    def masker(self, affine: Floats, valid: Mask, cleaning: Mapping[str, Any]) -> tuple[Mask, Any]:
        """Tell which labels have voxels in an image, and make nilearn's masker for them."""
        labels = to_grid(self.labels, self.affine, affine, valid.shape)
        labels = np.where(valid, labels, 0).astype(np.int32)
        maskers = import_extra("nilearn.maskers", "nifti")
        masker = maskers.NiftiLabelsMasker(
            make_image(labels, affine), resampling_target=None, **cleaning
        )
        return np.isin(self.values, labels), masker


Parcellation = Spheres | LabelImage


def _label_image(values: NDArray[Any], affine: Floats, what: str) -> LabelImage:
    """Check the labels of an atlas; regions are ``label-1``, ``label-2``, ..."""
    labels = np.rint(values)
    if not np.array_equal(labels, values):
        raise UnreadableFileError(
            f"Expected whole numbers (one per region) in {what}, found others; "
            "give a label image, not a probability map."
        )
    found = np.unique(labels[labels != 0]).astype(np.int64)
    if not found.size:
        raise UnreadableFileError(f"Expected labels in {what}, found background only.")
    names = tuple(f"label-{value}" for value in found)
    return LabelImage(names, found, labels.astype(np.int32), affine)


def _names_in(table: Path, values: NDArray[np.int64]) -> tuple[str, ...]:
    """Read names of labels: columns `index` (or `value`) and `name` (or `label`), as in BIDS."""
    columns = {key.lower(): cells for key, cells in read_table_file(table).items()}
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


#: Label images that nilearn fetches: its function, and the arguments.
_LABEL_IMAGES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"schaefer{count}{end}": (
            "fetch_atlas_schaefer_2018",
            {"n_rois": count, "yeo_networks": networks, "resolution_mm": 2},
        )
        for networks, end in ((7, ""), (17, "-17"))
        for count in range(100, 1001, 100)
    },
    "aal": ("fetch_atlas_aal", {"version": "SPM12"}),
    "aal3": ("fetch_atlas_aal", {"version": "3v2"}),
    "harvard-oxford": (
        "fetch_atlas_harvard_oxford",
        {"atlas_name": "cort-maxprob-thr25-2mm", "symmetric_split": True},
    ),
    "harvard-oxford-sub": ("fetch_atlas_harvard_oxford", {"atlas_name": "sub-maxprob-thr25-2mm"}),
    "destrieux": ("fetch_atlas_destrieux_2009", {}),
}
#: Coordinates that come with nilearn; nothing is downloaded.
_COORDINATES = {"power264": "fetch_coords_power_2011", "seitzman300": "fetch_coords_seitzman_2018"}
_REGION_SETS = {"dosenbach160": "dosenbach-160", "dosenbach33": "dosenbach-dmn33"}


def known_atlases() -> list[str]:
    """Return the names that ``--atlas`` understands, besides label images of the user's own."""
    return [*REGION_SETS, *_REGION_SETS, *_COORDINATES, *_LABEL_IMAGES]


def parcellation(
    atlas: str,
    names: str | Path | None = None,
    radius: float = 5.0,
    data_dir: str | Path | None = None,
) -> Parcellation:
    """Return the regions of a known atlas, or of a label image.

    An atlas is ``"schaefer400"``, ``"schaefer200-17"``, ``"aal"``, ``"dosenbach160"`` (spheres of a
    radius in mm), ..., or a file; `names` is its table (`index` and `name`, as BIDS
    ``*_dseg.tsv``), and `data_dir` where nilearn keeps downloads.
    """
    plain = {_plain(known): known for known in known_atlases()}
    known = plain.get(_plain(atlas))
    is_file = Path(atlas).exists() or atlas.endswith((".nii", ".nii.gz"))
    if known is None and not is_file:
        raise UnknownNameError(
            f"Unknown atlas {atlas!r}; give a label image (.nii.gz) or one of "
            f"{', '.join(n for n in known_atlases() if not n.startswith('schaefer'))}, "
            f"schaefer100 to schaefer1000 (-17 for 17 networks).{did_you_mean(atlas, plain)}"
        )
    if known is None:
        found = _label_image(*load_image(Path(atlas), 3), f"the atlas {atlas}")
        regions = found.regions if names is None else _names_in(Path(names), found.values)
        return LabelImage(regions, found.values, found.labels, found.affine)
    if known in _LABEL_IMAGES:
        return _fetch(known, data_dir)
    if known in _COORDINATES:
        datasets = import_extra("nilearn.datasets", "nifti")
        table = getattr(datasets, _COORDINATES[known])().rois
        centres = table[["x", "y", "z"]].to_numpy(dtype=np.float64)
        bare, digits = known.rstrip("0123456789"), len(str(len(centres)))
        regions = tuple(f"{bare}_{k:0{digits}d}" for k in range(1, len(centres) + 1))
    else:
        regions = region_set(_REGION_SETS.get(known, known)).names
        centres = np.array([dosenbach_coordinates()[region] for region in regions])
    return Spheres(regions, centres, float(radius))


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def _fetch(name: str, data_dir: str | Path | None) -> LabelImage:
    datasets = import_extra("nilearn.datasets", "nifti")
    function, options = _LABEL_IMAGES[name]
    folder = Path(datasets.get_data_dirs(None if data_dir is None else str(data_dir))[0])
    try:
        atlas = getattr(datasets, function)(data_dir=str(folder), verbose=0, **options)
    # nilearn passes on whatever the network, the archive or the parser raised.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        given = "".join(f", {key}={value!r}" for key, value in options.items())
        raise NotFoundError(
            f"Expected the atlas {name} in {folder}, but it is not there and cannot be downloaded "
            f"({reason}); call nilearn.datasets.{function}(data_dir=FOLDER{given}) where there is "
            "a network and bring the folder (--data-dir FOLDER), or give a label image with "
            "--atlas FILE --atlas-names TABLE."
        ) from error
    if isinstance(atlas.maps, str | Path):
        values, affine = load_image(Path(atlas.maps), 3)
    else:
        values, affine = np.asarray(atlas.maps.dataobj), np.asarray(atlas.maps.affine)
    found = _label_image(values, affine, f"the atlas {name}")
    known = dict(zip(map(int, atlas.lut["index"]), map(str, atlas.lut["name"]), strict=True))
    names = [known.get(int(value), f"label-{value}") for value in found.values]
    unique = [
        text if names.count(text) == 1 else f"{text}_{value}"
        for text, value in zip(names, found.values, strict=True)
    ]
    return LabelImage(tuple(unique), found.values, found.labels, found.affine)
