"""Facts around a BIDS derivative: its participants and its JSON sidecars."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sclcs._core import UnreadableFileError, get_logger, read_json
from sclcs.cohort.labels import LabelTable, attach_labels, fact_name, read_label_table
from sclcs.cohort.readers.bids_files import BidsFile, BidsName, parse_bids_name
from sclcs.cohort.scans import Scans
from sclcs.cohort.tables import read_table_file

__all__ = [
    "Sidecars",
    "attach_participants",
    "dataset_folders",
    "find_coverage",
    "find_participants",
    "missing_participants",
    "participants_places",
    "split_tr",
    "with_note",
]


_PARENTS_SEARCHED = 3


def find_participants(
    folder: str | os.PathLike[str], subjects: Collection[str] = ()
) -> Path | None:
    """Find ``participants.tsv`` of a derivative: in it, in its dataset, or one folder up.

    `subjects`: who is in it. A table one folder up may belong to something else: it counts only if
    it names one of them.
    """
    certain = {place / "participants.tsv" for place in dataset_folders(folder)}
    for path in participants_places(folder):
        if path.is_file() and (path in certain or _names_any(path, subjects)):
            return path
    return None


def _names_any(path: Path, subjects: Collection[str]) -> bool:
    bare = {subject.removeprefix("sub-") for subject in subjects}
    columns = read_label_table(path).columns.values()
    return any(cell.strip().removeprefix("sub-") in bare for cells in columns for cell in cells)


def participants_places(folder: str | os.PathLike[str]) -> list[Path]:
    """Return where ``participants.tsv`` is looked for: the datasets, and one folder up."""
    places = dataset_folders(folder)
    above = Path(folder).resolve().parent
    return [place / "participants.tsv" for place in dict.fromkeys([*places, above])]


def missing_participants(folder: str | os.PathLike[str]) -> str:
    """Say that a derivative has no labels, and where they were looked for."""
    places = " or ".join(str(path) for path in participants_places(folder))
    return (
        f"No labels: there is no {places}. The cohort knows subjects and sessions only; give a "
        "table with --labels, or add one later."
    )


def dataset_folders(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the derivative folder and the datasets around it, innermost first.

    A parent counts as a dataset if it holds a ``derivatives`` folder on the way down, or
    a ``dataset_description.json``; other parents may hold unrelated tables.
    """
    folder = Path(folder).resolve()
    places = [folder]
    for parent in list(folder.parents)[:_PARENTS_SEARCHED]:
        below = places[-1].relative_to(parent).parts
        if "derivatives" in below or (parent / "dataset_description.json").is_file():
            places.append(parent)
    return places


@dataclass
class Sidecars:
    """JSON sidecars of a derivative and its dataset, looked up by BIDS inheritance."""

    folder: str | os.PathLike[str]
    _listed: dict[Path, list[BidsFile]] = field(default_factory=dict)
    _read: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def repetition_time(self, file: BidsFile) -> float | None:
        """Return the repetition time of a scan in seconds, if a sidecar tells it.

        The nearest and most specific sidecar wins: beside the file, then up to the
        derivative folder, then the same in the dataset it derives from. XCP-D writes
        ``RepetitionTime``; ``SamplingFrequency`` (in Hz) is understood too.
        """
        for path in self._candidates(file):
            content = self._content(path)
            seconds = _positive(content.get("RepetitionTime"))
            frequency = _positive(content.get("SamplingFrequency"))
            if seconds is not None:
                return seconds
            if frequency is not None:
                return 1.0 / frequency
        return None

    def _candidates(self, file: BidsFile) -> list[Path]:
        candidates: list[Path] = []
        inner = Path(self.folder).resolve()
        below = file.path.resolve().parent.relative_to(inner)
        for root in dataset_folders(inner):
            for place in [root / below, *(root / up for up in below.parents)]:
                fitting = [s for s in self._listing(place) if _applies(s.name, file.name)]
                # Own suffix and more entities first: the most specific statement.
                fitting.sort(
                    key=lambda s: (s.name.suffix != file.name.suffix, -len(s.name.entities))
                )
                candidates.extend(s.path for s in fitting)
        return candidates

    def _listing(self, place: Path) -> list[BidsFile]:
        if place not in self._listed:
            parsed = [(path, parse_bids_name(path)) for path in sorted(place.glob("*.json"))]
            self._listed[place] = [BidsFile(p, name) for p, name in parsed if name is not None]
        return self._listed[place]

    def _content(self, path: Path) -> dict[str, Any]:
        if path not in self._read:
            try:
                self._read[path] = read_json(path)
            except UnreadableFileError as error:
                raise UnreadableFileError(
                    f"Expected JSON in {path}, but it is damaged ({error}); repair it, or give "
                    "the repetition time with --tr (tr=...)."
                ) from error
        return self._read[path]


