"""Tables of labels as they are in a file.

Every cell is read as text first, so ids keep their leading zeros. A column becomes
numeric only if that loses nothing: ``"007"`` stays text.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sclcs._core import InputError, UnknownNameError, did_you_mean, name_first, read_json
from sclcs.cohort.columns import ColumnRules, plain_values
from sclcs.cohort.motion import MEAN_FD, with_mean_fd
from sclcs.cohort.problems import Problem
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.tables import read_table_file

__all__ = ["By", "LabelTable", "attach_labels", "fact_name", "match_ids", "read_label_table"]


By = Literal["subject", "scan"]

# Compared in lower case without spaces, dots, dashes and underscores; the first found is used.
_SUBJECT_COLUMNS = ("participantid", "subjectid", "subid", "subject", "participant", "sub", "id")
_SCAN_COLUMNS = ("scanid", "fileid", "scan", "filename", "file")

# Columns that a cohort makes itself; a label of that name would overwrite them.
_RESERVED = frozenset({"sample_id", "subject", "window", "scan", "start", "n_timepoints"})


@dataclass(frozen=True)
class LabelTable:
    """A table of labels as it is in the file: text, column by column.

    Parameters
    ----------
    source : Path
        The file, named in messages.
    columns : mapping of str to sequence of str
        The cells of each column, in file order, all of one length.
    id_column : str, optional
        The column that names the subject or scan; found by its name if not given.
    sidecar : mapping
        What the JSON file beside the table says of its columns (BIDS: ``Levels``, ``Units``),
        under the names that they have in a cohort.
    """

    source: Path
    columns: Mapping[str, Sequence[str]]
    id_column: str | None = None
    sidecar: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.id_column is not None and self.id_column not in self.columns:
            raise UnknownNameError(
                f"There is no column {self.id_column!r} in {self.source}; it has "
                f"{name_first(self.columns, 20)}.{did_you_mean(self.id_column, self.columns)}"
            )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def find_id_column(self, by: By) -> str:
        """Return the column that holds the ids of subjects or scans."""
        if self.id_column is not None:
            return self.id_column
        by_scan = (*_SCAN_COLUMNS, *_SUBJECT_COLUMNS)
        by_subject = (*_SUBJECT_COLUMNS, *_SCAN_COLUMNS)
        found = self.column_like(by_scan if by == "scan" else by_subject)
        if found is None:
            raise UnknownNameError(
                f"Expected a column of {by} ids in {self.source} (such as participant_id, subject, "
                f"SubID, scan_id or file_id), found {name_first(self.columns, 20)}; name it with "
                "--id-column (id_column=...)."
            )
        return found

    def column_like(self, names: Iterable[str]) -> str | None:
        """Return the first column with one of the names, whatever its case and separators."""
        plain: dict[str, str] = {}
        for column in self.columns:
            plain.setdefault(_bare(column), column)
        return next((plain[_bare(name)] for name in names if _bare(name) in plain), None)

    def subject_column(self) -> str | None:
        """Return the column that names the subject, if there is one."""
        return self.column_like(_SUBJECT_COLUMNS)

    def scan_column(self) -> str | None:
        """Return the column that names the scan, if there is one."""
        return self.column_like(_SCAN_COLUMNS)

    def ids(self, by: By) -> list[str]:
        """Return the id of every row; repeated or empty ids are an error."""
        column = self.find_id_column(by)
        ids = [cell.strip() for cell in self.columns[column]]
        empty = [f"data row {number}" for number, name in enumerate(ids, start=1) if not name]
        if empty:
            raise InputError(
                f"Every row of {self.source} needs an id in the column {column}; empty in "
                f"{name_first(empty)}; complete or remove these rows."
            )
        repeated = [name for name, count in Counter(ids).items() if count > 1]
        if repeated:
            raise InputError(
                f"Expected each id once in the column {column} of {self.source}, but "
                f"{len(repeated)} are repeated: {name_first(repeated)}; keep one row for each, or "
                "choose another column with --id-column (id_column=...)."
            )
        return ids

    def facts(self, without: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return the labels of every row: text, int, float, or None where missing.

        Parameters
        ----------
        without : iterable of str
            Columns to leave out, such as the ids.

        Returns
        -------
        list of dict
            One per row, under the names given by :func:`fact_name`.
        """
        left_out = set(without)
        kept = [name for name in self.columns if name not in left_out]
        repeated = [name for name, n in Counter(map(fact_name, kept)).items() if n > 1]
        if repeated:
            raise InputError(
                f"Columns of {self.source} have names that differ in case or punctuation only: "
                f"{name_first(repeated)}; rename or remove one of each."
            )
        rules = ColumnRules.of(sidecar=self.sidecar)
        values = {
            fact_name(name): plain_values(self.columns[name], rules.levels.get(fact_name(name), ()))
            for name in kept
        }
        return [{name: column[row] for name, column in values.items()} for row in range(len(self))]

    def keep_rows(self, rows: Sequence[int]) -> LabelTable:
        """Return the table with some rows only."""
        columns = {name: [cells[row] for row in rows] for name, cells in self.columns.items()}
        return replace(self, columns=columns)


