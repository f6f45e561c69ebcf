"""Series as people have them: (time, region), as nilearn has it, and a table with a row per scan.

Every door that takes plain arrays reads them here. Inside the package signals are
(sample, region, time).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import AxesWarning, InputError, name_first, real_numbers
from sclcs.cohort.labels import LabelTable, column_name, match_ids
from sclcs.cohort.scans import Scan, Scans, unique_scan_ids

TIME, REGION = "time", "region"
TURN = "give (time, region), for example [scan.T for scan in series]"


@dataclass(frozen=True, eq=False)
class Series:
    """Scans as arrays (time, region) of the same regions; lengths may differ.

    Names of regions are columns of data frames, coordinates of data arrays, or what was given;
    names of scans the keys of a mapping, or coordinates of a data array.
    """

    scans: list[NDArray[Any]]
    regions: tuple[str, ...] | None = None
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.scans)

    def padded(self) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """Return one array (scan, region, time), and the lengths if they differ."""
        lengths = np.array([len(scan) for scan in self.scans], dtype=np.int64)
        batch = np.full((len(self), self.scans[0].shape[1], lengths.max()), np.nan)
        for row, scan in zip(batch, self.scans, strict=True):
            row[:, : len(scan)] = scan.T
        return batch, None if (lengths == lengths.max()).all() else lengths


def read_series(given: object, regions: Sequence[str] | None = None) -> Series:
    """Read series, however they come.

    A list of arrays (time, region) or data frames; one array of two axes is one scan, of three
    (scan, time, region); a mapping of names to scans; an ``xarray.DataArray`` whose dimensions are
    called `time` and `region`, in any order: a third one is that of the scans.
    """
    names, parts = _parts(given)
    if not parts:
        raise InputError("Expected at least one scan, found 0 scans.")
    found = [_scan(part, number) for number, part in enumerate(parts)]
    scans, columns = [scan for scan, _ in found], [names for _, names in found]
    if isinstance(regions, str):
        raise InputError(f"Expected a list of region names, got the string {regions!r}.")
    if regions is None:
        other = [number for number, names in enumerate(columns) if names != columns[0]]
        if other:
            raise InputError(
                "Expected the same regions, in the same order, in every scan, but those of scan "
                f"{name_first(other)} (counted from 0) differ from those of the first."
            )
        regions = columns[0]
    named = None if regions is None else tuple(map(str, regions))
    _check_axes([scan.shape for scan in scans], named)
    return Series(scans, named, names)


def _parts(given: Any) -> tuple[list[str] | None, list[Any]]:  # noqa: ANN401
    """Return the scans one by one, and their names."""
    if isinstance(given, Mapping):
        return [str(name) for name in given], list(given.values())
    if isinstance(given, pd.DataFrame):
        return None, [given]
    dims = tuple(getattr(given, "dims", ()))
    if {TIME, REGION} & set(dims):
        others = [name for name in dims if name not in {TIME, REGION}]
        if len(others) != given.ndim - 2 or len(others) > 1:
            raise InputError(
                f"Expected a data array with the dimensions {TIME}, {REGION} and at most one more, "
                f"for the scans, got {dims}; rename or select them."
            )
        if not others:
            return None, [given]
        scan = others[0]
        names = [str(name) for name in given[scan].to_numpy()] if scan in given.coords else None
        return names, [given.isel({scan: number}) for number in range(given.sizes[scan])]
    ragged = isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 1
    if ragged or (isinstance(given, list | tuple) and not _is_row(given[:1])):
        return None, list(given)
    values = real_numbers(given, "a list of arrays (time, region)")
    if values.ndim not in {2, 3}:
        raise InputError(
            "Expected scans as arrays (time, region) or one array (scan, time, region), found the "
            f"shape {values.shape}."
        )
    return None, [values] if values.ndim == 2 else list(values)


def _is_row(parts: Sequence[Any]) -> bool:
    """Say whether a list begins with a row of numbers, so that it is one array itself."""
    row = parts[0] if parts else None
    return isinstance(row, list | tuple) and all(isinstance(cell, int | float) for cell in row)


def _scan(part: Any, number: int) -> tuple[NDArray[Any], tuple[str, ...] | None]:  # noqa: ANN401
    """Return one scan (time, region) and the names of its regions."""
    names = None
    if isinstance(part, pd.DataFrame):
        names = tuple(map(str, part.columns.tolist()))
    elif {TIME, REGION} & set(getattr(part, "dims", ())):
        if set(part.dims) != {TIME, REGION}:
            raise InputError(
                f"Expected scan {number} with the dimensions {TIME} and {REGION}, got "
                f"{tuple(part.dims)}; rename or select them."
            )
        part = part.transpose(TIME, REGION)
        if REGION in part.coords:
            names = tuple(map(str, part[REGION].to_numpy().tolist()))
    values = real_numbers(part, f"scan {number} as an array (time, region)")
    if values.ndim != 2:
        raise InputError(
            f"Expected every scan as an array (time, region), but the shape of scan {number} "
            f"(counted from 0) is {values.shape}."
        )
    return values, names


def _check_axes(shapes: Sequence[tuple[int, ...]], regions: Sequence[str] | None) -> None:
    """Raise if scans differ in their regions; say so if the axes are swapped."""
    times, counts = {shape[0] for shape in shapes}, {shape[1] for shape in shapes}
    found = name_first(sorted({f"{shape[0]} x {shape[1]}" for shape in shapes}), 3)
    if len(counts) > 1 and len(times) == 1:
        raise InputError(
            f"The axes look swapped: all scans have {times.pop()} rows and differ in their columns "
            f"({found}), but rows are time points and columns are regions; {TURN}."
        )
    if len(counts) > 1:
        raise InputError(
            "Expected the same regions in every scan, found scans with "
            f"{name_first(sorted(counts))} regions ({found}); the axes are (time, region)."
        )
    (count,) = counts
    if regions is None:
        if len(times) == 1:  # lengths that differ tell that they are lengths
            warn_if_swapped(count, max(times), TURN, stacklevel=6)
    elif len(regions) != count and times == {len(regions)}:
        raise InputError(
            f"The axes look swapped: there are {len(regions)} region names, as many as rows, and "
            f"{count} columns; {TURN}."
        )
    elif len(regions) != count:
        raise InputError(f"Expected {count} region names, got {len(regions)}.")


def scans_of_series(
    given: object,
    table: pd.DataFrame | None = None,
    *,
    regions: Sequence[str] | None = None,
    tr: float | None = None,
) -> Scans:
    """Make scans of series and a table; see :meth:`sclcs.Cohort.from_arrays`.

    Rows belong to the scans in their order, unless the scans have names: then they are found by
    these.
    """
    from sclcs.cohort.readers.series_files import rows_are_time

    series = read_series(given, regions)
    if series.regions is None and rows_are_time(series.scans) is False:
        raise InputError(
            "The axes look swapped: what the scans have in common are their rows, as regions have, "
            f"but rows are time points and columns are regions; {TURN}."
        )
    subjects, ids, rows = _who(series, table)
    scans = [
        Scan(name, subject, load=lambda scan=scan: scan.T, metadata=row)  # type: ignore[misc]
        for scan, subject, name, row in zip(series.scans, subjects, ids, rows, strict=True)
    ]
    names = series.regions or [f"region-{i}" for i in range(series.scans[0].shape[1])]
    return Scans(scans, names, tr, {"reader": "from_arrays"})


def _who(
    series: Series, table: pd.DataFrame | None
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """Return subject, id and metadata of every scan."""
    from sclcs.cohort.readers.folders import metadata_in_name

    in_names = [metadata_in_name(name) for name in series.names or ()]
    digits = max(3, len(str(len(series))))
    numbered = [f"subject-{number:0{digits}d}" for number in range(1, len(series) + 1)]
    subjects = [subject for _, subject, _ in in_names] or numbered
    if table is None:
        metadata = [found for _, _, found in in_names] or [{} for _ in numbered]
        return subjects, series.names or subjects, metadata
    table = _rows_of_scans(series, subjects, table)
    column = _column(table, "subject")
    if column is not None:
        subjects = _ids(table[column], column)
    elif series.names is None and not isinstance(table.index, pd.RangeIndex):
        subjects = _ids(table.index.to_series(), "index")
    kept = table.drop(columns=[] if column is None else column)
    values = {
        _unreserved(str(name)): [None if pd.isna(cell) else cell for cell in kept[name].tolist()]
        for name in kept
    }
    rows = [{name: cells[row] for name, cells in values.items()} for row in range(len(table))]
    return subjects, series.names or unique_scan_ids(subjects), rows


def _rows_of_scans(series: Series, subjects: Sequence[str], table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the scans, in their order: by name, or by the subject in it."""
    if not table.columns.is_unique:
        repeated = table.columns[table.columns.duplicated()]
        raise InputError(
            f"Columns of the table need names of their own; repeated: {name_first(repeated)}."
        )
    if series.names is None:
        if len(table) != len(series):
            raise InputError(
                f"Expected a row per scan, in their order, found {len(table)} rows for "
                f"{len(series)} scans; to match them by name give a mapping of names to scans."
            )
        return table
    found = {str(column): column for by in ("scan", "subject")
             if (column := _column(table, by)) is not None}  # fmt: skip
    tried = {name: _ids(table[column], column) for name, column in found.items()}
    if not isinstance(table.index, pd.RangeIndex):
        tried["index"] = [str(name) for name in table.index]
    best: dict[str, int] = {}
    for ids in tried.values():
        rows = match_ids(series.names, ids)
        if not rows:
            by_subject = match_ids(subjects, ids)
            pairs = zip(series.names, subjects, strict=True)
            rows = {name: by_subject[who] for name, who in pairs if who in by_subject}
        better = [len(rows), len({*rows.values()})] > [len(best), len({*best.values()})]
        best = rows if better and len(set(ids)) == len(ids) else best
    lost = [name for name in series.names if name not in best]
    if lost:
        raise InputError(
            "Expected a row of the table for every scan, but there is none for "
            f"{name_first(lost)}; "
            f"rows are found by {' or '.join(tried) or 'a column subject or the index'}, with each "
            "name once."
        )
    return table.iloc[[best[name] for name in series.names]]