def _applies(sidecar: BidsName, file: BidsName) -> bool:
    if sidecar.suffix == file.suffix:
        return sidecar.entities.items() <= file.entities.items()
    # How the image was resampled or denoised does not change when it was measured.
    return sidecar.suffix == "bold" and sidecar.identity.items() <= file.identity.items()


def _positive(value: object) -> float | None:
    """Return a positive number; some XCP-D sidecars say ``"TR"`` instead of one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    return None


def with_note(scans: Scans, note: str) -> Scans:
    """Add a remark that the user must see: it is logged, printed and kept with the cohort."""
    get_logger(__name__).warning(note)
    notes = [*scans.provenance.get("notes", ()), note]
    return scans.with_scans(list(scans), provenance={**scans.provenance, "notes": notes})


def attach_participants(scans: Scans, table: LabelTable, subjects_found: Collection[str]) -> Scans:
    """Give scans the labels of ``participants.tsv``.

    `scans`: the scans; facts that come from file names are kept; `table`: one row per participant;
    `subjects_found`: subjects with any file in the derivative. Their rows are no mistake even if
    none of their scans was chosen.
    """
    chosen = {scan.subject for scan in scans}
    named = [f"sub-{name.removeprefix('sub-')}" for name in table.ids("subject")]
    rows = [row for row, name in enumerate(named) if name in chosen or name not in subjects_found]
    from_names = {fact for scan in scans for fact in scan.facts}
    table = table.keep_rows(rows)
    columns = {k: v for k, v in table.columns.items() if fact_name(k) not in from_names}
    return attach_labels(scans, replace(table, columns=columns), by="subject")


def split_tr(times: Sequence[float | None]) -> tuple[float | None, list[dict[str, Any]]]:
    """Tell a repetition time that all scans share from one that is a fact of each scan.

    `times`: one per scan, in seconds. Returns: `shared`, the time, if all scans have the same;
    `facts`, ``{"tr": seconds}`` per scan if they differ, else empty.
    """
    different = set(times)
    if len(different) == 1:
        return different.pop(), [{} for _ in times]
    return None, [{"tr": time} for time in times]


Coverage = Mapping[str, float]


def find_coverage(file: BidsFile, regions: tuple[str, ...]) -> Callable[[], Coverage] | None:
    """Find the coverage of a scan's regions.

    `regions`: in the order of the file's columns, for lists without names. Returns: reads the
    table ``stat-coverage_bold.tsv`` of XCP-D (columns Node and coverage) or the list ``Coverage``
    in HALFpipe's JSON; None if there is neither.
    """
    table = _coverage_table(file)
    if table is not None:
        return partial(_read_table, table)
    name = file.path.name
    sidecar = file.path.with_name(name[: len(name) - len(file.name.extension)] + ".json")
    if sidecar.is_file() and _listed(sidecar, len(regions)):
        return partial(_read_list, sidecar, regions)
    return None


def _coverage_table(file: BidsFile) -> Path | None:
    """Return the coverage table of the same scan and atlas in the same folder."""
    own = {k: v for k, v in file.name.entities.items() if k not in {"stat", "den", "desc"}}
    for path in sorted(file.path.parent.glob("*_stat-coverage_bold.tsv")):
        name = parse_bids_name(path)
        if name is None:
            continue
        other = {k: v for k, v in name.entities.items() if k not in {"stat", "den", "desc"}}
        if other == own:
            return path
    return None


def _read_table(path: Path) -> Coverage:
    columns = read_table_file(path)
    names = next((columns[c] for c in ("Node", "node", "region", "name") if c in columns), None)
    values = columns.get("coverage")
    if names is None or values is None:
        raise UnreadableFileError(
            f"Expected the columns Node and coverage in {path}, found {', '.join(columns)}; make "
            "it again with XCP-D, or remove it."
        )
    return {name: _number(cell) for name, cell in zip(names, values, strict=True)}


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return 0.0  # n/a: nothing is covered


def _listed(path: Path, count: int) -> bool:
    return len(_list_in(path)) == count


def _list_in(path: Path) -> list[float]:
    try:
        content = read_json(path)
    except UnreadableFileError:
        return []  # a damaged sidecar is reported where its repetition time is read
    found = content.get("Coverage")
    numbers = found if isinstance(found, list) else []
    return [float(n) if isinstance(n, int | float) else 0.0 for n in numbers]


def _read_list(path: Path, regions: tuple[str, ...]) -> Coverage:
    return dict(zip(regions, _list_in(path), strict=True))
