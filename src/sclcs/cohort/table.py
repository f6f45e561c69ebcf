"""The table of samples: one row of facts per sample, kept without loss as CSV.

An empty string means "missing" in every label table we know, so empty and missing are
the same thing here; that makes CSV with a list of column types lossless.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import numpy as np
import pandas as pd

from sclcs.core.errors import InputError, UnknownNameError, name_first

__all__ = ["clean_table", "column_kinds", "label_column", "table_from_csv", "table_to_csv"]

REQUIRED = ("subject", "window")


def clean_table(samples: pd.DataFrame) -> pd.DataFrame:
    """Check a table of samples and give its columns plain types.

    Parameters
    ----------
    samples : DataFrame
        Indexed by sample id, with at least `subject` and `window`.

    Returns
    -------
    DataFrame
        A copy with string ids and subjects, int64 windows, and every other column as
        int64, float64, bool or string (object, missing as None).
    """
    missing = [name for name in REQUIRED if name not in samples.columns]
    if missing:
        raise InputError(
            f"The table of samples needs the columns {', '.join(REQUIRED)}, "
            f"but {name_first(missing)} is not there; it has {name_first(samples.columns, 10)}."
        )
    table = pd.DataFrame(index=pd.Index(samples.index.astype(str), name="sample_id", dtype=object))
    for name in samples.columns:
        table[str(name)] = _plain(samples[name]).to_numpy()
    table["subject"] = pd.Series(_as_strings(samples["subject"]), index=table.index, dtype=object)
    table["window"] = samples["window"].to_numpy(dtype=np.int64)
    _check_ids(table)
    return table


def _check_ids(table: pd.DataFrame) -> None:
    repeated = table.index[table.index.duplicated()].unique()
    if len(repeated):
        raise InputError(
            f"Sample ids must be unique, but these are repeated: {name_first(repeated)}; "
            "give every sample its own id."
        )
    nameless = table.index[table["subject"].isna()]
    if len(nameless):
        raise InputError(f"Every sample needs a subject; missing for {name_first(nameless)}.")


def _as_strings(column: pd.Series) -> list[str | None]:
    return [None if pd.isna(value) or str(value) == "" else str(value) for value in column]


def _plain(column: pd.Series) -> pd.Series:
    if pd.api.types.is_bool_dtype(column.dtype) and not column.isna().any():
        return column.astype(bool)
    if pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
        return column.astype(np.int64)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(np.float64)
    return pd.Series(_as_strings(column), dtype=object)


def column_kinds(table: pd.DataFrame) -> dict[str, str]:
    """Return the plain type of each column: int64, float64, bool or string."""
    names = {"i": "int64", "f": "float64", "b": "bool"}
    return {str(name): names.get(table[name].dtype.kind, "string") for name in table.columns}


def table_to_csv(table: pd.DataFrame) -> str:
    """Write the table as CSV text that :func:`table_from_csv` reads back exactly."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["sample_id", *table.columns])
    columns = [_cells(table[name]) for name in table.columns]
    writer.writerows(zip(table.index, *columns, strict=True))
    return out.getvalue()


def _cells(column: pd.Series) -> list[str]:
    if column.dtype.kind == "f":
        return ["" if np.isnan(value) else repr(float(value)) for value in column]
    return ["" if value is None else str(value) for value in column.tolist()]


def table_from_csv(text: str, kinds: Mapping[str, str]) -> pd.DataFrame:
    """Read a table written by :func:`table_to_csv`."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    header, body = rows[0], rows[1:]
    cells = list(zip(*body, strict=True)) if body else [()] * len(header)
    index = pd.Index(list(cells[0]), name="sample_id", dtype=object)
    table = pd.DataFrame(index=index)
    for name, column in zip(header[1:], cells[1:], strict=True):
        table[name] = _parse(column, kinds[name])
    return table


def _parse(cells: tuple[str, ...], kind: str) -> np.ndarray:
    if kind == "int64":
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    if kind == "float64":
        return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    if kind == "bool":
        return np.array([cell == "True" for cell in cells], dtype=np.bool_)
    values = np.empty(len(cells), dtype=object)
    values[:] = [cell or None for cell in cells]
    return values


def label_column(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column, or raise an error that lists the known ones."""
    if name not in table.columns:
        raise UnknownNameError(
            f"There is no column {name!r} in the cohort; known columns are "
            f"{name_first(table.columns, 20)}."
        )
    return table[name]