def _column(table: pd.DataFrame, by: str) -> Any:  # noqa: ANN401 (a column may have any name)
    by_name = {str(name): name for name in table.columns}
    labels = LabelTable(Path("the table"), {name: [] for name in by_name})
    found = labels.subject_column() if by == "subject" else labels.scan_column()
    return None if found is None else by_name[found]


def _unreserved(name: str) -> str:
    """Return the name of a column; only names that a cohort needs itself are changed."""
    return column_name(name) if column_name(name) == f"{name}_label" else name


def _ids(cells: pd.Series, column: object) -> list[str]:
    """Return ids as strings: 7.0, as a column with gaps has it, is 7."""
    empty = [f"row {row}" for row, cell in enumerate(cells) if pd.isna(cell) or str(cell) == ""]
    if empty:
        raise InputError(
            f"Every scan needs a subject, but the column {column} is empty in {name_first(empty)} "
            "(counted from 0)."
        )
    return [
        str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
        for cell in cells
    ]


def warn_if_swapped(n_regions: int, n_times: int, advice: str, stacklevel: int = 3) -> None:
    """Warn if there are more regions than time points: the axes may be swapped.

    The line of the caller's caller is shown, `stacklevel` frames up.
    """
    if n_regions > n_times:
        warnings.warn(
            f"{n_regions} regions and only {n_times} time points: if the axes are swapped, "
            f"{advice}; if not, all is well.",
            AxesWarning,
            stacklevel=stacklevel,
        )
