"""Regional mean signals of 4-D images in standard space, through nilearn's maskers."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnknownNameError,
    UnreadableFileError,
    import_extra,
    name_first,
    track,
)
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.atlases import (
    Parcellation,
    Spheres,
    image_header,
    known_atlases,
    load_image,
    make_image,
    parcellation,
    to_grid,
)
from sclcs.cohort.readers.bids import Sidecars, attach_motion, attach_participants, confounds_file
from sclcs.cohort.readers.bids_names import (
    BidsFile,
    find_files,
    labels_by_entity,
    parse_bids_name,
    require_one_file_per_scan,
    select_files,
)
from sclcs.cohort.scans import Scan, Scans, split_tr

NO_CONFOUNDS = "none"
PRESETS = ("simple", "scrubbing", "compcor", "ica_aroma")
COMPONENTS = (
    "motion",
    "high_pass",
    "wm_csf",
    "global_signal",
    "compcor",
    "ica_aroma",
    "scrub",
    "non_steady_state",
)
_ENDINGS = (".nii", ".nii.gz")


@dataclass(frozen=True)
class Confounds:
    """Which nuisance signals of fMRIPrep are removed, through nilearn's ``load_confounds``.

    The strategy is ``"none"``, a preset of nilearn (:data:`PRESETS`), or noise components
    (:data:`COMPONENTS`, separated by commas); options are ``motion``, ``fd_threshold``, ...
    """

    strategy: str = NO_CONFOUNDS
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.components if name not in COMPONENTS]
        if unknown:
            raise UnknownNameError(
                f"Expected confounds {NO_CONFOUNDS!r}, a preset ({', '.join(PRESETS)}) or noise "
                f"components ({', '.join(COMPONENTS)}), got unknown {name_first(unknown)}."
            )
        if self.options and not self:
            raise InputError(
                f"Confound options ({name_first(self.options)}) need confounds; choose a preset "
                f"such as confounds='simple' (--confounds simple)."
            )

    def __bool__(self) -> bool:
        return self.strategy != NO_CONFOUNDS

    @property
    def components(self) -> list[str]:
        """The noise components asked for, if no preset is."""
        if self.strategy in {NO_CONFOUNDS, *PRESETS}:
            return []
        return [name.strip() for name in self.strategy.split(",")]

    def load(self, image: Path) -> tuple[pd.DataFrame | None, NDArray[np.int64] | None]:
        """Return the nuisance signals beside an image, and the volumes that stay (None: all).

        Volumes before the steady state and those that scrubbing finds go.
        """
        if not self:
            return None, None
        module = import_extra("nilearn.interfaces.fmriprep", "nifti")
        try:
            if self.strategy in PRESETS:
                return module.load_confounds_strategy(  # type: ignore[no-any-return]
                    str(image), denoise_strategy=self.strategy, **self.options
                )
            return module.load_confounds(  # type: ignore[no-any-return]
                str(image), strategy=tuple(self.components), **self.options
            )
        except TypeError as error:
            raise UnknownNameError(
                f"nilearn does not know the confound options: {error}."
            ) from error
        except (ValueError, KeyError, OSError) as error:
            reason = " ".join(str(error).split())
            raise UnreadableFileError(
                f"Expected fMRIPrep confounds for {self.strategy} beside {image}, but they cannot "
                f"be used ({reason}); make them again or choose other confounds."
            ) from error


@dataclass(frozen=True)
class Extraction:
    """How signals are taken from an image; only voxels inside the mask are used.

    Cleaning is what nilearn does besides: filters in Hz, a linear trend, smoothing (FWHM) in mm.
    """

    parcellation: Parcellation
    confounds: Confounds
    cleaning: Mapping[str, Any]
    mask: Path | None = None

    @property
    def filters(self) -> bool:
        """Whether frequencies matter."""
        return bool(self.cleaning["low_pass"] or self.cleaning["high_pass"])

    def signals(self, path: Path, tr: float | None) -> NDArray[np.float64]:
        """Take the signals (region, time) from one image; NaN where a region has no voxel."""
        volumes, affine = load_image(path, 4)
        valid = np.isfinite(volumes.sum(axis=3, dtype=np.float64))
        volumes[~valid] = 0.0
        if self.mask is not None:
            mask, mask_affine = load_image(self.mask, 3)
            inside = to_grid((mask != 0).astype(np.int8), mask_affine, affine, valid.shape)
            valid = valid & inside.astype(np.bool_)
        options = {**self.cleaning, "t_r": tr if self.filters else None, "reports": False}
        options["standardize"] = None  # operators do that
        covered, masker = self.parcellation.masker(affine, valid, options)
        if not covered.any():
            raise UnreadableFileError(
                f"Expected regions inside the image {path}, found none; is it in MNI space?"
            )
        confounds, kept = self.confounds.load(path)
        try:
            means = masker.fit().transform(
                make_image(volumes, affine), confounds=confounds, sample_mask=kept
            )
        except ValueError as error:
            raise UnreadableFileError(
                f"nilearn could not take signals from {path} ({error}); check the image and the "
                "options."
            ) from error
        signals = np.full((len(self.parcellation.regions), means.shape[0]), np.nan)
        signals[covered] = means.T
        return signals


def read_nifti(
    images: Path,
    *,
    atlas: str | None = None,
    atlas_names: str | None = None,
    data_dir: str | None = None,
    radius: float = 5.0,
    mask: str | None = None,
    confounds: str | None = None,
    confound_options: Mapping[str, Any] | None = None,
    low_pass: float | None = None,
    high_pass: float | None = None,
    detrend: bool = False,
    smoothing: float | None = None,
    task: Sequence[str] | None = None,
    session: Sequence[str] | None = None,
    run: Sequence[str] | None = None,
    space: str | None = None,
    desc: str | None = None,
    entity: Sequence[str] = (),
    labels: str | None = None,
    id_column: str | None = None,
    tr: float | None = None,
) -> Scans:
    """Take regional mean signals from 4-D images in standard (MNI) space.

    Of an fMRIPrep derivative (``sub-*/[ses-*/]func/*_desc-preproc_bold.nii.gz``), of another folder
    of ``.nii``/``.nii.gz`` files, of files that match a pattern, or of one file. Images are read
    when a scan is used, one at a time.

    The `atlas` is one of :func:`parcellation`. By default the confounds of nilearn's ``"simple"``
    (motion, white matter, CSF, and cosines that filter out slow drifts) are regressed out of
    images with names of BIDS, and nothing of others. Volumes before the steady state, and those
    that scrubbing finds, are cut out; the column `volumes_removed` counts them. The repetition
    time is that of the JSON sidecar, then of the image header.
    """
    folder = Path(images)
    wanted = labels_by_entity(entity, task=task, ses=session, run=run, space=space, desc=desc)
    files, subjects = _find(folder, wanted)
    if low_pass and high_pass and high_pass >= low_pass:
        raise InputError(
            f"Expected high_pass below low_pass (the band between them is kept), got "
            f"high_pass {high_pass} Hz and low_pass {low_pass} Hz."
        )
    if atlas is None:
        known = [name for name in known_atlases() if not name.startswith("schaefer")]
        raise InputError(
            f"Images need an atlas: --atlas schaefer100 (to schaefer1000; -17 for 17 networks), "
            f"{', '.join(known)}, or a label image with --atlas FILE --atlas-names TABLE."
        )
    extraction = Extraction(
        parcellation(atlas, atlas_names, radius, data_dir),
        Confounds(confounds or _usual_confounds(files), dict(confound_options or {})),
        {
            "low_pass": low_pass,
            "high_pass": high_pass,
            "detrend": detrend,
            "smoothing_fwhm": smoothing,
        },
        None if mask is None else Path(mask),
    )
    options: dict[str, Any] = {"confounds": extraction.confounds.strategy}
    if isinstance(extraction.parcellation, Spheres):
        options["radius"] = radius
    sidecars = Sidecars(folder if folder.is_dir() else folder.parent)
    scans = _scans(files, extraction, tr, sidecars)
    scans = scans.with_scans(scans, provenance={"options": options})
    scans = attach_motion(scans, {_who(f)[0]: f for f in files if isinstance(f, BidsFile)})
    if subjects:
        return attach_participants(scans, folder, subjects, labels, id_column)
    return scans if labels is None else attach_labels(scans, read_label_table(labels, id_column))


def _usual_confounds(files: Sequence[BidsFile | Path]) -> str:
    """Return the confounds that are removed if nothing is said."""
    named = [file for file in files if isinstance(file, BidsFile)]
    if not named:
        return NO_CONFOUNDS
    without = [file.path.name for file in named if not confounds_file(file)]
    if without:
        raise InputError(
            f"Expected fMRIPrep's desc-confounds_timeseries.tsv beside every image, but it is not "
            f"there for {name_first(without)}; put them there, or take the images as they are with "
            "--confounds none (confounds='none')."
        )
    return PRESETS[0]


def _who(file: BidsFile | Path) -> tuple[str, str, dict[str, Any]]:
    """Return scan id, subject and metadata in the name of a file."""
    if isinstance(file, BidsFile):
        return file.name.scan_id, file.name.subject, dict(file.name.metadata)
    stem = file.name.removesuffix(".gz").removesuffix(".nii")
    return stem, stem, {}


def _scans(
    files: Sequence[BidsFile | Path], extraction: Extraction, tr: float | None, sidecars: Sidecars
) -> Scans:
    """Look at headers and confounds of all images before any long work, and make the scans."""
    scans, times, problems = [], [], []
    for file in track(files, "Looking at images"):
        path = file.path if isinstance(file, BidsFile) else file
        scan_id, subject, metadata = _who(file)
        try:
            n_volumes, header_tr = image_header(path)
            _, left = extraction.confounds.load(path)
            seconds = tr or sidecars.repetition_time(file) or header_tr
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", scan_id, str(error)))
            continue
        if left is not None and not len(left):
            problem = Problem("too-short", scan_id, "no time points left by scrubbing")
            problems.append(problem)
            continue
        if extraction.confounds:
            removed = 0 if left is None else n_volumes - len(left)
            metadata = {**metadata, "volumes_removed": removed}
        scans.append(Scan(scan_id, subject, partial(extraction.signals, path, seconds), metadata))
        times.append(seconds)
    if not scans:
        raise_for(problems)
    pairs = list(zip(scans, times, strict=True))
    unknown = [scan.scan_id for scan, seconds in pairs if seconds is None]
    if unknown and extraction.filters:
        raise InputError(
            f"A filter needs the repetition time, but neither sidecar nor header has it for "
            f"{name_first(unknown)}; give it with --tr (tr=...)."
        )
    shared, own = split_tr(times)
    scans = [
        replace(scan, metadata={**scan.metadata, **time})
        for scan, time in zip(scans, own, strict=True)
    ]
    return Scans(scans, extraction.parcellation.regions, shared, problems=problems)


def _find(
    images: Path, wanted: Mapping[str, Sequence[str]]
) -> tuple[Sequence[BidsFile | Path], set[str]]:
    """Find images, and of a derivative the subjects that have any.

    In a derivative, in another folder, by a pattern, or one file.
    """
    if images.is_dir() and any(images.glob("sub-*/")):
        found = find_files(images, "holds_images", "4-D images (*_bold.nii.gz)")
        chosen = _of_one_space(found, {"desc": ["preproc"], **wanted})
        return chosen, {file.name.subject for file in found}
    paths = _paths(images)
    parsed = [(path, parse_bids_name(path)) for path in paths]
    named = [BidsFile(path, name) for path, name in parsed if name and "sub" in name.entities]
    if len(named) < len(paths) and wanted:
        raise InputError(
            f"Files can be chosen by {name_first(wanted)} only if they have BIDS names; "
            f"{paths[0].name} has none."
        )
    return (_of_one_space(named, wanted) if len(named) == len(paths) else paths), set()


def _paths(images: Path) -> list[Path]:
    if images.is_dir():
        paths = sorted(path for path in images.iterdir() if path.name.endswith(_ENDINGS))
        if not paths:
            raise InputError(f"Expected .nii or .nii.gz files in {images}, found none.")
        return paths
    if images.is_file():
        return [images]
    paths = sorted(Path(path) for path in glob.glob(str(images), recursive=True))  # noqa: PTH207
    if not paths:
        raise NotFoundError(f"Expected images, but nothing is at {images}; check the path.")
    return paths


def _of_one_space(files: Sequence[BidsFile], wanted: Mapping[str, Sequence[str]]) -> list[BidsFile]:
    """Choose files; of several spaces only those of MNI can have the regions of an atlas."""
    files = select_files(files, wanted)
    spaces = [file.name.entities.get("space", "") for file in files]
    if "space" not in wanted and any(space.startswith("MNI") for space in spaces):
        pairs = zip(files, spaces, strict=True)
        files = [file for file, space in pairs if space.startswith("MNI")]
    require_one_file_per_scan(files)
    return list(files)
