"""Which pipeline left a folder, and its reader: what ``sclcs import PATH`` and ``load`` do."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from sclcs._core import (
    InputError,
    NotFoundError,
    UnreadableFileError,
    flag_of,
    name_first,
    read_json,
    require_existing,
    takes,
)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.readers.bids_files import parse_bids_name
from sclcs.cohort.readers.bids_metadata import with_note
from sclcs.cohort.readers.series_files import GRETNA, is_series_file
from sclcs.cohort.scans import Scans
from sclcs.settings import CutSettings, ImportSettings

__all__ = ["FILE_KINDS", "Recognised", "import_scans", "load", "open_source", "recognise"]


@dataclass(frozen=True)
class Kind:
    """A layout of files.

    `example`: a file of it.
    """

    words: str
    reader: str
    example: str


FILE_KINDS = {
    "conn": Kind("a CONN project", "conn.read_conn", "ROI_Subject*_Condition*.mat"),
    "hcp": Kind("the HCP tree", "folders.read_hcp", "ID/MNINonLinear/Results/*/*.ptseries.nii"),
    "ukb": Kind("UK Biobank", "folders.read_ukb", "<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz"),
    "rest-meta-mdd": Kind(
        "the REST-meta-MDD release",
        "rest_meta_mdd.read_rest_meta_mdd",
        "ROISignals_*/ROISignals_S20-1-0001.mat",
    ),
    "bids": Kind(
        "regional series of a BIDS derivative", "bids.read_bids", "sub-*/func/*_timeseries.tsv"
    ),
    "nifti": Kind("images", "nifti.read_nifti", "sub-*/func/*_desc-preproc_bold.nii.gz"),
    "mne": Kind("EEG or MEG", "mne.read_mne", "*_raw.fif, *.edf"),
    "arrays": Kind("one file per scan", "arrays.read_arrays", "*.csv, *.1D, *.mat, scans.npz"),
    "abide": Kind("the ABIDE release", "abide.read_abide", "downloaded"),
}

#: What a folder of images or of region series may hold, at any depth.
_SERIES = re.compile(r".*_timeseries\.(tsv|1D|txt|csv)(\.gz)?|.*_timeseries\.ptseries\.nii")
_RECORDINGS = (".fif", ".fif.gz", ".edf", ".bdf", ".vhdr", ".set", ".gdf")
_IMAGES = (".nii", ".nii.gz")
MOST_FILES, MOST_FOLDERS, DEPTH = 50_000, 200, 2  # that are looked at


@dataclass(frozen=True)
class Recognised:
    """What a path was taken for.

    `kind`: a key of :data:`FILE_KINDS`, or ``cohort``; `path`: what its reader is given;
    `told_by`: the file or folder that told it.
    """

    kind: str
    path: Path
    told_by: str

    @property
    def sentence(self) -> str:
        """What a person is told."""
        if self.kind == "cohort":
            return f"{self.path} is a cohort of sclcs."
        words = _pipeline(self.path) if self.kind in {"bids", "nifti"} else ""
        return f"{self.path} is taken for {words or FILE_KINDS[self.kind].words} ({self.told_by})."


def _pipeline(folder: Path) -> str:
    """Return what made a BIDS derivative, as its description says."""
    path = folder / "dataset_description.json"
    try:
        made = read_json(path).get("GeneratedBy") if path.is_file() else None
    except UnreadableFileError:
        return ""
    names = [
        one.get("Name") for one in (made if isinstance(made, list) else []) if isinstance(one, dict)
    ]
    return f"output of {names[0]}" if names and isinstance(names[0], str) else ""


def recognise(path: str | os.PathLike[str]) -> Recognised:
    """Find out what a file or folder is.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Recognised

    Raises
    ------
    InputError
        If it may be several things, or none that can be read.
    """
    text = os.fspath(path)
    if any(sign in text for sign in "*?[") and not Path(text).exists():
        return Recognised("nifti", Path(text), "a pattern of names")
    place = require_existing(path)
    if (place / "zarr.json").exists():
        return Recognised("cohort", place, "zarr.json")
    if place.is_file():
        return _file(place)
    found, level = _here(place), [place]
    for _ in range(DEPTH):
        if not found:
            below = sorted(path for folder in level for path in folder.iterdir())
            level = [p for p in below if p.is_dir() and not p.name.startswith((".", "sub-"))]
            found = [one for folder in level[:MOST_FOLDERS] for one in _here(folder)]
    found = found or _loose(place)
    if len(found) == 1:
        return found[0]
    if found:
        told = [f"{one.path} ({FILE_KINDS[one.kind].words})" for one in found]
        raise InputError(
            f"{place} holds several things that can be read: {name_first(told, 8)}; give the path "
            "of one of them, or say what it is with --kind (kind=...)."
        )
    examples = "; ".join(f"{kind.words}: {kind.example}" for kind in FILE_KINDS.values())
    raise NotFoundError(f"Nothing in {place} can be read as scans. What can be: {examples}.")


def _file(path: Path) -> Recognised:
    lower = path.name.lower()
    if lower.endswith(_RECORDINGS):
        return Recognised("mne", path, path.name)
    if lower.endswith(_IMAGES) and not lower.endswith(".ptseries.nii"):
        return Recognised("nifti", path, path.name)
    if lower.endswith(".mat") and path.with_suffix("").is_dir():  # CONN's file of the project
        return recognise(path.with_suffix(""))
    return Recognised("arrays", path, path.name)


def _here(folder: Path) -> list[Recognised]:
    """Return what the layout of a folder says it is."""
    mdd = "ROISignals_S*-[12]-*.mat"
    releases = [f"{home}ROISignals_*/{mdd}" for home in ("", "Results/", "*/Results/")]
    conn = "ROI_Subject*_Condition*.mat"
    rules: list[tuple[str, Iterator[Path]]] = [
        ("conn", _first(folder, conn, f"results/preprocessing/{conn}")),
        ("hcp", _first(folder, "*/MNINonLinear/Results/*/*.ptseries.nii")),
        ("ukb", _first(folder, "*_*/fMRI/fMRI.*.csv*")),
        ("rest-meta-mdd", _first(folder, mdd, *releases)),
    ]
    found = [(kind, next(paths, None)) for kind, paths in rules]
    told = [Recognised(kind, folder, _short(path, folder)) for kind, path in found if path]
    if not told:
        files = _first(folder, "*/ROISignals_*.mat", f"{GRETNA}/*")
        homes = sorted({path.parent for path in files})
        told = [Recognised("arrays", home, f"it holds {home.name}") for home in homes]
    return told or _bids(folder)


def _first(folder: Path, *patterns: str) -> Iterator[Path]:
    return (path for pattern in patterns for path in folder.glob(pattern))


def _bids(folder: Path) -> list[Recognised]:
    """Return what the names of the subjects' files say: region series before images."""
    image = None
    for pattern in ("sub-*/func/**/*", "sub-*/ses-*/func/**/*"):
        for path in islice(folder.glob(pattern), MOST_FILES):
            name = parse_bids_name(path)
            if name is None:
                continue
            if (
                _SERIES.fullmatch(path.name)
                and name.parcellation is not None
                and name.entities.get("desc") != "confounds"
            ):
                return [Recognised("bids", folder, _short(path, folder))]
            if (
                name.suffix == "bold"
                and name.extension in _IMAGES
                and name.entities.get("desc") == "preproc"
            ):
                image = image or path
    return [] if image is None else [Recognised("nifti", folder, _short(image, folder))]


