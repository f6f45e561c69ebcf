"""BIDS file names: entities, suffix, extension.

``sub-01_ses-2_task-rest_run-1_space-fsLR_seg-Glasser_timeseries.tsv`` is a chain of
entities (``key-label``), a suffix (``timeseries``) and an extension (``.tsv``).
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from sclcs._core import InputError, UnknownNameError, name_first, require_existing

# What was done to a scan, as opposed to which scan it is.
DERIVED_ENTITIES = frozenset(
    {"space", "res", "den", "seg", "atlas", "scale", "label", "stat", "desc", "cohort"}
    | {"reg", "feature", "setting"}  # of C-PAC and HALFpipe: which regressors, which feature
)

SERIES_FORMATS = (
    ".tsv", ".tsv.gz", ".ptseries.nii", ".1D", ".1D.gz", ".txt", ".csv", ".csv.gz",
)  # fmt: skip
_KEY = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class BidsName:
    """A file name taken apart: labels by key, ``timeseries`` or ``bold``, ``.nii.gz``."""

    entities: Mapping[str, str]
    suffix: str
    extension: str

    def __str__(self) -> str:
        return f"{_joined(self.entities)}_{self.suffix}{self.extension}"

    @property
    def identity(self) -> dict[str, str]:
        """The entities that say which scan it is (subject, session, task, run, ...)."""
        return {k: v for k, v in self.entities.items() if k not in DERIVED_ENTITIES}

    @property
    def scan_id(self) -> str:
        """The identity as one name, for example ``sub-01_ses-2_task-rest_run-1``."""
        return _joined(self.identity)

    @property
    def subject(self) -> str:
        """The subject as BIDS tables name it, for example ``sub-01``."""
        return f"sub-{self.entities['sub']}"

    @property
    def metadata(self) -> dict[str, str]:
        """Session, task and run, as far as the name has them."""
        keys = {"session": "ses", "task": "task", "run": "run"}
        return {key: self.entities[e] for key, e in keys.items() if e in self.entities}

    @property
    def desc(self) -> str | None:
        """What was done: ``preproc``, ``confounds``, ..."""
        return self.entities.get("desc")

    @property
    def holds_series(self) -> bool:
        """Whether it is a file of regional series; fMRIPrep's confounds are none."""
        regional = self.suffix == "timeseries" and self.extension in SERIES_FORMATS
        return regional and self.parcellation is not None and self.desc != "confounds"

    @property
    def holds_images(self) -> bool:
        """Whether it is a file of 4-D images."""
        return self.suffix == "bold" and self.extension in {".nii", ".nii.gz"}

    @property
    def parcellation(self) -> str | None:
        """The atlas the regions come from: the `seg` entity or the older `atlas`."""
        return self.entities.get("seg") or self.entities.get("atlas")


def _joined(entities: Mapping[str, str]) -> str:
    return "_".join(f"{key}-{label}" for key, label in entities.items())


def parse_bids_name(path: str | os.PathLike[str]) -> BidsName | None:
    """Take a file name apart; None if it is not one of BIDS (no entity, or an entity twice).

    Examples
    --------
    >>> name = parse_bids_name("sub-01_task-rest_seg-Glasser_timeseries.tsv")
    >>> name.scan_id, name.parcellation, name.suffix, name.extension
    ('sub-01_task-rest', 'Glasser', 'timeseries', '.tsv')
    >>> parse_bids_name("README.md") is None
    True
    """
    *parts, last = PurePath(path).name.split("_")
    suffix, dot, rest = last.partition(".")
    entities: dict[str, str] = {}
    for part in parts:
        key, _, label = part.partition("-")
        if not label or not _KEY.fullmatch(key) or key in entities:
            return None
        entities[key] = label
    if not entities or not suffix or "-" in suffix:
        return None
    return BidsName(entities, suffix, dot + rest)


COMBINED_RUNS = "combined"
SEPARATE_RUNS = "separate"

# C-PAC may join subject and session, HALFpipe has a folder per task.
_SCAN_FOLDERS = (
    "sub-*/func",
    "sub-*/ses-*/func",
    "sub-*/func/task-*",
    "sub-*/ses-*/func/task-*",
)


@dataclass(frozen=True)
class BidsFile:
    """A file and its name taken apart."""

    path: Path
    name: BidsName


def find_files(
    folder: str | os.PathLike[str],
    wanted: Literal["holds_series", "holds_images"],
    what: str,
) -> list[BidsFile]:
    """Find the functional files of a derivative (the folder of ``sub-*``) by their names.

    At least one, sorted by path; `what` is looked for, for the message.
    """
    folder = require_existing(folder, "derivative folder")
    files = []
    for pattern in _SCAN_FOLDERS:
        for path in sorted(folder.glob(f"{pattern}/*")):
            name = parse_bids_name(path)
            if name is not None and "sub" in name.entities and getattr(name, wanted):
                files.append(BidsFile(path, name))
    if not files:
        pipelines = sorted(p for p in folder.glob("derivatives/*") if p.is_dir())
        advice = f"one of its derivatives: {name_first(pipelines)}" if pipelines else (
            "the folder of the derivative that holds the subjects"
        )  # fmt: skip
        raise InputError(
            f"Expected {what} in sub-*/[ses-*/]func/[task-*/] under {folder}, found none; give "
            f"{advice}."
        )
    return sorted(files, key=lambda file: file.path)


