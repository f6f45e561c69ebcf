"""Reading NIfTI images so that damage is noticed and named."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnreadableFileError,
    explain_damage,
    import_extra,
    name_first,
    read_json,
    refuse_inflated,
    require_memory,
)
from sclcs.cohort.readers.bids_files import (
    BidsFile,
    BidsName,
    Choice,
    find_files,
    parse_bids_name,
    require_one_file_per_scan,
    select_files,
)
from sclcs.cohort.readers.bids_metadata import Sidecars

__all__ = [
    "FoundImages",
    "ImageFile",
    "ImagePaths",
    "find_images",
    "header_facts",
    "load_image",
    "make_image",
    "open_image",
    "to_grid",
]


Image = Any  # a nibabel image; nibabel is imported only where it is used

_SECONDS_PER_UNIT = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6, "unknown": 1.0}


def open_image(path: Path, n_dimensions: int) -> Image:
    """Open an image; only its header is read.

    `path`: a ``.nii`` or ``.nii.gz`` file; `n_dimensions`: 4 for a scan, 3 for a mask or atlas.
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

    `path`: a ``.nii`` or ``.nii.gz`` file; `n_dimensions`: 4 for a scan, 3 for a mask or atlas.
    Returns: from voxels to millimetres.
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


ImagePaths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_ENDINGS = (".nii", ".nii.gz")


@dataclass(frozen=True)
class ImageFile:
    """An image and what its name says.

    `scan_id, subject`: from the BIDS name, else the name without its ending; `facts`: session,
    task and run; `bids, sidecars`: where the repetition time is looked up, for a file of a
    derivative.
    """

    path: Path
    scan_id: str
    subject: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    bids: BidsFile | None = None
    sidecars: Sidecars | None = None

    def sidecar_tr(self) -> float | None:
        """Return the repetition time that a JSON sidecar tells, in seconds."""
        if self.bids is not None and self.sidecars is not None:
            return self.sidecars.repetition_time(self.bids)
        beside = self.path.with_name(f"{_stem(self.path)}.json")
        if not beside.is_file():
            return None
        try:
            value = read_json(beside).get("RepetitionTime")
        except UnreadableFileError as error:
            raise UnreadableFileError(
                f"Expected a JSON object in {beside}, but it is damaged ({error}); repair it, or "
                "give the repetition time with --tr (tr=...)."
            ) from error
        return float(value) if isinstance(value, int | float) and value > 0 else None


@dataclass(frozen=True)
class FoundImages:
    """The images to read and where they were found.

    `folder`: the derivative, if it is one; `subjects`: subjects with any image there, also those
    not chosen.
    """

    files: list[ImageFile]
    source: str
    folder: Path | None = None
    subjects: set[str] = field(default_factory=set)


def find_images(images: ImagePaths, choices: Mapping[str, Choice]) -> FoundImages:
    """Find the images a user points at.

    `images`: a derivative folder, another folder, a glob pattern, or files; `choices`: labels by
    BIDS entity; `desc` is ``preproc`` in a derivative if not chosen.
    """
    if isinstance(images, str | os.PathLike):
        folder = Path(images)
        if folder.is_dir() and any(folder.glob("sub-*/")):
            return _derivative(folder, choices)
        paths = _paths_of(images)
    else:
        paths = [Path(path) for path in images]
    missing = [path for path in paths if not path.is_file()]
    if missing or not paths:
        raise NotFoundError(
            f"Expected images, but nothing is at {name_first(missing) or images}; check the path."
        )
    parsed = [(path, parse_bids_name(path)) for path in paths]
    named = [BidsFile(p, name) for p, name in parsed if name is not None and _names_subject(name)]
    if len(named) < len(paths) and any(choice is not None for choice in choices.values()):
        chosen = [key for key, choice in choices.items() if choice is not None]
        raise InputError(
            f"Files can be chosen by {name_first(chosen)} only if they have BIDS names; "
            f"{paths[0].name} has none."
        )
    if len(named) == len(paths):
        named = select_files(named, choices)
        require_one_file_per_scan(named)
        return FoundImages([_from_name(file) for file in named], str(images))
    return FoundImages([ImageFile(path, _stem(path), _stem(path)) for path in paths], str(images))


def _paths_of(images: str | os.PathLike[str]) -> list[Path]:
    place = Path(images)
    if place.is_dir():
        paths = sorted(path for path in place.iterdir() if path.name.endswith(_ENDINGS))
        if not paths:
            raise InputError(f"Expected .nii or .nii.gz files in {place}, found none.")
        return paths
    if place.exists():
        return [place]
    return sorted(Path(path) for path in glob.glob(str(images), recursive=True))  # noqa: PTH207


def _derivative(folder: Path, choices: Mapping[str, Choice]) -> FoundImages:
    wanted = {**choices, "desc": choices.get("desc") or "preproc"}
    found = find_files(folder, _is_image, "4-D images (*_bold.nii.gz)")
    files = select_files(found, wanted)
    require_one_file_per_scan(files)
    sidecars = Sidecars(folder)
    return FoundImages(
        [_from_name(file, sidecars) for file in files],
        str(folder),
        folder,
        {file.subject for file in found},
    )


def _is_image(name: BidsName) -> bool:
    return name.suffix == "bold" and name.extension in _ENDINGS


def _names_subject(name: BidsName) -> bool:
    return "sub" in name.entities


def _from_name(file: BidsFile, sidecars: Sidecars | None = None) -> ImageFile:
    facts = {name: label for name, label in file.facts().items() if label is not None}
    return ImageFile(file.path, file.name.scan_id, file.subject, facts, file, sidecars)


def _stem(path: Path) -> str:
    name = path.name
    return next((name.removesuffix(end) for end in reversed(_ENDINGS) if name.endswith(end)), name)
