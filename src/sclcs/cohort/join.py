"""Cohorts that were made one by one (a participant each) become one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pandas as pd

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.lengths import LENGTH_COLUMN, padded
from sclcs.cohort.signals import iterate_rows
from sclcs.cohort.storage import CohortWriter
from sclcs.core.errors import InputError, name_first
from sclcs.core.files import atomic_directory, refuse_existing
from sclcs.core.progress import track

__all__ = ["join_cohorts"]


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
