"""Which nuisance signals of fMRIPrep are removed, through nilearn's ``load_confounds``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    import_extra,
    name_first,
    track,
)
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.motion import attach_motion, confounds_file
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.atlases import (
    Parcellation,
    Spheres,
    is_named_atlas,
    known_atlases,
    label_image,
    named_atlas,
)
from sclcs.cohort.readers.bids_files import Choice, entity_labels
from sclcs.cohort.readers.bids_metadata import (
    attach_participants,
    find_participants,
    missing_participants,
    split_tr,
    with_note,
)
from sclcs.cohort.readers.nifti_images import (
    FoundImages,
    ImageFile,
    ImagePaths,
    find_images,
    header_facts,
    load_image,
    make_image,
    to_grid,
)
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans

__all__ = [
    "COMPONENTS",
    "NO_CONFOUNDS",
    "PRESETS",
    "Cleaning",
    "Confounds",
    "Extraction",
    "read_nifti",
]


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


@dataclass(frozen=True)
class Confounds:
    """A choice of nuisance signals.

    `strategy`: ``"none"``, a preset of nilearn (:data:`PRESETS`), or noise components
    (:data:`COMPONENTS`; a list, or one string separated by commas); `options`: passed to
    ``load_confounds``: ``motion``, ``fd_threshold``, ``n_compcor``, ...
    """

    strategy: str | Sequence[str] = NO_CONFOUNDS
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
        if self.strategy == NO_CONFOUNDS or self.strategy in PRESETS:
            return []
        if isinstance(self.strategy, str):
            return [name.strip() for name in self.strategy.split(",")]
        return list(self.strategy)

    def load(self, image: Path) -> tuple[pd.DataFrame | None, NDArray[np.int64] | None]:
        """Load the nuisance signals of one image.

        Parameters
        ----------
        image : Path
            A preprocessed image of fMRIPrep with its confounds file beside it.

        Returns
        -------
        confounds : DataFrame or None
            One column per signal.
        kept : ndarray of int or None
            The volumes that stay; None if all do. Volumes before the steady state and
            those that scrubbing finds go.
        """
        if not self:
            return None, None
        module = import_extra("nilearn.interfaces.fmriprep", "nifti")
        self._require_known_options(module.load_confounds)
        try:
            if self.strategy in PRESETS:
                return module.load_confounds_strategy(  # type: ignore[no-any-return]
                    str(image), denoise_strategy=self.strategy, **self.options
                )
            return module.load_confounds(  # type: ignore[no-any-return]
                str(image), strategy=tuple(self.components), **self.options
            )
        except (ValueError, KeyError, OSError) as error:
            reason = " ".join(str(error).split())
            raise UnreadableFileError(
                f"Expected fMRIPrep confounds for {self._said()} beside {image}, but they cannot "
                f"be used ({reason}); make them again or choose other confounds."
            ) from error

    def _require_known_options(self, load_confounds: Any) -> None:  # noqa: ANN401
        known = [n for n in inspect.signature(load_confounds).parameters if n != "img_files"]
        known.remove("strategy")
        unknown = [name for name in self.options if name not in known]
        if unknown:
            raise UnknownNameError(
                f"Unknown confound options {name_first(unknown)}; nilearn knows {', '.join(known)}."
            )

    def _said(self) -> str:
        return str(self.strategy) if self.strategy in PRESETS else ", ".join(self.components)


@dataclass(frozen=True)
class Cleaning:
    """What nilearn does to the signals besides regressing confounds out.

    `low_pass, high_pass`: cut-off frequencies in Hz; `detrend`: whether a linear trend is removed;
    `smoothing`: full width at half maximum of a spatial filter, in mm.
    """

    low_pass: float | None = None
    high_pass: float | None = None
    detrend: bool = False
    smoothing: float | None = None

    def __post_init__(self) -> None:
        for name in ("low_pass", "high_pass", "smoothing"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"Expected {name} above 0 and finite, got {value}.")
        if self.low_pass and self.high_pass and self.high_pass >= self.low_pass:
            raise InputError(
                f"Expected high_pass below low_pass (the band between them is kept), got "
                f"high_pass {self.high_pass} Hz and low_pass {self.low_pass} Hz."
            )

    @property
    def needs_tr(self) -> bool:
        """Whether frequencies matter."""
        return self.low_pass is not None or self.high_pass is not None

    def masker_options(self, tr: float | None) -> dict[str, Any]:
        """Return the options of a nilearn masker."""
        return {
            "low_pass": self.low_pass,
            "high_pass": self.high_pass,
            "detrend": self.detrend,
            "smoothing_fwhm": self.smoothing,
            "standardize": None,  # scaling is a choice of the windows, not of the reader
            "t_r": tr if self.needs_tr else None,
            "reports": False,
        }


@dataclass(frozen=True)
class Extraction:
    """How signals are taken from an image.

    `confounds`: what is regressed out; `cleaning`: what else is done; `mask`: a 3-D image of the
    voxels that may be used.
    """

    parcellation: Parcellation
    confounds: Confounds
    cleaning: Cleaning
    mask: Path | None = None

    def signals(self, path: Path, tr: float | None) -> NDArray[np.float64]:
        """Take the signals (region, time) from one image.

        `tr`: its repetition time in seconds; needed by filters. Returns: NaN where a region has no
        voxel in the image.
        """
        volumes, affine = load_image(path, 4)
        finite = np.isfinite(volumes.sum(axis=3, dtype=np.float64))
        volumes[~finite] = 0.0
        valid = finite & self._inside_mask(affine, finite.shape)
        options = self.cleaning.masker_options(tr)
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

    def _inside_mask(
        self, affine: NDArray[np.float64], shape: tuple[int, ...]
    ) -> NDArray[np.bool_]:
        if self.mask is None:
            return np.ones(shape, dtype=np.bool_)
        mask, mask_affine = load_image(self.mask, 3)
        return to_grid((mask != 0).astype(np.int8), mask_affine, affine, shape).astype(np.bool_)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, for the provenance."""
        strategy = self.confounds.strategy
        return {
            "mask": None if self.mask is None else str(self.mask),
            "confounds": strategy if isinstance(strategy, str) else list(strategy),
            "confound_options": dict(self.confounds.options),
            **asdict(self.cleaning),
        }


