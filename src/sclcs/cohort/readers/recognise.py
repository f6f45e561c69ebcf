"""Which pipeline left a folder, and its reader: what ``sclcs import PATH`` and ``load`` do."""

from __future__ import annotations

import inspect
import os
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
    plain,
    read_json,
    require_existing,
    takes,
)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.readers.bids_names import parse_bids_name
from sclcs.cohort.readers.series_files import GRETNA, is_series_file
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scans
from sclcs.settings import CutSettings, ImportSettings


@dataclass(frozen=True)
class Kind:
    """A layout of files: what it is called, its reader, an example of its files."""

    words: str
    reader: str
    example: str


FILE_KINDS = {
    "conn": Kind("a CONN project", "conn.read_conn", "ROI_Subject*_Condition*.mat"),
    "hcp": Kind("the HCP tree", "folders.read_hcp", "ID/MNINonLinear/Results/*/*.ptseries.nii"),
    "ukb": Kind("UK Biobank", "folders.read_ukb", "<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz"),
    "rest-meta-mdd": Kind(
        "the REST-meta-MDD release",
        "releases.read_rest_meta_mdd",
        "ROISignals_*/ROISignals_S20-1-0001.mat",
    ),
    "bids": Kind(
        "regional series of a BIDS derivative", "bids.read_bids", "sub-*/func/*_timeseries.tsv"
    ),
    "nifti": Kind("images", "nifti.read_nifti", "sub-*/func/*_desc-preproc_bold.nii.gz"),
    "mne": Kind("EEG or MEG", "mne.read_mne", "*_raw.fif, *.edf"),
    "arrays": Kind("one file per scan", "folders.read_arrays", "*.csv, *.1D, *.mat, scans.npz"),
    "abide": Kind("the ABIDE release", "releases.read_abide", "downloaded"),
}

_RECORDINGS = (".fif", ".fif.gz", ".edf", ".bdf", ".vhdr", ".set", ".gdf")
_IMAGES = (".nii", ".nii.gz")
_CONN = "*ROI_Subject*_Condition*.mat"
_MDD = "ROISignals_S*-[12]-*.mat"
#: The first of these that a folder matches says what it is.
_LAYOUTS = {
    "conn": (_CONN, f"results/preprocessing/{_CONN}"),
    "hcp": ("*/MNINonLinear/Results/*/*.ptseries.nii",),
    "ukb": ("*_*/fMRI/fMRI.*.csv*",),
    "rest-meta-mdd": (
        _MDD,
        *(f"{home}ROISignals_*/{_MDD}" for home in ("", "Results/", "*/Results/")),
    ),
}
MOST_FILES, MOST_FOLDERS, DEPTH = 50_000, 200, 2  # that are looked at


@dataclass(frozen=True)
class Recognised:
    """What a path was taken for.

    `kind` is a key of :data:`FILE_KINDS`, or ``cohort``; `path` is what its reader is given;
    `evidence` the file or folder that shows it.
    """

    kind: str
    path: Path
    evidence: str

    @property
    def sentence(self) -> str:
        """One sentence for the user."""
        if self.kind == "cohort":
            return f"{self.path} is a cohort of sclcs."
        words = FILE_KINDS[self.kind].words
        if self.kind in {"bids", "nifti"}:
            words = _pipeline(self.path) or words
        elif self.path.suffix.lower() in {".npz", ".npy"}:
            words = "an array of scans"
        return f"{self.path} is taken for {words} ({self.evidence})."


def _pipeline(folder: Path) -> str:
    """Return what made a BIDS derivative, as its description says."""
    path = folder / "dataset_description.json"
    try:
        made = read_json(path).get("GeneratedBy") if path.is_file() else None
    except UnreadableFileError:
        return ""
    names = [one.get("Name") for one in made or () if isinstance(one, dict)]
    return f"output of {names[0]}" if names and isinstance(names[0], str) else ""


