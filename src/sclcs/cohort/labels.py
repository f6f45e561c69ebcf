"""Joining a table of labels to scans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sclcs.cohort.facts.motion import MEAN_FD, with_mean_fd
from sclcs.cohort.label_table import By, LabelTable, fact_name, read_label_table
from sclcs.cohort.problems import Problem
from sclcs.cohort.scans import Scan, Scans
from sclcs.core.errors import InputError, name_first

__all__ = ["By", "LabelTable", "attach_labels", "fact_name", "match_ids", "read_label_table"]


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
    source = {"source": str(table.source), "id_column": id_column, "by": by}
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