def read_label_table(
    path: str | os.PathLike[str], id_column: str | None = None, *, all_sheets: bool = False
) -> LabelTable:
    """Read a table of labels from a csv, tsv, txt or xlsx file.

    Parameters
    ----------
    path : path-like
        The file; its first row names the columns. A csv may be separated by ``,`` or ``;``.
    id_column : str, optional
        The column that names the subject or scan. By default it is recognised by its name
        (participant_id, subject, sub_id, SubID, ID, scan_id, file_id, ...), whatever its case.
    all_sheets : bool
        Whether the sheets of an xlsx file are parts of one table; otherwise the first
        sheet is read.

    Returns
    -------
    LabelTable
    """
    path = Path(path)
    columns = read_table_file(path, all_sheets=all_sheets)
    beside = path.with_suffix(".json")
    told = read_json(beside) if beside.is_file() else {}
    sidecar = {fact_name(name): said for name, said in told.items() if isinstance(said, dict)}
    return LabelTable(path, columns, id_column, sidecar)


def fact_name(column: str) -> str:
    """Return the name under which a column of labels is kept in a cohort.

    Examples
    --------
    >>> fact_name("Education (years)"), fact_name("window")
    ('education_years', 'window_label')
    """
    name = re.sub(r"\W+", "_", column.strip()).strip("_").lower() or "unnamed"
    return f"{name}_label" if name in _RESERVED else name


def _bare(name: str) -> str:
    return re.sub(r"[\s._-]+", "", name).lower()


def attach_labels(scans: Scans, table: LabelTable, by: By | None = "subject") -> Scans:
    """Give each scan the labels of its row.

    An id matches the same id. If there is no such row, ``sub-`` in front and leading
    zeros of a number are ignored (``sub-0050003`` and ``50003``), but only where exactly one
    row and one subject (or scan) then remain; anything ambiguous counts as missing.

    Parameters
    ----------
    scans : Scans
        The scans.
    table : LabelTable
        The labels.
    by : {'subject', 'scan'} or None
        Which id of the scan the table names; None takes the scan if any row names one,
        else the subject. By scan, a subject column of the table also says whose scan it is.

    Returns
    -------
    Scans
        The scans that have a row, with its labels as facts (a fact of the same name is
        replaced). Scans without a row and rows without a scan are added to the problems.
    """
    by = by or _guess_by(scans, table)
    keys = _keys(scans, by)
    ids = table.ids(by)
    row_of = match_ids(keys, ids)
    id_column = table.find_id_column(by)
    if keys and not row_of:
        raise InputError(
            f"Expected ids of the scans in the column {id_column} of {table.source}, but none "
            f"matches: scans are named {name_first(keys)}, rows {name_first(ids)}; choose the "
            "column with --id-column (id_column=...)."
        )
    subjects = _subjects_of_rows(table, by)
    facts = table.facts(without={id_column, *([subjects[0]] if subjects else [])})
    kept = [
        _labelled(scan, facts[row_of[key]], subjects[1][row_of[key]] if subjects else "")
        for scan, key in zip(scans, keys, strict=True)
        if key in row_of
    ]
    problems = [
        *(p for p in scans.problems if p.kind != "duplicate-id"),  # found again by Scans
        *_label_problems(scans, keys, ids, row_of, table.source),
    ]
    source: dict[str, Any] = {"source": str(table.source), "id_column": id_column, "by": by}
    if table.sidecar:
        source["sidecar"] = dict(table.sidecar)
    return Scans(kept, scans.regions, scans.tr, {**scans.provenance, "labels": source}, problems)


def _keys(scans: Scans, by: By) -> list[str]:
    return [scan.subject if by == "subject" else scan.scan_id for scan in scans]


def _guess_by(scans: Scans, table: LabelTable) -> By:
    named = [cell.strip() for cell in table.columns[table.find_id_column("scan")]]
    return "scan" if match_ids(_keys(scans, "scan"), named) else "subject"


def match_ids(keys: Sequence[str], ids: Sequence[str]) -> dict[str, int]:
    """Return the row of each key that has one; see :func:`attach_labels`."""
    exact = {name: row for row, name in enumerate(ids)}
    alike_rows: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(ids):
        alike_rows[_canonical(name)].append(row)
    alike_keys = Counter(_canonical(key) for key in set(keys))
    rows = {}
    for key in keys:
        canonical = _canonical(key)
        if key in exact:
            rows[key] = exact[key]
        elif alike_keys[canonical] == 1 and len(alike_rows[canonical]) == 1:
            rows[key] = alike_rows[canonical][0]
    return rows


def _canonical(name: str) -> str:
    bare = name.removeprefix("sub-")
    return bare.lstrip("0") or "0" if bare.isdigit() else bare


def _subjects_of_rows(table: LabelTable, by: By) -> tuple[str, Sequence[str]] | None:
    column = table.subject_column() if by == "scan" else None
    if column is None or column == table.find_id_column(by):
        return None
    return column, table.columns[column]


def _labelled(scan: Scan, facts: Mapping[str, Any], subject: str) -> Scan:
    named = facts if MEAN_FD in scan.facts else with_mean_fd(facts)
    return replace(scan, subject=subject.strip() or scan.subject, facts={**scan.facts, **named})


def _label_problems(
    scans: Scans, keys: Sequence[str], ids: Sequence[str], row_of: Mapping[str, int], source: Path
) -> list[Problem]:
    missing = [
        Problem("missing-label", scan.scan_id, f"no row for {key} in {source.name}")
        for scan, key in zip(scans, keys, strict=True)
        if key not in row_of
    ]
    used = set(row_of.values())
    extra = [
        Problem("extra-label", name, f"row of {source.name}")
        for row, name in enumerate(ids)
        if row not in used
    ]
    return [*missing, *extra]
