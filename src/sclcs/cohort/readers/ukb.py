"""UK Biobank's parcellated time series: ``<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    checked,
    name_first,
    require_existing,
)
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.series_files import SeriesFile, look_at
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans

__all__ = ["UKB_TR", "read_ukb"]

UKB_TR = 0.735
"""Seconds; the repetition time of all resting-state scans of UK Biobank."""

_FOLDER = re.compile(r"(\d+)_(\d+)")
_FILE = re.compile(r"fMRI\.(.+?)\.csv(\.gz)?")


@checked
def read_ukb(
    folder: str | os.PathLike[str],
    *,
    atlas: str | None = None,
    instance: str | Sequence[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    regions: str | Sequence[str] | None = None,
    tr: float = UKB_TR,
) -> Scans:
    """Read regional time series as UK Biobank returns them.

    Parameters
    ----------
    folder : path-like
        The folder that holds ``<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz``; each file is a table
        region x time with the names of the regions (``label_name``) in the first column.
    atlas : str, optional
        Which parcellation; needed if there are several.
    instance : str or sequence of str, optional
        Imaging visits to keep: ``"2"`` (first), ``"3"`` (repeat); all by default.
    labels : path-like, optional
        A csv, tsv or xlsx table, one row per participant (``eid``).
    id_column : str, optional
        Its column of participants; ``eid`` if there is one.
    regions : str or sequence of str, optional
        Names or patterns; all by default.
    tr : float
        Repetition time in seconds.

    Returns
    -------
    Scans
        Subjects are the ids, the instance is the fact `session`.
    """
    found = _find(Path(require_existing(folder, "folder of UK Biobank")))
    chosen = _of_instance(_of_atlas(found, atlas), instance)
    kept, problems = [], []
    for subject, visit, _, path in chosen:
        file = look_at(path)
        try:
            if file.damaged:
                file.load()  # says what is wrong
            kept.append((subject, visit, _labelled(file)))
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", f"{subject}_{visit}", str(error)))
    if not kept:
        raise_for(problems)
    names = kept[0][2].names or ()
    scans = [
        Scan(f"{subject}_{visit}", subject, _loader(file, names), {"session": visit})
        for subject, visit, file in kept
    ]
    options = {"atlas": chosen[0][2], "instance": instance, "regions": regions, "tr": tr}
    provenance = {"reader": "ukb", "source": str(folder), "options": options}
    read = choose_regions(Scans(scans, names, tr, provenance, problems), regions)
    if labels is None:
        return read
    table = read_label_table(labels, id_column)
    if id_column is None and "eid" in table.columns:
        table = read_label_table(labels, "eid")
    return attach_labels(read, table, "subject")


Found = tuple[str, str, str, Path]  # participant, instance, atlas, file


def _find(folder: Path) -> list[Found]:
    found: list[Found] = []
    for path in sorted(folder.glob("*/fMRI/fMRI.*.csv*")):
        who, what = _FOLDER.fullmatch(path.parent.parent.name), _FILE.fullmatch(path.name)
        if who and what:
            found.append((who[1], who[2], what[1], path))
    if not found:
        raise InputError(
            f"Expected <id>_<instance>/fMRI/fMRI.<atlas>.csv.gz under {folder}, found none; give "
            "the folder that holds the folders of participants."
        )
    return found


def _of_atlas(found: Sequence[Found], atlas: str | None) -> list[Found]:
    known = sorted({name for _, _, name, _ in found})
    if atlas is None and len(known) > 1:
        raise InputError(
            f"Expected one atlas, found {len(known)}: {name_first(known, 20)}; choose one with "
            "--atlas (atlas=...)."
        )
    wanted = known[0] if atlas is None else atlas
    if wanted not in known:
        raise UnknownNameError(
            f"There is no atlas {wanted!r} here; choose one of {name_first(known, 20)}."
        )
    return [one for one in found if one[2] == wanted]


def _of_instance(found: Sequence[Found], instance: str | Sequence[str] | None) -> list[Found]:
    if instance is None:
        return list(found)
    wanted = {instance} if isinstance(instance, str) else {str(one) for one in instance}
    kept = [one for one in found if one[1] in wanted]
    if not kept:
        raise UnknownNameError(
            f"There is no instance {name_first(sorted(wanted))} here; choose one of "
            f"{name_first(sorted({visit for _, visit, _, _ in found}))}."
        )
    return kept


def _labelled(file: SeriesFile) -> SeriesFile:
    if file.names is None or file.time_first:
        raise UnreadableFileError(
            f"Expected a table region x time whose first column names the regions in {file.path}, "
            "found another; fetch it again."
        )
    return file


def _loader(file: SeriesFile, names: tuple[str, ...]) -> Any:  # noqa: ANN401 (a callable)
    place = {name: row for row, name in enumerate(file.names or ())}

    def load() -> NDArray[Any]:
        missing = [name for name in names if name not in place]
        if missing:
            raise UnreadableFileError(
                f"Expected the regions of the other scans in {file.path}, but it lacks "
                f"{name_first(missing)}; fetch it again."
            )
        return file.load()[[place[name] for name in names]]

    return load