def _loose(folder: Path) -> list[Recognised]:
    """Return what a folder without a known layout holds: files of scans."""
    for paths in (folder.iterdir(), islice(folder.rglob("*"), MOST_FILES)):
        found: dict[str, Path] = {}
        for path in sorted(p for p in paths if p.is_file() and not p.name.startswith(".")):
            lower = path.name.lower()
            if lower.endswith(_RECORDINGS):
                found.setdefault("mne", path)
            elif is_series_file(path):
                if lower.endswith((".csv", ".tsv", ".txt")):  # may be a table beside the scans
                    found.setdefault("maybe", path)
                else:
                    found.setdefault("arrays", path)
            elif lower.endswith(_IMAGES):
                found.setdefault("nifti", path)
        if set(found) == {"maybe"}:
            found["arrays"] = found["maybe"]
        found.pop("maybe", None)
        if found:
            return [Recognised(kind, folder, _short(p, folder)) for kind, p in found.items()]
    archives = sorted(folder.glob("*.npz"))
    return [Recognised("arrays", path, path.name) for path in archives]


def _short(path: Path, folder: Path) -> str:
    return f"it holds {path.relative_to(folder).as_posix()}"


def import_scans(
    path: str | os.PathLike[str] | None, asked: ImportSettings
) -> tuple[Recognised, Scans]:
    """Read scans by the reader for them.

    Parameters
    ----------
    path : path-like or None
        None for a release that is downloaded.
    asked : ImportSettings
        What is asked of the reader; an option that it does not have is an error.

    Returns
    -------
    found : Recognised
        What the path was taken for.
    scans : Scans
    """
    found = _found(path, asked)
    if found.kind == "cohort":
        raise InputError(f"{found.path} is a cohort already; there is nothing to import.")
    place, name = FILE_KINDS[found.kind].reader.split(".")
    read: Callable[..., Scans] = getattr(import_module(f"sclcs.cohort.readers.{place}"), name)
    own = set(ImportSettings.model_fields) - set(CutSettings.model_fields) - {"kind"}
    defaults = ImportSettings.defaults()
    given = {name: getattr(asked, name) for name in own}
    given = {name: value for name, value in given.items() if value != defaults[name]}
    known = set(inspect.signature(read).parameters)
    other = sorted(set(given) - known)
    if other:
        flags = [flag_of(option, ImportSettings.model_fields[option]) for option in other]
        raise InputError(
            f"{name_first(flags)} is no option for {FILE_KINDS[found.kind].words}; "
            f"{found.sentence} Its options are {name_first(sorted(known & own), 30)}."
        )
    scans = read(*([] if found.kind == "abide" else [found.path]), **given)
    tasks = sorted({str(scan.facts["task"]) for scan in scans if scan.facts.get("task")})
    if len(tasks) > 1 and asked.task is None:
        scans = with_note(
            scans, f"Scans of several tasks ({', '.join(tasks)}) are in it; --task takes some."
        )
    return found, scans


