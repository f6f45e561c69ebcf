"""Atlases by name, through nilearn's fetchers: downloaded once, then read from its folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sclcs.cohort.readers.nifti_regions import (
    LabelImage,
    Parcellation,
    Spheres,
    label_image_of,
    spheres,
)
from sclcs.cohort.regions import REGION_SETS
from sclcs.core.errors import InputError, NotFoundError, UnknownNameError, did_you_mean
from sclcs.core.optional import import_extra

__all__ = ["atlas_names", "is_named_atlas", "named_atlas"]


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


def atlas_names() -> list[str]:
    """Return the names that ``--atlas`` understands, besides label images of the user's own."""
    return [*REGION_SETS, *_REGION_SETS, *_COORDINATES, *_LABEL_IMAGES]


def is_named_atlas(name: str) -> bool:
    """Tell whether a text is the name of an atlas rather than a file."""
    return _plain(name) in {_plain(known) for known in atlas_names()}


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def named_atlas(
    name: str, radius: float, data_dir: str | os.PathLike[str] | None = None
) -> Parcellation:
    """Return the regions of a known atlas.

    Parameters
    ----------
    name : str
        For example ``"schaefer400"``, ``"schaefer200-17"``, ``"aal"``, ``"dosenbach160"``.
    radius : float
        Of spheres around coordinates, in mm.
    data_dir : path-like, optional
        Where nilearn keeps downloads; its own folder by default.

    Returns
    -------
    Parcellation
    """
    plain = {_plain(known): known for known in atlas_names()}
    known = plain.get(_plain(name))
    if known is None:
        raise UnknownNameError(
            f"Unknown atlas {name!r}; give a label image (.nii.gz) or one of "
            f"{', '.join(n for n in atlas_names() if not n.startswith('schaefer'))}, "
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
            "folder with --atlas-dir, or give a label image with --atlas FILE --atlas-names TABLE."
        ) from error
    table = atlas.lut
    names = dict(zip(map(int, table["index"]), map(str, table["name"]), strict=True))
    return label_image_of(atlas.maps, names, f"the atlas {name}")
