"""Regional time series written by XCP-D, C-PAC, HALFpipe and other BIDS derivatives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sclcs._core import UnreadableFileError, name_first
from sclcs.cohort.labels import read_label_table
from sclcs.cohort.motion import attach_motion
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.bids_files import (
    BidsFile,
    BidsName,
    Choice,
    choose_atlas,
    entity_labels,
    find_files,
    require_one_file_per_scan,
    select_files,
)
from sclcs.cohort.readers.bids_metadata import (
    Sidecars,
    attach_participants,
    find_coverage,
    find_participants,
    missing_participants,
    split_tr,
    with_note,
)
from sclcs.cohort.readers.series_files import SeriesFile, look_at
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans

__all__ = ["read_bids"]

_FORMATS = (".tsv", ".tsv.gz", ".ptseries.nii", ".1D", ".1D.gz", ".txt", ".csv", ".csv.gz")


def read_bids(
    folder: str | os.PathLike[str],
    *,
    atlas: str | None = None,
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
    """Read the ``*_timeseries`` files of XCP-D, C-PAC, HALFpipe or another BIDS derivative.

    Files are looked for in ``sub-*/[ses-*/]func/[task-*/]``. They are tables time x region
    (``.tsv``, ``.tsv.gz``, ``.1D``, ``.txt``, ``.csv``) or CIFTI (``.ptseries.nii``), and have a
    ``seg-`` or an ``atlas-`` entity; fMRIPrep's ``desc-confounds_timeseries.tsv`` are not regions
    and left aside. Where a scan is there in several formats, the first of these is read.

    Parameters
    ----------
    folder : path-like
        The derivative, for example ``dataset/derivatives/xcp_d``.
    atlas : str, optional
        Which atlas (``seg-`` or ``atlas-`` label); needed if there are several.
    task, session, run : str or sequence of str, optional
        Keep scans with these labels. `run` also takes ``"combined"`` (XCP-D's joined runs)
        and ``"separate"``; one of them is needed where both kinds are there.
    space, desc, entity
        Labels of other entities; needed if a scan has files of several.
    labels, id_column
        Table with one row per subject. By default ``participants.tsv`` of the derivative, then
        of the dataset around it, if there is one.
    regions, tr
        As options of ``sclcs import``. By default the repetition time is that of the JSON
        sidecars; where scans differ it becomes the fact `tr`.

    Returns
    -------
    Scans
        Named by the entities that identify a scan (``sub-01_ses-2_task-rest_run-1``), with
        the facts `session`, `task`, `run` as far as names have them, `mean_fd` where a
        ``motion.tsv`` or ``confounds.tsv`` beside the file tells it, and the labels.

    Notes
    -----
    XCP-D writes ``n/a`` for regions outside the scan's coverage: they are NaN here. How much it
    covers (``stat-coverage_bold.tsv``; HALFpipe says it in the JSON) can decide which regions are
    left out, see :class:`~sclcs.cohort.regions.CoverageRule`. In XCP-D's `linc` mode high-motion
    volumes are cut out of the time series.
    """
    entities = entity_labels(entity)
    choices = {"task": task, "ses": session, "run": run, "space": space, "desc": desc}
    found = find_files(folder, _is_region_series, "region time series (*_timeseries.tsv)")
    files = select_files(_of_atlas(found, atlas), {**choices, **entities})
    files = _of_best_format(files)
    require_one_file_per_scan(files)
    kept, regions_found, problems = _of_one_header(files)
    options = {
        "atlas": kept[0].file.name.parcellation,
        **{key: _plain(choice) for key, choice in choices.items()},
        "space": space or kept[0].file.name.entities.get("space"),
        "entities": entities,
        "regions": _plain(regions),
        "tr": tr,
    }
    provenance = {"reader": "bids", "source": str(folder), "options": options}
    shared_tr, tr_facts = split_tr(_repetition_times(folder, kept, tr))
    scans = _scans(kept, regions_found, tr_facts)
    read = Scans(scans, regions_found, shared_tr, provenance, problems)
    read = attach_motion(read, {one.file.name.scan_id: one.file for one in kept})
    subjects = {file.subject for file in found}
    table_path = Path(labels) if labels else find_participants(folder, subjects)
    if table_path is not None:
        table = read_label_table(table_path, id_column)
        read = attach_participants(read, table, subjects)
    else:
        read = with_note(read, missing_participants(folder))
    return choose_regions(read, regions)


@dataclass(frozen=True)
class _Series:
    """A file of a scan and what it holds."""

    file: BidsFile
    content: SeriesFile


def _repetition_times(
    folder: str | os.PathLike[str], series: Sequence[_Series], tr: float | None
) -> list[float | None]:
    sidecars = Sidecars(folder)
    return [tr or sidecars.repetition_time(one.file) or one.content.tr for one in series]


def _is_region_series(name: BidsName) -> bool:
    return (
        name.suffix == "timeseries"
        and name.extension in _FORMATS
        and name.parcellation is not None
        and name.entities.get("desc") != "confounds"
    )


def _of_best_format(files: Sequence[BidsFile]) -> list[BidsFile]:
    """Keep one of the files that hold the same series in several formats."""
    best: dict[str, BidsFile] = {}
    for file in sorted(files, key=lambda file: _FORMATS.index(file.name.extension)):
        # XCP-D's CIFTI has den-91k, its table has not; else the names are the same.
        same = {k: v for k, v in file.name.entities.items() if k != "den"}
        best.setdefault(str(sorted(same.items())), file)
    if len({file.name.extension for file in files}) == 1:
        return list(files)
    return sorted(best.values(), key=lambda file: file.path)


def _of_atlas(files: Sequence[BidsFile], atlas: str | None) -> list[BidsFile]:
    asked = None if atlas is None else atlas.removeprefix("seg-").removeprefix("atlas-")
    wanted = choose_atlas([str(file.name.parcellation) for file in files], asked)
    return [file for file in files if file.name.parcellation == wanted]


def _of_one_header(
    files: Sequence[BidsFile],
) -> tuple[list[_Series], tuple[str, ...], list[Problem]]:
    """Keep the files with the regions that most files have; name the others."""
    found, problems = [], []
    for file in files:
        try:
            found.append(_Series(file, _look_at(file.path)))
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", file.name.scan_id, str(error)))
    if not found:
        raise_for(problems)
    regions = {one.file.path: frozenset(_names(one.content)) for one in found}
    usual = Counter(regions.values()).most_common(1)[0][0]
    kept = [one for one in found if regions[one.file.path] == usual]
    problems += [
        _other_regions(one.file, regions[one.file.path], usual)
        for one in found
        if regions[one.file.path] != usual
    ]
    return kept, _names(kept[0].content), problems


def _look_at(path: Path) -> SeriesFile:
    content = look_at(path, "scan-time-region")
    if content.damaged:
        content.read()  # says what is wrong
    if not any(_names(content)):
        raise UnreadableFileError(_damaged(path, "its first line is empty"))
    repeated = [name for name, count in Counter(_names(content)).items() if count > 1]
    if repeated:
        raise UnreadableFileError(_damaged(path, f"its header repeats {name_first(repeated)}"))
    return content


def _names(content: SeriesFile) -> tuple[str, ...]:
    """Return the names of the regions; HALFpipe's tables have none."""
    return content.names or tuple(f"region-{i}" for i in range(content.n_regions or 0))


def _other_regions(file: BidsFile, found: frozenset[str], usual: frozenset[str]) -> Problem:
    lacking, unknown = sorted(usual - found), sorted(found - usual)
    differences = [
        *([f"lacks {name_first(lacking, 3)}"] if lacking else []),
        *([f"has also {name_first(unknown, 3)}"] if unknown else []),
    ]
    detail = f"{len(found)} regions, expected {len(usual)}: {' and '.join(differences)}"
    return Problem("region-count", file.name.scan_id, detail)


def _damaged(path: Path, found: str) -> str:
    return (
        f"Expected a tab-separated table with region names in the first line in {path}, "
        f"but {found}; make or fetch it again."
    )


def _scans(
    series: Sequence[_Series], regions: Sequence[str], tr_facts: Sequence[dict[str, Any]]
) -> list[Scan]:
    facts = [one.file.facts() for one in series]
    used = {name for row in facts for name, label in row.items() if label is not None}
    return [
        Scan(
            one.file.name.scan_id,
            one.file.subject,
            load=partial(_load, one.content, tuple(regions)),
            facts={**{name: row[name] for name in row if name in used}, **tr},
            coverage=find_coverage(one.file, tuple(regions)),
        )
        for one, row, tr in zip(series, facts, tr_facts, strict=True)
    ]


def _load(content: SeriesFile, regions: tuple[str, ...]) -> NDArray[Any]:
    """Read one file as (region, time), in the order of `regions`."""
    place = {name: row for row, name in enumerate(_names(content))}
    return content.load()[[place[region] for region in regions]]


def _plain(choice: Choice) -> str | list[str] | None:
    return choice if choice is None or isinstance(choice, str) else list(choice)
