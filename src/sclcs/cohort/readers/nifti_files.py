"""Which images to read: an fMRIPrep derivative, a folder, a pattern or a list."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sclcs.cohort.bids_dataset import Sidecars
from sclcs.cohort.bids_files import (
    BidsFile,
    Choice,
    find_files,
    require_one_file_per_scan,
    select_files,
)
from sclcs.cohort.bids_names import BidsName, parse_bids_name
from sclcs.core.errors import InputError, NotFoundError, UnreadableFileError, name_first
from sclcs.core.gate import read_json

__all__ = ["FoundImages", "ImageFile", "ImagePaths", "find_images"]

ImagePaths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_ENDINGS = (".nii", ".nii.gz")


@dataclass(frozen=True)
class ImageFile:
    """An image and what its name says.

    Parameters
    ----------
    path : Path
        The file.
    scan_id, subject : str
        From the BIDS name, else the name without its ending.
    facts : mapping
        Session, task and run.
    bids, sidecars
        Where the repetition time is looked up, for a file of a derivative.
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

    Parameters
    ----------
    files : list of ImageFile
        The images.
    source : str
        For the provenance.
    folder : Path or None
        The derivative, if it is one.
    subjects : set of str
        Subjects with any image there, also those not chosen.
    """

    files: list[ImageFile]
    source: str
    folder: Path | None = None
    subjects: set[str] = field(default_factory=set)


def find_images(images: ImagePaths, choices: Mapping[str, Choice]) -> FoundImages:
    """Find the images a user points at.

    Parameters
    ----------
    images : path-like or sequence of path-like
        A derivative folder, another folder, a glob pattern, or files.
    choices : mapping
        Labels by BIDS entity; `desc` is ``preproc`` in a derivative if not chosen.

    Returns
    -------
    FoundImages
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