def _found(path: str | os.PathLike[str] | None, asked: ImportSettings) -> Recognised:
    if asked.kind == "abide":
        return Recognised("abide", Path(), "downloaded once")
    if path is None:
        raise InputError("Expected a file or folder to import.")
    if asked.kind is None:
        return recognise(path)
    return Recognised(asked.kind, Path(path), "as you said")


def open_source(
    path: str | os.PathLike[str], labels: str | os.PathLike[str] | None = None
) -> Cohort | Scans:
    """Open a cohort, or read the scans of files whose layout is recognised."""
    if not (require_existing(path) / "zarr.json").exists():
        return import_scans(path, ImportSettings(labels=None if labels is None else str(labels)))[1]
    if labels is not None:
        raise InputError(f"{path} is a cohort and has its labels inside; leave out --labels.")
    return Cohort.open(path)


@takes(ImportSettings)
def load(
    path: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401 - fields of ImportSettings
) -> Cohort:
    """Read whatever holds scans: a cohort, or the files of a pipeline, recognised by their layout.

    Parameters
    ----------
    path : path-like
        A cohort of sclcs; output of XCP-D, C-PAC, HALFpipe or fMRIPrep; a CONN project; the trees
        of HCP and UK Biobank; one file per scan (csv, tsv, txt, 1D, npy, mat, ptseries.nii), as
        DPABI, GRETNA, BRANT and own scripts leave them; an .npz or .npy; EEG and MEG.
    out : path-like, optional
        Where to write the cohort, scan by scan; without it the cohort is in memory.
    {options}

    Returns
    -------
    Cohort

    Examples
    --------
    ``sclcs.load("derivatives/xcp_d", atlas="4S156Parcels")``
    """
    asked = ImportSettings(**options)
    if asked.kind is None and (Path(path) / "zarr.json").exists():
        if options or out is not None:
            raise InputError(f"{path} is a cohort already; it takes no options of an import.")
        return Cohort.open(path)
    _, scans = import_scans(path, asked)
    cut = {name: getattr(asked, name) for name in CutSettings.model_fields}
    return scans.to_cohort(out, **cut)