def recognise(path: str | os.PathLike[str]) -> Recognised:
    """Find out what a file or folder is; an error if it may be several things, or none."""
    text = os.fspath(path)
    if any(sign in text for sign in "*?[") and not Path(text).exists():
        return Recognised("nifti", Path(text), "a pattern of names")
    root = require_existing(path)
    if (root / "zarr.json").exists():
        return Recognised("cohort", root, "zarr.json")
    if root.is_file():
        return _file(root)
    found, level = _here(root), [root]
    for _ in range(DEPTH):
        if not found:
            below = sorted(path for folder in level for path in folder.iterdir())
            level = [p for p in below if p.is_dir() and not p.name.startswith((".", "sub-"))]
            found = [one for folder in level[:MOST_FOLDERS] for one in _here(folder)]
    found = found or _loose(root)
    if len(found) == 1:
        return found[0]
    if found:
        several = [f"{one.path} ({FILE_KINDS[one.kind].words})" for one in found]
        raise InputError(
            f"{root} holds several things that can be read: {name_first(several, 8)}; give the "
            "path of one of them, or say what it is with --kind (kind=...)."
        )
    dense = next(root.rglob("*.dtseries.nii"), None)
    if dense is not None:
        raise NotFoundError(
            f"{root} holds dense CIFTI series ({_short(dense, root)}), which have no regions yet; "
            "make *.ptseries.nii of them with wb_command -cifti-parcellate and an atlas."
        )
    examples = "; ".join(f"{kind.words}: {kind.example}" for kind in FILE_KINDS.values())
    raise NotFoundError(f"Nothing in {root} can be read as scans. What can be: {examples}.")


def _file(path: Path) -> Recognised:
    lower = path.name.lower()
    if lower.endswith(_RECORDINGS):
        return Recognised("mne", path, path.name)
    if lower.endswith(_IMAGES) and not lower.endswith(".ptseries.nii"):
        return Recognised("nifti", path, path.name)
    if path.match(_CONN):
        return Recognised("conn", path, path.name)
    if lower.endswith(".mat") and path.with_suffix("").is_dir():  # CONN's file of the project
        return recognise(path.with_suffix(""))
    return Recognised("arrays", path, path.name)


def _here(folder: Path) -> list[Recognised]:
    """Return what the layout of a folder says it is."""
    for kind, patterns in _LAYOUTS.items():
        path = next(_first(folder, *patterns), None)
        if path is not None:
            return [Recognised(kind, folder, f"it holds {_short(path, folder)}")]
    files = _first(folder, "*/ROISignals_*.mat", f"{GRETNA}/*")
    homes = sorted({path.parent for path in files})
    return [Recognised("arrays", home, f"it holds {home.name}") for home in homes] or _bids(folder)


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
            if name.holds_series:
                return [Recognised("bids", folder, f"it holds {_short(path, folder)}")]
            if name.holds_images and name.desc == "preproc":
                image = image or path
    if image is None:
        return []
    return [Recognised("nifti", folder, f"it holds {_short(image, folder)}")]


def _loose(folder: Path) -> list[Recognised]:
    """Return what a folder without a known layout holds: files of scans."""
    for paths in (folder.iterdir(), islice(folder.rglob("*"), MOST_FILES)):
        found: dict[str, list[Path]] = {}
        for path in sorted(p for p in paths if p.is_file() and not p.name.startswith(".")):
            lower = path.name.lower()
            if lower.endswith(_RECORDINGS):
                found.setdefault("mne", []).append(path)
            elif is_series_file(path) and path.name != "participants.tsv":
                table = lower.endswith((".csv", ".tsv", ".txt"))  # may lie beside the scans
                found.setdefault("maybe" if table else "arrays", []).append(path)
            elif lower.endswith(_IMAGES) and not lower.endswith(".dtseries.nii"):
                found.setdefault("nifti", []).append(path)
        tables = found.pop("maybe", [])
        if tables and not found:
            found["arrays"] = tables
        archives = found.get("arrays", [])
        if len(archives) == 1 and archives[0].suffix == ".npz":
            folder = archives[0]  # all scans are in it
        if found:
            return [
                Recognised(kind, folder, f"it holds {_short(paths[0], folder)}")
                for kind, paths in found.items()
            ]
    return []