def read_nifti(
    images: ImagePaths,
    *,
    atlas: str | os.PathLike[str] | None = None,
    atlas_names: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    radius: float = 5.0,
    mask: str | os.PathLike[str] | None = None,
    confounds: str | Sequence[str] | None = None,
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
    entity: Mapping[str, str] | Sequence[str] = (),
    labels: str | os.PathLike[str] | None = None,
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
        Spheres around the coordinates that come with nilearn: ``"dosenbach160"``,
        ``"dosenbach-dmn33"``, ``"power264"``, ``"seitzman300"``. An atlas that nilearn fetches
        once: ``"schaefer400"``, ``"aal"``, ``"harvard-oxford"``, ... Or a 3-D label image, brought
        to each scan's grid by nearest neighbour; `atlas_names` is its table (BIDS ``*_dseg.tsv``).
    data_dir : path-like, optional
        Where nilearn keeps fetched atlases; its own folder by default.
    radius : float
        Of the spheres, in mm. Some Dosenbach regions are less than 10 mm apart; where
        spheres overlap both use the shared voxels.
    mask : path-like, optional
        A 3-D image; only voxels inside are used. Voxels that are not finite in a scan
        are never used.
    confounds : str or sequence of str, optional
        What nilearn's ``load_confounds`` takes from fMRIPrep's confounds file to be regressed
        out: ``"none"``, a preset (``"simple"``, ``"scrubbing"``, ``"compcor"``, ``"ica_aroma"``) or
        components (``"motion,wm_csf"``). By default ``"simple"`` (motion, white matter, CSF, and
        cosines that filter out slow drifts) for images with names of BIDS, nothing for others.
        Volumes before the steady state, and those that scrubbing finds, are cut out; the fact
        `volumes_removed` counts them.
    confound_options : mapping, optional
        More options of ``load_confounds``, for example ``{"fd_threshold": 0.2}``.
    low_pass, high_pass, detrend, smoothing
        What else nilearn does to signals; frequencies in Hz, full width at half maximum in mm.
    task, session, run, space, desc, entity, labels, id_column
        As in :func:`~sclcs.cohort.readers.bids.read_bids`; `desc` is ``preproc`` by default.
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
    entities = entity_labels(entity)
    choices = {"task": task, "ses": session, "run": run, "space": space, "desc": desc}
    found = find_images(images, {**choices, **entities})
    if atlas is None:
        known = [name for name in known_atlases() if not name.startswith("schaefer")]
        raise InputError(
            f"Images need an atlas: --atlas schaefer100 (to schaefer1000; -17 for 17 networks), "
            f"{', '.join(known)}, or a label image with --atlas FILE --atlas-names TABLE."
        )
    if confounds is None:
        confounds = _usual_confounds(found)
    extraction = Extraction(
        _parcellation(atlas, atlas_names, radius, data_dir),
        Confounds(confounds, dict(confound_options or {})),
        Cleaning(low_pass, high_pass, detrend, smoothing),
        None if mask is None else Path(mask),
    )
    options = {
        "atlas": str(atlas),
        **({"radius": radius} if isinstance(extraction.parcellation, Spheres) else {}),
        **extraction.to_dict(),
        **{key: _plain(choice) for key, choice in choices.items()},
        "entities": entities,
        "regions": _plain(regions),
        "tr": tr,
    }
    provenance = {"reader": "nifti", "source": found.source, "options": options}
    scans = _scans(found.files, extraction, tr, provenance)
    files = {file.scan_id: file.bids for file in found.files if file.bids is not None}
    scans = attach_motion(scans, files)
    scans = _attach(scans, found, labels, id_column)
    return choose_regions(scans, regions)


def _usual_confounds(found: FoundImages) -> str:
    """Return the confounds that are removed if nothing is said."""
    named = [file.bids for file in found.files if file.bids is not None]
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
    labels: str | os.PathLike[str] | None,
    id_column: str | None,
) -> Scans:
    path = labels
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
