"""How much of each region a scan covers, as pipelines write it down beside the time series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from sclcs.cohort.bids_files import BidsFile
from sclcs.cohort.bids_names import parse_bids_name
from sclcs.cohort.table_files import read_table_file
from sclcs.core.errors import UnreadableFileError
from sclcs.core.gate import read_json

__all__ = ["find_coverage"]

Coverage = Mapping[str, float]


def find_coverage(file: BidsFile, regions: tuple[str, ...]) -> Callable[[], Coverage] | None:
    """Find the coverage of a scan's regions.

    Parameters
    ----------
    file : BidsFile
        The time series.
    regions : tuple of str
        In the order of the file's columns, for lists without names.

    Returns
    -------
    callable or None
        Reads the table ``stat-coverage_bold.tsv`` of XCP-D (columns Node and coverage) or the
        list ``Coverage`` in HALFpipe's JSON; None if there is neither.
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
