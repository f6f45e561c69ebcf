"""Tables of labels: joined to scans by ids when they are read, or to a cohort later.

Every cell is read as a string first, so ids keep their leading zeros. A column becomes
numeric only if that loses nothing: ``"007"`` stays text.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from sclcs._core import (
    DamagedStoreError,
    InputError,
    UnknownNameError,
    did_you_mean,
    name_first,
    read_json,
)
from sclcs.cohort.columns import ColumnRules, plain_values, read_columns
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.scans import Scans
from sclcs.cohort.signals import fingerprints
from sclcs.cohort.storage import aside_path, replace_samples
from sclcs.cohort.tables import clean_table, peek_columns, read_table_file

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort


By = Literal["subject", "scan"]
LabelBy = Literal["subject", "scan", "sample"]

# Compared in lower case without spaces, dots, dashes and underscores; the first found is used.
_SUBJECT_COLUMNS = (
    "participantid", "subjectid", "subid", "subject", "participant", "sub", "eid", "id",
)  # fmt: skip
_SCAN_COLUMNS = ("scanid", "fileid", "scan", "filename", "file")
#: What tables of phenotypes call mean framewise displacement; the first found is used.
_MOTION_COLUMNS = (
    "meanfd", "funcmeanfd", "fdmean", "meanfdpower", "meanfdjenkinson",
    "meanframewisedisplacement", "framewisedisplacementmean",
)  # fmt: skip
MEAN_FD = "mean_fd"
#: Columns that a cohort makes itself; a label of that name would overwrite them.
_RESERVED = frozenset({"sample_id", "subject", "window", "scan", "start", "n_timepoints"})


@dataclass(frozen=True)
class LabelTable:
    """A table of labels as it is in the file: strings, column by column.

    The column of ids is found by its name if it is not given. The sidecar is what the JSON file
    beside the table says of its columns (BIDS: ``Levels``, ``Units``).
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

    def rows(self, without: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return the labels of every row: str, int, float, or None where missing.

        Without some columns, such as the ids; under the names given by :func:`column_name`.
        """
        left_out = set(without)
        kept = {name: column_name(name) for name in self.columns if name not in left_out}
        repeated = [name for name, n in Counter(kept.values()).items() if n > 1]
        if repeated:
            raise InputError(
                f"Columns of {self.source} have names that differ in case or punctuation only: "
                f"{name_first(repeated)}; rename or remove one of each."
            )
        levels = ColumnRules.of(sidecar=self.sidecar).levels
        values = {
            new: plain_values(self.columns[old], levels.get(new, ())) for old, new in kept.items()
        }
        return [{name: column[row] for name, column in values.items()} for row in range(len(self))]

    def keep_rows(self, rows: Sequence[int]) -> LabelTable:
        """Return the table with some rows only."""
        columns = {name: [cells[row] for row in rows] for name, cells in self.columns.items()}
        return replace(self, columns=columns)


def read_label_table(
    path: str | os.PathLike[str], id_column: str | None = None, *, all_sheets: bool = False
) -> LabelTable:
    """Read a table of labels from a csv, tsv, txt or xlsx file, and the sidecar beside it.

    The column of ids is recognised by its name (participant_id, subject, SubID, scan_id, ...) if it
    is not given. The sheets of an xlsx file may be parts of one table; otherwise the first sheet is
    read.
    """
    path = Path(path)
    columns = read_table_file(path, all_sheets=all_sheets)
    beside = path.with_suffix(".json")
    content = read_json(beside) if beside.is_file() else {}
    sidecar = {column_name(name): said for name, said in content.items() if isinstance(said, dict)}
    return LabelTable(path, columns, id_column, sidecar)


def has_id_column(path: Path) -> bool:
    """Tell from the first row of a file whether it may be a table of labels."""
    table = LabelTable(path, dict.fromkeys(peek_columns(path), ()))
    return table.subject_column() is not None or table.scan_column() is not None


def names_any(table: LabelTable, names: Iterable[str]) -> bool:
    """Tell whether a table names any of some subjects or scans."""
    wanted = {_canonical(name) for name in names}
    columns = {table.id_column, table.subject_column(), table.scan_column()} - {None}
    cells = (cell for column in columns for cell in table.columns[str(column)])
    return any(_canonical(cell.strip()) in wanted for cell in cells)


def column_name(column: str) -> str:
    """Return the name under which a column of labels is kept in a cohort.

    Examples
    --------
    >>> column_name("Education (years)"), column_name("window")
    ('education_years', 'window_label')
    """
    name = re.sub(r"\W+", "_", column.strip()).strip("_").lower() or "unnamed"
    return f"{name}_label" if name in _RESERVED else name


def _bare(name: object) -> str:
    return re.sub(r"[\W_]+", "", str(name)).lower()


def with_mean_fd(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Give motion its name: the first column that tables call motion becomes ``mean_fd``.

    Examples
    --------
    >>> with_mean_fd({"func_mean_fd": 0.12, "age": 31})
    {'mean_fd': 0.12, 'age': 31}
    """
    if MEAN_FD in metadata:
        return dict(metadata)
    bare = {_bare(name): name for name in metadata}
    found = next((bare[name] for name in _MOTION_COLUMNS if name in bare), None)
    return {MEAN_FD if name == found else name: value for name, value in metadata.items()}


def attach_labels(scans: Scans, table: LabelTable, by: By | None = None) -> Scans:
    """Give each scan the labels of its row; scans and rows without the other are problems.

    An id matches the same id. If there is no such row, ``sub-`` or ``Subject`` in front and leading
    zeros of a number are ignored (``sub-0050003`` and ``50003``), but only where exactly one
    row and one subject (or scan) then remain; anything ambiguous counts as missing. By default the
    table names scans if any row does, else subjects. By scan, a subject column also says whose
    scan it is.
    """
    if by is None:
        named = [cell.strip() for cell in table.columns[table.find_id_column("scan")]]
        by = "scan" if match_ids([scan.scan_id for scan in scans], named) else "subject"
    keys = [scan.subject if by == "subject" else scan.scan_id for scan in scans]
    ids = table.ids(by)
    row_of = match_ids(keys, ids)
    id_column = table.find_id_column(by)
    if keys and not row_of:
        raise InputError(
            f"Expected ids of the scans in the column {id_column} of {table.source}, but none "
            f"matches: scans are named {name_first(keys)}, rows {name_first(ids)}; choose the "
            "column with --id-column (id_column=...)."
        )
    subject_column = table.subject_column() if by == "scan" else None
    if subject_column == id_column:
        subject_column = None
    rows = table.rows(without={id_column, *([subject_column] if subject_column else [])})
    kept = []
    for scan, key in zip(scans, keys, strict=True):
        if key not in row_of:
            continue
        row = rows[row_of[key]]
        labels = row if MEAN_FD in scan.metadata else with_mean_fd(row)
        subject = table.columns[subject_column][row_of[key]].strip() if subject_column else ""
        metadata = {**scan.metadata, **labels}
        kept.append(replace(scan, subject=subject or scan.subject, metadata=metadata))
    source: dict[str, Any] = {"source": str(table.source), "id_column": id_column, "by": by}
    if table.sidecar:
        source["sidecar"] = dict(table.sidecar)
    used, name = set(row_of.values()), table.source.name
    missing = [
        Problem("missing-label", scan.scan_id, f"no row for {key} in {name}")
        for scan, key in zip(scans, keys, strict=True)
        if key not in row_of
    ]
    extra = [
        Problem("extra-label", one, f"row of {name}")
        for row, one in enumerate(ids)
        if row not in used
    ]
    provenance = {**scans.provenance, "labels": source}
    problems = [*scans.problems, *missing, *extra]
    return scans.with_scans(kept, provenance=provenance, problems=problems)


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
    bare = re.sub(r"^(sub-|sub(ject)?[_-]?(?=\d))", "", name, flags=re.IGNORECASE)
    return bare.lstrip("0") or "0" if bare.isdigit() else bare


@dataclass(frozen=True)
class Relabelled:
    """What was done to a cohort."""

    source: str  # the table
    id_column: str
    by: str  # what its ids name: subject, scan or sample
    added: list[str]  # columns
    replaced: list[str]
    unlabelled: list[str]  # subjects (scans, samples) that the table does not know
    unused: int  # rows that no sample has
    fingerprint_before: str


def label_cohort(
    path: str | os.PathLike[str],
    table: str | os.PathLike[str] | LabelTable | None = None,
    *,
    id_column: str | None = None,
    by: LabelBy | None = None,
    columns: Sequence[str] | None = None,
    partial: bool = False,
    levels: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> tuple[Cohort, Relabelled]:
    """Add the columns of a table to a stored cohort, or replace them; opened anew it is returned.

    The table has one row per subject, scan or sample (`by`; the first of these that its ids match).
    Whole columns of numbers become numbers, ids keep their zeros, motion becomes ``mean_fd``.
    Subjects without a row are an error, or with `partial` keep what they have. Without a table the
    columns that `levels` and `missing` (``["group=HC,None"]``) name are read again.

    The signals stay as they are. The table of samples, its types, the fingerprint, the seal and
    the provenance are replaced together: interrupted, the cohort is the old one or the new one
    (or, in the instant between, put back by the next call). Results that were made before keep
    the old fingerprint.

    Examples
    --------
    ``label_cohort("study.zarr", "symptoms.csv", id_column="subject")``
    """
    from sclcs.cohort.cohort import Cohort

    aside = aside_path(path)
    if aside.exists() and not Path(path).exists():  # interrupted in the instant between
        aside.rename(Path(path).absolute())
    cohort = Cohort.open(path)
    if table is None:
        table = _own_table(cohort, ColumnRules.of(levels, missing).asked)
    labels = table if isinstance(table, LabelTable) else read_label_table(table, id_column)
    column = labels.find_id_column("scan" if by == "scan" else "subject")
    labels = replace(labels, id_column=column)
    named, row_of = _match(cohort.samples, labels, by)
    keys = _keys(cohort.samples, named)
    unlabelled = sorted({key for key in keys if key not in row_of})
    if unlabelled and not partial:
        raise InputError(
            f"{labels.source} has no row for {len(unlabelled)} {named}s of the cohort: "
            f"{name_first(unlabelled)}; add the rows, or allow it with --partial (partial=True)."
        )
    rows = [with_mean_fd(row) for row in labels.rows(without={column})]
    chosen = _chosen(rows, columns)
    old = cohort.samples
    kept = {name: old[name].tolist() if name in old else [None] * len(old) for name in chosen}
    joined = {
        name: [
            rows[row_of[key]][name] if key in row_of else before
            for key, before in zip(keys, kept[name], strict=True)
        ]
        for name in chosen
    }
    rules = ColumnRules.of(levels, missing, labels.sidecar)
    values, profiles, problems = read_columns(joined, rules)
    raise_for(problems)
    new = old.copy()
    for name in chosen:
        new[name] = pd.Series(values[name], index=old.index).infer_objects()
    done = Relabelled(
        str(labels.source),
        column,
        named,
        [name for name in chosen if name not in old.columns],
        [name for name in chosen if name in old.columns],
        unlabelled,
        len(labels) - len({row_of[key] for key in keys if key in row_of}),
        cohort.fingerprint,
    )
    return _write(path, cohort, clean_table(new), done, profiles), done


def _own_table(cohort: Cohort, names: Sequence[str]) -> LabelTable:
    """Return columns of a cohort as a table by samples."""
    if not names:
        raise InputError("Expected a table of labels, or --levels or --missing of some column.")
    cells = {
        name: ["" if pd.isna(value) else str(value) for value in cohort.labels(name)]
        for name in names
    }
    columns = {"sample_id": cohort.sample_ids, **cells}
    return LabelTable(Path("samples.csv"), columns, "sample_id")


def _write(
    path: str | os.PathLike[str],
    cohort: Cohort,
    samples: pd.DataFrame,
    done: Relabelled,
    profiles: Mapping[str, Any],
) -> Cohort:
    tables = (cohort.samples, samples)
    before, content = fingerprints(cohort.signals, tables, cohort.regions, cohort.tr)
    if before != cohort.fingerprint:
        raise DamagedStoreError(
            f"The signals of {path} are not those it was made with (fingerprint {before[:8]}, "
            f"expected {cohort.fingerprint[:8]}); import the cohort again."
        )
    history = [*cohort.provenance.get("relabelled", []), asdict(done)]
    columns = {**cohort.provenance.get("columns", {}), **profiles}
    changes = {"relabelled": history, "columns": columns}
    replace_samples(path, samples, content, cohort.provenance | changes)
    return type(cohort).open(path)


def _chosen(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None) -> list[str]:
    found = list(rows[0]) if rows else []
    unknown = [name for name in columns or () if name not in found]
    if unknown:
        raise InputError(
            f"The table has no column {name_first(unknown)}; it has {name_first(found, 20)}."
        )
    if not found:
        raise InputError("Expected a table with a column of ids and at least one more.")
    return list(columns) if columns else found


def _keys(samples: pd.DataFrame, by: str) -> list[str]:
    return list(samples.index) if by == "sample" else [str(name) for name in samples[by]]


def _match(
    samples: pd.DataFrame, labels: LabelTable, by: LabelBy | None
) -> tuple[LabelBy, dict[str, int]]:
    """Say what the ids name, and in which row every one of them is."""
    if by is not None and by not in get_args(LabelBy):
        raise InputError(f"A table names subjects, scans or samples, not {by!r}.")
    tried: list[LabelBy] = [by] if by else ["subject", "scan", "sample"]
    ids = labels.ids("subject")
    for kind in tried:
        if kind != "sample" and kind not in samples.columns:
            continue
        found = match_ids(_keys(samples, kind), ids)
        if found:
            return kind, found
    raise InputError(
        f"No id in the column {labels.id_column} of {labels.source} is in the cohort: it has "
        f"{name_first(ids)}, subjects are {name_first(samples['subject'].unique())}; choose the "
        "column with --id (id_column=)."
    )