def _short(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path != folder else path.name


def import_scans(
    path: str | os.PathLike[str] | None, asked: ImportSettings
) -> tuple[Recognised, Scans]:
    """Read scans by the reader for them; None as path is for a release that is downloaded.

    Options that neither an import nor the reader has are an error. Regions, labels and the
    repetition time are dealt with here, unless the reader has parameters of that name.
    """
    found = _found(path, asked)
    if found.kind == "cohort":
        raise InputError(f"{found.path} is a cohort already; there is nothing to import.")
    module, name = FILE_KINDS[found.kind].reader.split(".")
    read: Callable[..., Scans] = getattr(import_module(f"sclcs.cohort.readers.{module}"), name)
    own, given = set(inspect.signature(read).parameters), _given(asked)
    common = {"regions", "labels", "id_column", "tr"}
    other = sorted(set(given) - own - common)
    if other:
        flags = [flag_of(option, ImportSettings.model_fields[option]) for option in other]
        known = sorted((own | common) & set(ImportSettings.model_fields))
        raise InputError(
            f"{name_first(flags)} is no option for {FILE_KINDS[found.kind].words}; "
            f"{found.sentence} Its options are {name_first(known, 30)}."
        )
    arguments = {name: value for name, value in given.items() if name in own}
    scans = read(*([] if found.kind == "abide" else [found.path]), **arguments)
    options = {**plain(given), **scans.provenance.get("options", {})}
    provenance = {"source": str(found.path), **scans.provenance}
    provenance |= {"reader": found.kind, "options": options}
    scans = choose_regions(scans.with_scans(scans, provenance=provenance), asked.regions)
    if asked.tr is not None and "tr" not in own:
        scans = scans.at_tr(asked.tr)
    if asked.labels is not None and "labels" not in own:
        scans = attach_labels(scans, read_label_table(asked.labels, asked.id_column))
    tasks = sorted({str(scan.metadata["task"]) for scan in scans if scan.metadata.get("task")})
    if len(tasks) > 1 and asked.task is None:
        several = f"Scans of several tasks ({', '.join(tasks)}) are in it; --task takes some."
        scans = scans.noted(several)
    return found, scans


def _given(asked: ImportSettings) -> dict[str, Any]:
    """Return the options of reading that are not at their defaults."""
    names = set(ImportSettings.model_fields) - set(CutSettings.model_fields) - {"kind"}
    defaults = ImportSettings.defaults()
    values = {name: getattr(asked, name) for name in sorted(names)}
    return {name: value for name, value in values.items() if value != defaults[name]}


def _found(path: str | os.PathLike[str] | None, asked: ImportSettings) -> Recognised:
    if asked.kind == "abide":
        return Recognised("abide", Path(), "downloaded once")
    if path is None:
        raise InputError("Expected a file or folder to import.")
    if asked.kind is None:
        return recognise(path)
    return Recognised(asked.kind, Path(path), "as you said")


def read_scans(
    path: str | os.PathLike[str] | None,
    kind: str | None = None,
    **options: Any,  # noqa: ANN401 - fields of ImportSettings
) -> Scans:
    """Read scans, before they are checked and become a cohort."""
    return import_scans(path, ImportSettings(**{"kind": kind, **options}))[1]


def open_source(
    path: str | os.PathLike[str], labels: str | os.PathLike[str] | None = None
) -> Cohort | Scans:
    """Open a cohort, or read the scans of files whose layout is recognised."""
    if not (require_existing(path) / "zarr.json").exists():
        return read_scans(path, labels=labels)
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
        of HCP and UK Biobank; one file per scan (csv, tsv, txt, 1D, npy, npz, mat, ptseries.nii),
        as DPABI, GRETNA, BRANT and own scripts leave them; all scans in an .npz or .npy; EEG and
        MEG.
    out : path-like, optional
        Where to write the cohort, scan by scan; without it the cohort is in memory.
    {options}

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
