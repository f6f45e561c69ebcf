"""The table of samples: one row of metadata per sample, kept without loss as CSV.

An empty string means "missing" in every label table we know, so empty and missing are
the same thing here; that makes CSV with a list of column types lossless.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sclcs._core import (
    CLASS_NUMBERS,
    InputError,
    UnknownNameError,
    UnreadableFileError,
    did_you_mean,
    explain_damage,
    guard_cell,
    name_first,
    read_text_input,
    refuse_inflated,
    regular_file,
    require_existing,
    unguard_cell,
)
from sclcs.cohort.columns import MAX_CLASSES, NEVER_QUANTITIES

REQUIRED = ("subject", "window")
_BOOKKEEPING = {"subject", "window", "scan", "start", "n_timepoints"}


def clean_table(samples: pd.DataFrame) -> pd.DataFrame:
    """Check a table of samples and return a copy whose columns have plain types.

    String ids and subjects, int64 windows, and every other column as int64, float64, bool or
    string (object, missing as None).
    """
    missing = [name for name in REQUIRED if name not in samples.columns]
    if missing:
        raise InputError(
            f"The table of samples needs the columns {', '.join(REQUIRED)}, "
            f"but {name_first(missing)} is not there; it has {name_first(samples.columns, 10)}."
        )
    repeated = samples.columns[samples.columns.duplicated()].unique()
    if len(repeated):
        raise InputError(
            "Every column of the table of samples needs a name of its own, but these are "
            f"repeated: {name_first(repeated)}."
        )
    columns = {str(name): _plain(samples[name]) for name in samples.columns}
    columns["subject"] = _as_strings(samples["subject"])
    columns["window"] = _windows(samples["window"])
    table = _frame([str(name) for name in samples.index], columns)
    _check_ids(table)
    return table


def _frame(ids: Sequence[str], columns: Mapping[str, np.ndarray]) -> pd.DataFrame:
    # Text is kept as objects: pandas 2 and 3 disagree on what an inferred string column is.
    index = pd.Index(np.array(ids, dtype=object), name="sample_id")
    series = {
        name: pd.Series(values, index=index, dtype=values.dtype, name=name)
        for name, values in columns.items()
    }
    return pd.DataFrame(series, index=index)


def _check_ids(table: pd.DataFrame) -> None:
    repeated = table.index[table.index.duplicated()].unique()
    if len(repeated):
        raise InputError(
            f"Sample ids must be unique, but these are repeated: {name_first(repeated)}; "
            "give every sample its own id."
        )
    strange = [name.encode("utf-8", "replace").decode() for name in table.index if _no_text(name)]
    if strange:
        raise InputError(
            f"Sample ids must be text that a file can hold, but these are not: "
            f"{name_first(strange)}; give other ids."
        )
    nameless = table.index[table["subject"].isna()]
    if len(nameless):
        raise InputError(f"Every sample needs a subject; missing for {name_first(nameless)}.")


def _no_text(name: str) -> bool:
    """Say whether a text holds half a character (a lone surrogate), which no file can keep."""
    return any("\ud800" <= letter <= "\udfff" for letter in name)


def _as_strings(column: pd.Series) -> np.ndarray:
    values = np.empty(len(column), dtype=object)
    values[:] = [None if pd.isna(value) or str(value) == "" else str(value) for value in column]
    return values


def _windows(column: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
        raise InputError(
            "The column window is the number of the sample within its subject, 0, 1, ..., but "
            f"holds {name_first(column.unique())}."
        )
    return numbers.astype(np.int64)


def _plain(column: pd.Series) -> np.ndarray:
    complete = not column.isna().any()
    if pd.api.types.is_bool_dtype(column.dtype) and complete:
        return column.to_numpy(dtype=np.bool_)
    if pd.api.types.is_integer_dtype(column.dtype) and complete:
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _as_strings(column)


def column_kinds(table: pd.DataFrame) -> dict[str, str]:
    """Return the plain type of each column: int64, float64, bool or string."""
    names = {"i": "int64", "f": "float64", "b": "bool"}
    return {str(name): names.get(table[name].dtype.kind, "string") for name in table.columns}


def table_to_csv(table: pd.DataFrame, *, guarded: bool = False) -> str:
    """Write the table as CSV text that :func:`table_from_csv` reads back exactly.

    Guarded, strings that a spreadsheet would take for a formula are marked, see
    :func:`~sclcs._core.files.guard_cell`: in every file that a person may open.
    """
    guard = guard_cell if guarded else str
    out = io.StringIO()
    # RFC 4180 line ends; with them the writer also quotes a bare carriage return in a cell.
    writer = csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["sample_id", *map(guard, table.columns)])
    columns = [_cells(table[name], guard) for name in table.columns]
    writer.writerows(zip(map(guard, table.index), *columns, strict=True))
    return out.getvalue()


def _cells(column: pd.Series, guard: Callable[[str], str]) -> list[str]:
    if column.dtype.kind == "f":
        return ["" if np.isnan(value) else repr(float(value)) for value in column]
    if column.dtype.kind in "ib":
        return [str(value) for value in column.tolist()]
    return ["" if value is None else guard(str(value)) for value in column.tolist()]


def table_from_csv(text: str, kinds: Mapping[str, str], *, guarded: bool = True) -> pd.DataFrame:
    """Read a table written by :func:`table_to_csv`."""
    plain = unguard_cell if guarded else str
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not rows:
        raise InputError("Expected a table of samples with a header, found an empty file.")
    header, body = [plain(name) for name in rows[0]], rows[1:]
    cells = list(zip(*body, strict=True)) if body else [()] * len(header)
    parsed = {
        name: _parse(column, kinds[name], plain)
        for name, column in zip(header[1:], cells[1:], strict=True)
    }
    return _frame([plain(name) for name in cells[0]], parsed)


def _parse(cells: tuple[str, ...], kind: str, plain: Callable[[str], str]) -> np.ndarray:
    if kind == "int64":
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    if kind == "float64":
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    if kind == "bool":
        return np.array([cell == "True" for cell in cells], dtype=np.bool_)
    values = np.empty(len(cells), dtype=object)
    values[:] = [plain(cell) or None for cell in cells]
    return values


def label_column(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column, or raise an error that lists the known ones."""
    if name not in table.columns:
        raise UnknownNameError(
            f"There is no column {name!r} in the cohort; known columns are "
            f"{name_first(table.columns, 20)}.{did_you_mean(name, table.columns)}"
        )
    return table[name]


