"""Reading csv, tsv and xlsx tables as text, cell by cell."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sclcs.cohort.damage import explain_damage
from sclcs.core.errors import InputError, UnreadableFileError, name_first
from sclcs.core.files import require_existing
from sclcs.core.gate import read_text_input

__all__ = ["read_table_file"]

_TEXT_SUFFIXES = {".csv", ".tsv", ".txt"}
_EXCEL_SUFFIXES = {".xlsx", ".xlsm"}

Columns = dict[str, list[str]]


def read_table_file(path: Path, *, all_sheets: bool = False) -> Columns:
    """Read a table; the first row names the columns.

    Parameters
    ----------
    path : Path
        A csv, tsv, txt or xlsx file.
    all_sheets : bool
        Whether the sheets of an xlsx file are parts of one table, joined by column name;
        otherwise the first sheet is read.

    Returns
    -------
    dict of str to list of str
        The cells of each column. Rows without any content are left out.
    """
    require_existing(path, "table of labels")
    suffix = path.suffix.lower()
    if suffix in _TEXT_SUFFIXES:
        return _columns(_text_rows(path), path)
    if suffix in _EXCEL_SUFFIXES:
        sheets = _excel_sheets(path)
        filled = [rows for rows in sheets if _has_content(rows)] if all_sheets else sheets[:1]
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


def _excel_sheets(path: Path) -> list[list[list[str]]]:
    import warnings

    import openpyxl

    with explain_damage(path, "an Excel workbook"), warnings.catch_warnings():
        # Styles and validations it cannot keep do not matter: only values are read.
        warnings.simplefilter("ignore", UserWarning)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            return [_sheet_rows(sheet.iter_rows(values_only=True)) for sheet in book.worksheets]
        finally:
            book.close()


def _sheet_rows(rows: Iterable[Sequence[Any]]) -> list[list[str]]:
    texts = [[_cell_text(value) for value in row] for row in rows]
    width = max(map(len, texts), default=0)
    return [row + [""] * (width - len(row)) for row in texts]  # empty cells may not be stored


def _has_content(rows: Sequence[Sequence[str]]) -> bool:
    return any(cell.strip() for row in rows for cell in row)


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
    names = [name or f"unnamed_{place}" for place, name in enumerate(header)]
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
