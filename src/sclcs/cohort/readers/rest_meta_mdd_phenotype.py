"""Ids and the phenotype table of REST-meta-MDD."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sclcs.cohort.labels import LabelTable, read_label_table
from sclcs.core.errors import InputError, name_first

__all__ = ["Identity", "parse_id", "read_phenotype"]

_ID = re.compile(r"S(?P<site>\d+)-(?P<group>[12])-(?P<number>\d+)")
_DIAGNOSES = {"1": "MDD", "2": "HC"}

_SITE_COLUMNS = ("site", "center", "centre", "site_id")
_GROUP_COLUMNS = ("group", "diagnosis", "dx", "if_mdd", "dx_group")
# Tables in circulation code controls as 2 (like the ids), -1 (the consortium's) or 0.
_GROUP_WORDS = {
    "1": "MDD",
    "mdd": "MDD",
    "patient": "MDD",
    "2": "HC",
    "-1": "HC",
    "0": "HC",
    "hc": "HC",
    "nc": "HC",
    "control": "HC",
    "controls": "HC",
}
_NOT_KNOWN = re.compile(r"-9999(\.0*)?")


@dataclass(frozen=True)
class Identity:
    """What a subject id of the consortium says.

    Parameters
    ----------
    subject : str
        The id, for example ``"S20-1-0001"``.
    site : str
        ``"20"``.
    diagnosis : str
        ``"MDD"`` or ``"HC"``.
    """

    subject: str
    site: str
    diagnosis: str


def parse_id(text: str) -> Identity | None:
    """Take a subject id apart; None if it is not one."""
    match = _ID.fullmatch(text.strip())
    if match is None:
        return None
    return Identity(match.group(), match["site"], _DIAGNOSES[match["group"]])


def read_phenotype(path: str | os.PathLike[str], sites: Sequence[str] | None = None) -> LabelTable:
    """Read the phenotype table and check it against the ids.

    Parameters
    ----------
    path : path-like
        A csv, tsv or xlsx file; the consortium's xlsx has one sheet for patients and one
        for controls.
    sites : sequence of str, optional
        Sites to keep; all if not given.

    Returns
    -------
    LabelTable
        Without the columns of site and group, which the ids already say; -9999 is missing.
    """
    table = read_label_table(path, all_sheets=True)
    id_column = table.find_id_column("subject")
    ids = table.ids("subject")
    identities = [parse_id(name) for name in ids]
    strange = [name for name, identity in zip(ids, identities, strict=True) if identity is None]
    if strange:
        raise InputError(
            f"Expected ids such as S20-1-0001 in the column {id_column} of {table.source}, found "
            f"{name_first(strange)}; correct or remove these rows."
        )
    known = [identity for identity in identities if identity is not None]
    rows = [i for i, identity in enumerate(known) if sites is None or identity.site in sites]
    table = replace(table, id_column=id_column).keep_rows(rows)
    checked = _require_agreement(table, [known[row] for row in rows])
    columns = {
        name: ["" if _NOT_KNOWN.fullmatch(cell.strip()) else cell for cell in cells]
        for name, cells in table.columns.items()
        if name not in checked
    }
    return replace(table, columns=columns)


def _require_agreement(table: LabelTable, identities: Sequence[Identity]) -> set[str]:
    """Compare site and group columns with the ids; return the columns compared."""
    site_column = table.column_like(_SITE_COLUMNS)
    group_column = table.column_like(_GROUP_COLUMNS)
    wrong: list[str] = []
    for row, identity in enumerate(identities):
        if site_column is not None:
            site = table.columns[site_column][row].strip().removeprefix("S")
            if site.lstrip("0") != identity.site.lstrip("0"):
                wrong.append(f"{identity.subject} (site {site or 'empty'})")
        if group_column is not None:
            group = table.columns[group_column][row].strip()
            if _GROUP_WORDS.get(group.lower()) != identity.diagnosis:
                wrong.append(f"{identity.subject} ({group_column} {group or 'empty'})")
    if wrong:
        raise InputError(
            f"Expected site and group in {table.source} to agree with the ids "
            f"(S<site>-<group>-<number>, group 1 = MDD, 2 = HC), but they differ for "
            f"{name_first(wrong)}; correct the table or the ids."
        )
    return {column for column in (site_column, group_column) if column is not None}