def label_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that say something about a person or scan, not which one it is."""
    return [str(name) for name in table.columns if name not in _BOOKKEEPING]


def class_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns whose values are classes: few different values, no fractions."""
    return [name for name in label_columns(table) if _few(table[name])]


def number_columns(table: pd.DataFrame) -> list[str]:
    """Return the numeric columns that are covariates rather than classes."""
    return [
        name
        for name in label_columns(table)
        if table[name].dtype.kind in "if" and not _few(table[name])
    ]


def _few(column: pd.Series) -> bool:
    values = column.dropna()
    fractions = values.dtype.kind == "f" and not (values == values.round()).all()
    quantity = values.dtype.kind in "iuf" and str(column.name) not in NEVER_QUANTITIES
    most = CLASS_NUMBERS if quantity else MAX_CLASSES
    return bool(1 <= values.nunique() <= most and not fractions)


def peek_columns(path: Path) -> list[str]:
    """Return the cells of the first row of a table file, or none if it is not one."""
    try:
        if path.suffix.lower() in _EXCEL_SUFFIXES:
            return list(read_table_file(path))
        with regular_file(path).open(encoding="utf-8-sig", errors="replace") as stream:
            first = stream.readline(2**20)
        cells = next(csv.reader([first], delimiter=_delimiter(path, first)))
        return [cell.strip() for cell in cells]
    except (InputError, UnreadableFileError, StopIteration, csv.Error):
        return []


_TEXT_SUFFIXES = {".csv", ".tsv", ".txt"}
_EXCEL_SUFFIXES = {".xlsx", ".xlsm"}

Columns = dict[str, list[str]]


def read_table_file(path: Path, *, all_sheets: bool = False) -> Columns:
    """Read the cells of each column of a csv, tsv, txt or xlsx file; its first row names them.

    The sheets of an xlsx file may be parts of one table, joined by column name; otherwise the
    first sheet is read. Rows without any content are left out.
    """
    require_existing(path, "table of labels")
    suffix = path.suffix.lower()
    if suffix in _TEXT_SUFFIXES:
        return _columns(_text_rows(path), path)
    if suffix in _EXCEL_SUFFIXES:
        sheets = _excel_sheets(path)
        filled = [rows for rows in sheets if any(map(any, rows))] if all_sheets else sheets[:1]
        return _joined([_columns(rows, path) for rows in filled or sheets[:1]])
    raise InputError(
        f"Expected a table as .csv, .tsv or .xlsx, got {path}; save it in one of these formats."
    )


