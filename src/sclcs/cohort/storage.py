"""A cohort on disk: a Zarr v3 group and, beside the arrays, a CSV that a person can read.

::

    cohort.zarr/
        zarr.json         kind, format, regions, TR, fingerprint, provenance
        samples.csv       one row of facts per sample
        signals/          float32 (sample, region, time), about 1 MiB per chunk, CRC-32C
        truth/            only for simulated cohorts: the effects they were made from
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sclcs
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.fingerprint import FingerprintBuilder
from sclcs.cohort.lengths import LENGTH_COLUMN, sample_lengths
from sclcs.cohort.signals import LazySignals, iterate_rows
from sclcs.cohort.simulation.truth import GroundTruth, read_truth, write_truth
from sclcs.cohort.table import clean_table, column_kinds, table_from_csv, table_to_csv
from sclcs.core.errors import DamagedStoreError, UnreadableFileError
from sclcs.core.files import atomic_directory
from sclcs.store import create_array, create_group, open_group, rows_per_chunk

__all__ = ["CohortWriter", "open_cohort", "save_cohort"]

KIND = "cohort"
FORMAT_VERSION = 2
#: Readable by the first releases too: all samples have one length.
EQUAL_LENGTHS_VERSION = 1
SAMPLES_FILE = "samples.csv"


class CohortWriter:
    """Append samples to a new cohort folder, one whole chunk at a time.

    Parameters
    ----------
    folder : Path
        A new, empty folder.
    n_regions, n_timepoints : int
        Shape of every sample.
    """

    def __init__(self, folder: Path, n_regions: int, n_timepoints: int) -> None:
        self._folder = folder
        self._group = create_group(folder)
        self._rows = rows_per_chunk(n_regions * n_timepoints * 4)
        self._array = create_array(
            self._group,
            "signals",
            (0, n_regions, n_timepoints),
            np.float32,
            chunks=(self._rows, n_regions, n_timepoints),
            dimensions=("sample", "region", "time"),
        )
        self._hash = FingerprintBuilder()
        self._waiting: list[NDArray[np.float32]] = []
        self._n_waiting = 0

    def append(self, block: NDArray[np.float32]) -> None:
        """Add samples (sample, region, time); whole chunks are written at once."""
        self._hash.add_signals(block)
        self._waiting.append(block)
        self._n_waiting += len(block)
        if self._n_waiting >= self._rows:
            self._write(self._n_waiting - self._n_waiting % self._rows)

    def finish(
        self,
        samples: pd.DataFrame,
        regions: Sequence[str],
        tr: float | None,
        provenance: Mapping[str, Any],
        truth: GroundTruth | None = None,
    ) -> None:
        """Write the rest and the facts."""
        self._write(self._n_waiting)
        table = clean_table(samples)
        with (self._folder / SAMPLES_FILE).open("w", encoding="utf-8", newline="") as file:
            file.write(table_to_csv(table))
        if truth is not None:
            write_truth(self._group, truth)
        self._group.attrs.update(
            {
                "sclcs_kind": KIND,
                "format_version": FORMAT_VERSION
                if LENGTH_COLUMN in table
                else EQUAL_LENGTHS_VERSION,
                "sclcs_version": sclcs.__version__,
                "fingerprint": self._hash.finish(table, regions, tr),
                "columns": column_kinds(table),
                "regions": list(regions),
                "tr": tr,
                "provenance": dict(provenance),
            }
        )

    def _write(self, count: int) -> None:
        if not count:
            return
        waiting = np.concatenate(self._waiting)
        start = self._array.shape[0]
        self._array.resize((start + count, *self._array.shape[1:]))
        self._array[start : start + count] = waiting[:count]
        self._waiting = [waiting[count:]]
        self._n_waiting = len(waiting) - count


def save_cohort(cohort: Cohort, path: str | os.PathLike[str]) -> Path:
    """Write a cohort to a new folder; see :meth:`Cohort.save`."""
    with atomic_directory(path) as folder:
        writer = CohortWriter(folder, cohort.n_regions, cohort.n_timepoints)
        for block in iterate_rows(cohort.signals):
            writer.append(block)
        writer.finish(cohort.samples, cohort.regions, cohort.tr, cohort.provenance, cohort.truth)
    return Path(path)


def open_cohort(path: str | os.PathLike[str]) -> Cohort:
    """Open a stored cohort without reading its signals; see :meth:`Cohort.open`."""
    group = open_group(path, KIND)
    attrs = dict(group.attrs)
    if attrs["format_version"] > FORMAT_VERSION:  # type: ignore[operator]
        raise UnreadableFileError(
            f"{path} was written by sclcs {attrs['sclcs_version']} in a newer format; "
            "update sclcs to read it."
        )
    try:
        text = (Path(path) / SAMPLES_FILE).read_bytes().decode("utf-8")
        samples = table_from_csv(text, attrs["columns"])  # type: ignore[arg-type]
        stored = group["signals"]
        lengths = None
        if LENGTH_COLUMN in samples:
            lengths = sample_lengths(samples, int(stored.shape[2]))  # type: ignore[union-attr]
        cohort = Cohort(
            LazySignals(stored, lengths=lengths),
            samples,
            attrs["regions"],  # type: ignore[arg-type]
            attrs["tr"],  # type: ignore[arg-type]
            provenance=attrs["provenance"],  # type: ignore[arg-type]
            truth=read_truth(group),
        )
    except (OSError, KeyError, ValueError) as error:
        raise DamagedStoreError(
            f"The cohort at {path} is incomplete or damaged ({error}); "
            "make it again from its source."
        ) from error
    cohort.fingerprint = str(attrs["fingerprint"])  # fills the cached property
    return cohort
