"""Regional signals taken from 4-D images through nilearn, one scan at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sclcs.cohort.bids_dataset import (
    attach_participants,
    find_participants,
    missing_participants,
    split_tr,
    with_note,
)
from sclcs.cohort.bids_files import Choice
from sclcs.cohort.facts.motion import attach_motion
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.atlases import is_named_atlas, named_atlas
from sclcs.cohort.readers.nifti_confounds import NO_CONFOUNDS, Confounds
from sclcs.cohort.readers.nifti_extraction import Cleaning, Extraction
from sclcs.cohort.readers.nifti_files import FoundImages, ImageFile, ImagePaths, find_images
from sclcs.cohort.readers.nifti_image import header_facts
from sclcs.cohort.readers.nifti_regions import Parcellation, Spheres, label_image
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, UnreadableFileError, name_first
from sclcs.core.progress import track

__all__ = ["read_nifti"]


@checked
def read_nifti(
    images: ImagePaths,
    *,
    atlas: str | os.PathLike[str] = "dosenbach-dmn33",
    atlas_names: str | os.PathLike[str] | None = None,
    atlas_dir: str | os.PathLike[str] | None = None,
    radius: float = 5.0,
    mask: str | os.PathLike[str] | None = None,
    confounds: str | Sequence[str] = NO_CONFOUNDS,
    confound_options: Mapping[str, Any] | None = None,
    low_pass: float | None = None,
    high_pass: float | None = None,
    detrend: bool = False,
    smoothing: float | None = None,
    task: Choice = None,
    session: Choice = None,
    run: Choice = None,
    space: str | None = None,
    desc: str | None = None,
    entities: Mapping[str, str] | None = None,
    participants: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    regions: str | Sequence[str] | None = None,
    tr: float | None = None,
) -> Scans:
    """Take regional mean signals from 4-D images in standard (MNI) space.

    Parameters
    ----------
    images : path-like or sequence of path-like
        An fMRIPrep derivative (``sub-*/[ses-*/]func/*_desc-preproc_bold.nii.gz``), another folder
        of ``.nii``/``.nii.gz`` files, a glob pattern, or files.
    atlas : str or path-like
        A region set (``"dosenbach-dmn33"``, ``"dosenbach-160"``) or ``"power264"``,
        ``"seitzman300"``: spheres around the coordinates that come with nilearn. An atlas that
        nilearn fetches once: ``"schaefer400"``, ``"aal"``, ``"harvard-oxford"``, ... Or a
        3-D label image, brought to each scan's grid by nearest neighbour.
    atlas_names : path-like, optional
        For a label image: table with the columns index and name (BIDS ``*_dseg.tsv``).
    atlas_dir : path-like, optional
        Where nilearn keeps fetched atlases; its own folder by default.
    radius : float
        Of the spheres, in mm. Some Dosenbach regions are less than 10 mm apart; where
        spheres overlap both use the shared voxels.
    mask : path-like, optional
        A 3-D image; only voxels inside are used. Voxels that are not finite in a scan
        are never used.
    confounds : str or sequence of str
        What nilearn's ``load_confounds`` takes from fMRIPrep's confounds file to be regressed
        out: ``"none"``, a preset (``"simple"``, ``"scrubbing"``, ``"compcor"``, ``"ica_aroma"``) or
        components (``"motion,wm_csf"``). Volumes before the steady state, and those that
        scrubbing finds, are cut out; the fact `volumes_removed` counts them.
    confound_options : mapping, optional
        More options of ``load_confounds``, for example ``{"fd_threshold": 0.2}``.
    low_pass, high_pass : float, optional
        Cut-off frequencies in Hz.
    detrend : bool
        Whether a linear trend is removed.
    smoothing : float, optional
        Full width at half maximum of a spatial filter, in mm.
    task, session, run, space, desc, entities
        Choice of files in a derivative, as in :func:`~sclcs.cohort.readers.bids.read_bids`;
        `desc` is ``preproc`` by default.
    participants : path-like, optional
        Table of labels. For a derivative ``participants.tsv`` is found as in `read_bids`.
    id_column : str, optional
        Its column of subjects or scans; recognised by name if not given.
    regions : str or sequence of str, optional
        Keep some regions only.
    tr : float, optional
        Repetition time in seconds; by default from the JSON sidecar, then the image header.

    Returns
    -------
    Scans
        Images are read when a scan is used, one at a time. A region without voxels in a
        scan is NaN there, and the scan is reported as non-finite.
    """
    choices = {"task": task, "ses": session, "run": run, "space": space, "desc": desc}
    found = find_images(images, {**choices, **(entities or {})})
    extraction = Extraction(
        _parcellation(atlas, atlas_names, radius, atlas_dir),
        Confounds(confounds, dict(confound_options or {})),
        Cleaning(low_pass, high_pass, detrend, smoothing),
        None if mask is None else Path(mask),
    )
    options = {
        "atlas": str(atlas),
        **({"radius": radius} if isinstance(extraction.parcellation, Spheres) else {}),
        **extraction.to_dict(),
        **{key: _plain(choice) for key, choice in choices.items()},
        "entities": dict(entities or {}),
        "regions": _plain(regions),
        "tr": tr,
    }
    provenance = {"reader": "nifti", "source": found.source, "options": options}
    scans = _scans(found.files, extraction, tr, provenance)
    files = {file.scan_id: file.bids for file in found.files if file.bids is not None}
    scans = attach_motion(scans, files)
    scans = _attach(scans, found, participants, id_column)
    return choose_regions(scans, regions)


def _parcellation(
    atlas: str | os.PathLike[str],
    names: str | os.PathLike[str] | None,
    radius: float,
    folder: str | os.PathLike[str] | None,
) -> Parcellation:
    is_file = Path(atlas).exists() or str(atlas).endswith((".nii", ".nii.gz"))
    if is_named_atlas(str(atlas)) or not is_file:
        return named_atlas(str(atlas), radius, folder)
    return label_image(atlas, names)


def _scans(
    files: Sequence[ImageFile],
    extraction: Extraction,
    tr: float | None,
    provenance: Mapping[str, Any],
) -> Scans:
    """Look at headers and confounds of all images before any long work, and make the scans."""
    kept: list[tuple[ImageFile, float | None, int]] = []
    problems = []
    for file in track(files, "Looking at images"):
        inspected = _inspect(file, extraction.confounds, tr)
        if isinstance(inspected, Problem):
            problems.append(inspected)
        else:
            kept.append((file, *inspected))
    if not kept:
        raise_for(problems)
    _require_tr([(file, seconds) for file, seconds, _ in kept], extraction.cleaning)
    shared_tr, tr_facts = split_tr([seconds for _, seconds, _ in kept])
    scans = []
    for (file, seconds, removed), fact in zip(kept, tr_facts, strict=True):
        scrubbed = {"volumes_removed": removed} if extraction.confounds else {}
        load = partial(extraction.signals, file.path, seconds)
        facts = {**file.facts, **scrubbed, **fact}
        scans.append(Scan(file.scan_id, file.subject, load, facts))
    return Scans(scans, extraction.parcellation.regions, shared_tr, provenance, problems)


def _inspect(
    file: ImageFile, confounds: Confounds, tr: float | None
) -> tuple[float | None, int] | Problem:
    """Return the repetition time of an image and how many volumes its confounds take away."""
    try:
        n_volumes, header_tr = header_facts(file.path)
        _, left = confounds.load(file.path)
    except UnreadableFileError as error:
        return Problem("unreadable", file.scan_id, str(error))
    if left is not None and not len(left):
        return Problem("too-short", file.scan_id, "no time points left by scrubbing")
    removed = 0 if left is None else n_volumes - len(left)
    return tr or file.sidecar_tr() or header_tr, removed


def _require_tr(images: Sequence[tuple[ImageFile, float | None]], cleaning: Cleaning) -> None:
    unknown = [file.scan_id for file, seconds in images if seconds is None]
    if unknown and cleaning.needs_tr:
        raise InputError(
            f"A filter needs the repetition time, but neither sidecar nor header tells it for "
            f"{name_first(unknown)}; give it with --tr (tr=...)."
        )


def _attach(
    scans: Scans,
    found: FoundImages,
    participants: str | os.PathLike[str] | None,
    id_column: str | None,
) -> Scans:
    path = participants
    if path is None and found.folder is not None:
        path = find_participants(found.folder, found.subjects)
    if path is None and found.folder is not None:
        return with_note(scans, missing_participants(found.folder))
    if path is None:
        return scans
    table = read_label_table(path, id_column)
    if found.folder is not None:
        return attach_participants(scans, table, found.subjects)
    return attach_labels(scans, table, by=None)


def _plain(choice: Choice) -> str | list[str] | None:
    return choice if choice is None or isinstance(choice, str) else list(choice)
