"""Regional time series written by XCP-D and other BIDS derivatives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.bids_dataset import Sidecars, attach_participants, find_participants, split_tr
from sclcs.cohort.bids_files import (
    BidsFile,
    Choice,
    find_files,
    require_one_file_per_scan,
    select_files,
)
from sclcs.cohort.bids_names import BidsName
from sclcs.cohort.labels import read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.text_matrix import TextLayout, load_text_matrix
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans
from sclcs.core.errors import InputError, UnknownNameError, UnreadableFileError, name_first

__all__ = ["read_bids"]


def read_bids(
    folder: str | os.PathLike[str],
    *,
    atlas: str | None = None,
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
    """Read the ``*_timeseries.tsv`` files of XCP-D or another BIDS derivative.

    Files are looked for in ``sub-*/[ses-*/]func/``. They are tables time x region with region
    names in the first row, and have a ``seg-`` or an ``atlas-`` entity; fMRIPrep's
    ``desc-confounds_timeseries.tsv`` are not regions and left aside.

    Parameters
    ----------
    folder : path-like
        The derivative, for example ``dataset/derivatives/xcp_d``.
    atlas : str, optional
        Which atlas (``seg-`` or ``atlas-`` label); needed if there are several.
    task, session, run : str or sequence of str, optional
        Keep scans with these labels. `run` also takes ``"combined"`` (XCP-D's joined runs)
        and ``"separate"``; one of them is needed where both kinds are there.
    space, desc : str, optional
        Needed if a scan has files of several.
    entities : mapping of str to str, optional
        Labels of other entities, for example ``{"den": "91k"}``.
    participants : path-like, optional
        Table of labels, one row per subject. By default ``participants.tsv`` of the
        derivative, then of the dataset around it, if there is one.
    id_column : str, optional
        Its column of subjects; recognised by name if not given.
    regions : str or sequence of str, optional
        A region set or region names; all by default.
    tr : float, optional
        Repetition time in seconds. By default from the JSON sidecars (beside the file or
        inherited); where scans differ it becomes the fact `tr`.

    Returns
    -------
    Scans
        Named by the entities that identify a scan (``sub-01_ses-2_task-rest_run-1``), with
        the facts `session`, `task`, `run` as far as names have them, and the labels.

    Notes
    -----
    XCP-D writes ``n/a`` for regions outside the scan's coverage: they are NaN here and reported
    as non-finite. In its `linc` mode high-motion volumes are cut out of the time series.
    """
    choices = {"task": task, "ses": session, "run": run, "space": space, "desc": desc}
    found = find_files(folder, _is_region_series, "region time series (*_timeseries.tsv)")
    files = select_files(_of_atlas(found, atlas), {**choices, **(entities or {})})
    require_one_file_per_scan(files)
    kept, regions_found, problems = _of_one_header(files)
    options = {
        "atlas": kept[0].name.parcellation,
        **{key: _plain(choice) for key, choice in choices.items()},
        "entities": dict(entities or {}),
        "regions": _plain(regions),
        "tr": tr,
    }
    provenance = {"reader": "bids", "source": str(folder), "options": options}
    shared_tr, tr_facts = split_tr(_repetition_times(folder, kept, tr))
    scans = _scans(kept, regions_found, tr_facts)
    read = Scans(scans, regions_found, shared_tr, provenance, problems)
    table_path = Path(participants) if participants else find_participants(folder)
    if table_path is not None:
        table = read_label_table(table_path, id_column)
        read = attach_participants(read, table, {file.subject for file in found})
    return choose_regions(read, regions)


def _repetition_times(
    folder: str | os.PathLike[str], files: Sequence[BidsFile], tr: float | None
) -> list[float | None]:
    sidecars = Sidecars(folder)
    return [tr if tr is not None else sidecars.repetition_time(file) for file in files]


def _is_region_series(name: BidsName) -> bool:
    return (
        name.suffix == "timeseries"
        and name.extension == ".tsv"
        and name.parcellation is not None
        and name.entities.get("desc") != "confounds"
    )


def _of_atlas(files: Sequence[BidsFile], atlas: str | None) -> list[BidsFile]:
    known = sorted({str(file.name.parcellation) for file in files})
    if atlas is None and len(known) > 1:
        raise InputError(
            f"Expected one atlas, found {len(known)}: {name_first(known, 20)}; "
            "choose one with --atlas (atlas=...)."
        )
    wanted = known[0] if atlas is None else atlas.removeprefix("seg-").removeprefix("atlas-")
    if wanted not in known:
        raise UnknownNameError(
            f"There is no atlas {wanted!r} here; choose one of those found: "
            f"{name_first(known, 20)}."
        )
    return [file for file in files if file.name.parcellation == wanted]


def _of_one_header(
    files: Sequence[BidsFile],
) -> tuple[list[BidsFile], tuple[str, ...], list[Problem]]:
    """Keep the files with the regions that most files have; name the others."""
    headers: dict[Path, tuple[str, ...]] = {}
    problems = []
    for file in files:
        try:
            headers[file.path] = _header(file.path)
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", file.name.scan_id, str(error)))
    if not headers:
        raise_for(problems)
    kinds = Counter(frozenset(header) for header in headers.values())
    usual = kinds.most_common(1)[0][0]
    readable = [file for file in files if file.path in headers]
    kept = [file for file in readable if frozenset(headers[file.path]) == usual]
    problems += [
        _other_regions(file, frozenset(headers[file.path]), usual)
        for file in readable
        if frozenset(headers[file.path]) != usual
    ]
    return kept, headers[kept[0].path], problems


def _other_regions(file: BidsFile, found: frozenset[str], usual: frozenset[str]) -> Problem:
    lacking, unknown = sorted(usual - found), sorted(found - usual)
    differences = [
        *([f"lacks {name_first(lacking, 3)}"] if lacking else []),
        *([f"has also {name_first(unknown, 3)}"] if unknown else []),
    ]
    detail = f"{len(found)} regions, expected {len(usual)}: {' and '.join(differences)}"
    return Problem("region-count", file.name.scan_id, detail)


def _header(path: Path) -> tuple[str, ...]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            names = tuple(cell.strip() for cell in lines.readline().rstrip("\r\n").split("\t"))
    except UnicodeDecodeError as error:
        raise UnreadableFileError(_damaged(path, "it is not text")) from error
    if not any(names):
        raise UnreadableFileError(_damaged(path, "its first line is empty"))
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise UnreadableFileError(_damaged(path, f"its header repeats {name_first(repeated)}"))
    return names


def _damaged(path: Path, found: str) -> str:
    return (
        f"Expected a tab-separated table with region names in the first line in {path}, "
        f"but {found}; make or fetch it again."
    )


def _scans(
    files: Sequence[BidsFile], regions: Sequence[str], tr_facts: Sequence[dict[str, Any]]
) -> list[Scan]:
    facts = [file.facts() for file in files]
    used = {name for row in facts for name, label in row.items() if label is not None}
    return [
        Scan(
            file.name.scan_id,
            file.subject,
            load=partial(_load, file.path, tuple(regions)),
            facts={**{name: row[name] for name in row if name in used}, **tr},
        )
        for file, row, tr in zip(files, facts, tr_facts, strict=True)
    ]


def _load(path: Path, regions: tuple[str, ...]) -> NDArray[np.float64]:
    """Read one table as (region, time), in the order of `regions`."""
    header = _header(path)
    values = load_text_matrix(path, TextLayout(1, len(header), header, "\t"))
    return values[:, [header.index(region) for region in regions]].T


def _plain(choice: Choice) -> str | list[str] | None:
    return choice if choice is None or isinstance(choice, str) else list(choice)
