"""Facts of scans besides their signals: head motion, and labels that arrive later."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from sclcs._core import (
    DamagedStoreError,
    InputError,
    atomic_directory,
    name_first,
    refuse_existing,
    track,
)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.columns import ColumnRules, read_columns
from sclcs.cohort.labels import LabelTable, match_ids, read_label_table
from sclcs.cohort.motion import with_mean_fd
from sclcs.cohort.problems import raise_for
from sclcs.cohort.signals import LENGTH_COLUMN, fingerprints, iterate_rows, padded
from sclcs.cohort.storage import CohortWriter, aside_path, replace_samples
from sclcs.cohort.tables import clean_table

__all__ = [
    "LabelBy",
    "Relabelled",
    "join_cohorts",
    "label_cohort",
]


LabelBy = Literal["subject", "scan", "sample"]


@dataclass(frozen=True)
class Relabelled:
    """What was done to a cohort.

    Parameters
    ----------
    source : str
        The table.
    id_column, by : str
        Its column of ids, and what they name: subjects, scans or samples.
    added, replaced : list of str
        Columns of the cohort.
    unlabelled : list of str
        Subjects (scans, samples) that the table does not know.
    unused : int
        Rows of the table that no sample has.
    fingerprint_before : str
        Of the cohort as it was.
    """

    source: str
    id_column: str
    by: str
    added: list[str]
    replaced: list[str]
    unlabelled: list[str]
    unused: int
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
    """Add the columns of a table to a stored cohort, or replace them.

    The signals stay as they are. The table of samples, its types, the fingerprint, the seal and
    the provenance are replaced together: interrupted, the cohort is the old one or the new one
    (or, in the instant between, put back by the next call). Results that were made before keep
    the old fingerprint.

    Parameters
    ----------
    path : path-like
        The cohort.
    table : path-like or LabelTable
        A csv, tsv or xlsx file with one row per subject, scan or sample. Whole columns of
        numbers become numbers, ids keep their zeros, motion becomes ``mean_fd``. Without one,
        the columns that `levels` and `missing` name are read again as they are in the cohort.
    id_column : str, optional
        The column of ids; recognised by its name if not given.
    by : {"subject", "scan", "sample"}, optional
        What the ids name; by default the first of these that they match.
    columns : sequence of str, optional
        Take these columns only, as they are named in the cohort.
    partial : bool
        Allow subjects without a row: they keep what they have, or are unknown in new columns.
    levels, missing : sequence of str
        The classes of columns, and what else means not known in them: ``["group=HC,None"]``.

    Returns
    -------
    cohort : Cohort
        Opened anew.
    done : Relabelled

    Examples
    --------
    ``label_cohort("study.zarr", "symptoms.csv", id_column="subject")``
    """
    _restore(path)
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
    facts = [with_mean_fd(row) for row in labels.facts(without={column})]
    found = _chosen(facts, columns)
    old = cohort.samples
    new = old.copy()
    joined = {
        name: [
            facts[row_of[key]][name] if key in row_of else _kept(old, name, sample)
            for key, sample in zip(keys, old.index, strict=True)
        ]
        for name in found
    }
    rules = ColumnRules.of(levels, missing, labels.sidecar)
    values, told, problems = read_columns(joined, rules)
    raise_for(problems)
    for name in found:
        new[name] = pd.Series(values[name], index=old.index).infer_objects()
    done = Relabelled(
        str(labels.source),
        column,
        named,
        [name for name in found if name not in old.columns],
        [name for name in found if name in old.columns],
        unlabelled,
        len(labels) - len({row_of[key] for key in keys if key in row_of}),
        cohort.fingerprint,
    )
    return _write(path, cohort, clean_table(new), done, told), done


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
    told: Mapping[str, Any],
) -> Cohort:
    before, content = fingerprints(
        cohort.signals, (cohort.samples, samples), cohort.regions, cohort.tr
    )
    if before != cohort.fingerprint:
        raise DamagedStoreError(
            f"The signals of {path} are not those it was made with (fingerprint {before[:8]}, "
            f"expected {cohort.fingerprint[:8]}); import the cohort again."
        )
    history = [*cohort.provenance.get("relabelled", []), asdict(done)]
    columns = {**cohort.provenance.get("columns", {}), **told}
    changes = {"relabelled": history, "columns": columns}
    replace_samples(path, samples, content, cohort.provenance | changes)
    return Cohort.open(path)


def _restore(path: str | os.PathLike[str]) -> None:
    """Put a cohort back that was interrupted in the instant in which it was replaced."""
    aside = aside_path(path)
    if aside.exists() and not Path(path).exists():
        aside.rename(Path(path).absolute())


def _kept(samples: pd.DataFrame, name: str, sample: str) -> Any:  # noqa: ANN401
    return samples.loc[sample, name] if name in samples.columns else None


def _chosen(facts: Sequence[Mapping[str, Any]], columns: Sequence[str] | None) -> list[str]:
    found = list(facts[0]) if facts else []
    unknown = [name for name in columns or () if name not in found]
    if unknown:
        raise InputError(
            f"The table has no column {name_first(unknown)}; it has {name_first(found, 20)}."
        )
    if not found:
        raise InputError("Expected a table with a column of ids and at least one more.")
    return list(columns) if columns else found


def _keys(samples: pd.DataFrame, by: str) -> list[str]:
    if by == "sample":
        return list(samples.index)
    return [str(name) for name in samples[by]]


def _match(
    samples: pd.DataFrame, labels: LabelTable, by: LabelBy | None
) -> tuple[LabelBy, dict[str, int]]:
    """Say what the ids name, and in which row every one of them is."""
    if by is not None and by not in get_args(LabelBy):
        raise InputError(f"A table names subjects, scans or samples, not {by!r}.")
    tried: list[LabelBy] = [by] if by else ["subject", "scan", "sample"]
    tried = [kind for kind in tried if kind == "sample" or kind in samples.columns]
    ids = labels.ids("subject")
    for kind in tried:
        found = match_ids(_keys(samples, kind), ids)
        if found:
            return kind, found
    raise InputError(
        f"No id in the column {labels.id_column} of {labels.source} is in the cohort: it has "
        f"{name_first(ids)}, subjects are {name_first(samples['subject'].unique())}; choose the "
        "column with --id (id_column=)."
    )


def join_cohorts(parts: Mapping[str, Cohort], out: str | os.PathLike[str]) -> Cohort:
    """Write cohorts of the same regions as one, sample by sample.

    Parameters
    ----------
    parts : mapping of str to Cohort
        By a name that messages can use; their samples must have different identifiers.
    out : path-like
        A new folder.

    Returns
    -------
    Cohort
        Its provenance names the fingerprint of every part.
    """
    _check_alike(parts)
    refuse_existing(out)
    cohorts = list(parts.values())
    longest = max(cohort.n_timepoints for cohort in cohorts)
    with atomic_directory(out) as folder:
        writer = CohortWriter(folder, cohorts[0].n_regions, longest)
        for cohort in track(cohorts, "Joining cohorts"):
            for block in iterate_rows(cohort.signals):
                writer.append(padded(block, longest))
        writer.finish(_joined_table(cohorts), cohorts[0].regions, cohorts[0].tr, _provenance(parts))
    return Cohort.open(out)


def _check_alike(parts: Mapping[str, Cohort]) -> None:
    if not parts:
        raise InputError("Expected at least one cohort to join, found none.")
    first_name, first = next(iter(parts.items()))
    for name, cohort in parts.items():
        for what, own, others in (
            ("regions", tuple(cohort.regions), tuple(first.regions)),
            ("a repetition time", cohort.tr, first.tr),
        ):
            if own != others:
                raise InputError(
                    f"{name} has other {what.removeprefix('a ')} than {first_name}; make both "
                    "with the same atlas and settings."
                )
    ids = pd.Index([name for cohort in parts.values() for name in cohort.sample_ids])
    if ids.has_duplicates:
        twice = name_first(sorted(set(ids[ids.duplicated()])))
        raise InputError(f"Samples occur in more than one cohort: {twice}.")


def _joined_table(cohorts: list[Cohort]) -> pd.DataFrame:
    """Join the tables; lengths are written where samples differ in length."""
    tables = []
    lengths = {int(length) for cohort in cohorts for length in set(cohort.lengths.tolist())}
    for cohort in cohorts:
        table = cohort.samples
        if len(lengths) > 1:
            table = table.assign(**{LENGTH_COLUMN: cohort.lengths})
        tables.append(table)
    return pd.concat(tables)


def _provenance(parts: Mapping[str, Cohort]) -> dict[str, Any]:
    fingerprints = {name: cohort.fingerprint for name, cohort in parts.items()}
    return {"source": "joined cohorts", "parts": fingerprints}