def _text_rows(path: Path) -> list[list[str]]:
    text = read_text_input(path, "a table")
    delimiter = _delimiter(path, text.partition("\n")[0])
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise UnreadableFileError(
            f"Expected a table in {path}, but it is damaged ({error}); fetch or save it again."
        ) from error


def _delimiter(path: Path, header: str) -> str:
    if path.suffix.lower() == ".tsv" or "\t" in header:
        return "\t"
    return ";" if ";" in header and "," not in header else ","


MOST_CELLS = 20_000_000  # of a workbook; Excel declares seventeen thousand million
#: A cell of a sheet that holds a formula and no value.
_UNCALCULATED = re.compile(
    rb'<c r="([A-Z]+\d+)"(?![^>]*t="str")[^>]*><f[^>]*(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>'
)


def _excel_sheets(path: Path) -> list[list[list[str]]]:
    import warnings

    import openpyxl

    with explain_damage(path, "an Excel workbook"), warnings.catch_warnings():
        # Styles and validations it cannot keep do not matter: only values are read.
        warnings.simplefilter("ignore", UserWarning)
        formulas = _formulas_without_values(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            sheets = []
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # it may declare far more than it holds
                sheets.append(_sheet_rows(path, sheet.iter_rows(values_only=True)))
        finally:
            book.close()
    if formulas:
        raise UnreadableFileError(
            f"Expected values in {path}, found formulas that were never calculated: "
            f"{name_first(formulas)}; open it in Excel or LibreOffice and save it again."
        )
    return sheets


def _formulas_without_values(path: Path) -> list[str]:
    """Look into the sheets, after a look at how much they unpack to."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        held = sum(member.compress_size for member in members)
        unpacked = sum(member.file_size for member in members)
        refuse_inflated(path, unpacked, held=held, packed=held < unpacked)
        return [
            f"{Path(name).stem}!{cell.decode()}"
            for name in archive.namelist()
            if name.startswith("xl/worksheets/") and name.endswith(".xml")
            for cell in _UNCALCULATED.findall(archive.read(name))
        ]


def _sheet_rows(path: Path, rows: Iterable[Sequence[Any]]) -> list[list[str]]:
    found: list[list[str]] = []
    width = 0
    for row in rows:
        found.append([_cell_text(value) for value in row])
        width = max(width, len(row))
        if width * len(found) > MOST_CELLS:
            raise UnreadableFileError(
                f"{path} has a sheet of more than {MOST_CELLS} cells, most of them empty or no "
                "labels; keep the rows and columns with labels, or save them as .csv."
            )
    return [row + [""] * (width - len(row)) for row in found]  # empty cells may not be stored


def _cell_text(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # Excel keeps every number as a float
    return str(value)


def _columns(rows: Sequence[Sequence[str]], path: Path) -> Columns:
    numbered = [(n, row) for n, row in enumerate(rows, start=1) if any(c.strip() for c in row)]
    if not numbered:
        raise UnreadableFileError(f"Expected a table with named columns in {path}, found no rows.")
    header = [cell.strip() for cell in numbered[0][1]]
    while header and not header[-1]:
        header.pop()  # Excel often keeps empty columns at the right
    repeated = [name for name, count in Counter(filter(None, header)).items() if count > 1]
    if repeated:
        raise InputError(
            f"Column names in {path} must be unique; repeated: {name_first(repeated)}."
        )
    width = len(header)
    ragged = [
        f"row {n} ({len(row)} cells)"
        for n, row in numbered[1:]
        if len(row) < width or any(cell.strip() for cell in row[width:])
    ]
    if ragged:
        raise UnreadableFileError(
            f"Expected {width} cells in every row of {path}, as its first row has; not so in "
            f"{name_first(ragged)}; the table is cut off or separated by another character."
        )
    names = [name or f"unnamed_{number}" for number, name in enumerate(header)]
    return {name: [row[i] for _, row in numbered[1:]] for i, name in enumerate(names)}


def _joined(parts: Sequence[Columns]) -> Columns:
    """Put tables under each other; a column that one lacks is empty there."""
    names = list(dict.fromkeys(name for part in parts for name in part))
    joined: Columns = {name: [] for name in names}
    for part in parts:
        n_rows = len(next(iter(part.values()), []))
        for name in names:
            joined[name].extend(part.get(name, [""] * n_rows))
    return joined