def labels_by_entity(
    entity: Sequence[str], **labels: Sequence[str] | str | None
) -> dict[str, list[str]]:
    """Return the labels that are wanted of every entity; `entity` is ``["reg=36Parameter"]``."""
    given = {k: [v] if isinstance(v, str) else list(v) for k, v in labels.items() if v}
    for pair in entity:
        key, equals, label = pair.partition("=")
        if not equals or not key.strip() or not label.strip():
            raise InputError(f"Expected --entity key=label (entity=...), got {pair!r}.")
        given[key.strip()] = [label.strip()]
    return given


def select_files(files: Sequence[BidsFile], labels: Mapping[str, Sequence[str]]) -> list[BidsFile]:
    """Keep the files with one of the wanted labels of every entity; at least one.

    For `run` also ``"combined"`` (files without a run) and ``"separate"`` (files with one).
    """
    chosen = list(files)
    for key, wanted in labels.items():
        matching = [file for file in chosen if _matches(key, file.name.entities.get(key), wanted)]
        if not matching:
            known = sorted({file.name.entities.get(key) or "(none)" for file in chosen})
            raise UnknownNameError(
                f"Expected files with {key}-{name_first(wanted)}, but the labels of {key} found "
                f"are {name_first(known, 20)}; choose one of these."
            )
        chosen = matching
    return chosen


def _matches(key: str, label: str | None, wanted: Sequence[str]) -> bool:
    if key == "run" and wanted == [COMBINED_RUNS]:
        return label is None
    if key == "run" and wanted == [SEPARATE_RUNS]:
        return label is not None
    return label is not None and _plain(key, label) in {_plain(key, one) for one in wanted}


def _plain(key: str, label: str) -> str:
    """Drop ``key-`` in front; a run is a number, so 01 is 1."""
    label = label.removeprefix(f"{key}-")
    return label.lstrip("0") or "0" if key == "run" and label.isdigit() else label


def choose_atlas(found: Sequence[str], wanted: str | None, what: str = "scans") -> str:
    """Return the atlas to read; where there are several in what was found one must be named."""
    counts = Counter(found)
    known = [f"{name} ({counts[name]} {what})" for name in sorted(counts)]
    if wanted is None and len(known) > 1:
        raise InputError(
            f"Expected one atlas, found {len(known)}: {name_first(known, 20)}; "
            "choose one with --atlas (atlas=...)."
        )
    name = next(iter(counts)) if wanted is None else wanted
    if name not in counts:
        raise UnknownNameError(
            f"There is no atlas {name!r} here; choose one of those found: {name_first(known, 20)}."
        )
    return name


def require_one_file_per_scan(files: Sequence[BidsFile]) -> None:
    """Raise if a scan has several files, or once as runs and once as their combination."""
    by_scan: dict[str, list[BidsFile]] = defaultdict(list)
    for file in files:
        by_scan[file.name.scan_id].append(file)
    for scan_id, group in by_scan.items():
        if len(group) > 1:
            raise InputError(_several_files(scan_id, group))
    for whole in (file for file in files if "run" not in file.name.entities):
        runs = [file for file in files if _is_run_of(file.name, whole.name)]
        if runs:
            raise InputError(
                f"Expected each scan once, but {whole.path.name} seems to join the runs "
                f"{name_first(f.path.name for f in runs)}; choose run='{COMBINED_RUNS}' or "
                f"run='{SEPARATE_RUNS}' (--run)."
            )


def _several_files(scan_id: str, group: Sequence[BidsFile]) -> str:
    keys = list(dict.fromkeys(key for file in group for key in file.name.entities))
    labels = {key: {file.name.entities.get(key) for file in group} for key in keys}
    differing = [key for key in keys if len(labels[key]) > 1]
    found = [f"{key} ({name_first(sorted(map(str, labels[key])))})" for key in differing]
    advice = " or ".join(_how_to_choose(key) for key in differing)
    return (
        f"Expected one file per scan, but {scan_id} has {len(group)}: "
        f"{name_first(file.path.name for file in group)}; they differ in "
        f"{' and '.join(found) or 'their extension'}: "
        f"{f'choose with {advice}' if advice else 'remove one'}."
    )


def _how_to_choose(key: str) -> str:
    option = {"ses": "session", "seg": "atlas"}.get(key, key)
    if option in {"atlas", "space", "desc", "session", "task", "run"}:
        return f"{option}='LABEL' (--{option} LABEL)"
    return f"entity={{'{key}': 'LABEL'}} (--entity {key}=LABEL)"


def _is_run_of(part: BidsName, whole: BidsName) -> bool:
    # XCP-D joins runs and, where they differ, phase-encoding directions.
    ignored = {"run", "dir"}
    same = {k: v for k, v in part.identity.items() if k not in ignored}
    return "run" in part.entities and same == {
        k: v for k, v in whole.identity.items() if k not in ignored
    }
