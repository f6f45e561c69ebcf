"""A cohort on disk: a Zarr v3 group and, beside the arrays, a CSV that a person can read.

::

    cohort.zarr/
        zarr.json         kind, format, regions, TR, fingerprint, provenance
        samples.csv       one row of metadata per sample
        seal.json         digests of these two and of the arrays' metadata, checksums of the chunks
        signals/          float32 (sample, region, time), about 1 MiB per chunk, CRC-32C
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sclcs
from sclcs._core import (
    DamagedStoreError,
    atomic_directory,
    check_seal,
    create_array,
    create_group,
    open_group,
    require_format,
    rows_per_chunk,
    write_json,
    write_seal,
    write_text,
)
from sclcs.cohort.signals import (
    CHUNKS,
    LENGTH_COLUMN,
    FingerprintBuilder,
    LazySignals,
    chunk_checksums,
    sample_lengths,
)
from sclcs.cohort.tables import clean_table, column_kinds, table_from_csv, table_to_csv

KIND = "cohort"
FORMAT_VERSION = 1
REPAIR = (
    "Make it again from its source, or take it from a backup. (Columns are added with "
    "`sclcs cohort label`, never by hand.)"
)
SAMPLES_FILE = "samples.csv"
SIGNALS = "signals"


class CohortWriter:
    """Append samples of one shape to a new, empty folder, one whole chunk at a time."""

    def __init__(self, folder: Path, n_regions: int, n_timepoints: int) -> None:
        self._folder = folder
        self._group = create_group(folder)
        self._rows = rows_per_chunk(n_regions * n_timepoints * 4)
        self._array = create_array(
            self._group,
            SIGNALS,
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
    ) -> None:
        """Write the rest and the metadata."""
        self._write(self._n_waiting)
        table = clean_table(samples)
        write_text(self._folder / SAMPLES_FILE, table_to_csv(table, guarded=True), durable=False)
        self._group.update_attributes(
            {
                "sclcs_kind": KIND,
                "format_version": FORMAT_VERSION,
                "sclcs_version": sclcs.__version__,
                "fingerprint": self._hash.finish(table, regions, tr),
                "columns": column_kinds(table),
                "regions": list(regions),
                "tr": tr,
                "provenance": dict(provenance),
            }
        )
        seal_cohort(self._folder)

    def _write(self, count: int) -> None:
        if not count:
            return
        waiting = np.concatenate(self._waiting)
        start = self._array.shape[0]
        self._array.resize((start + count, *self._array.shape[1:]))
        self._array[start : start + count] = waiting[:count]
        self._waiting = [waiting[count:]]
        self._n_waiting = len(waiting) - count


def read_cohort(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Return what a cohort is made of again, and its fingerprint; signals are not read yet."""
    group = open_group(path, KIND, SIGNALS)
    attrs: dict[str, Any] = dict(group.attrs)
    require_format(path, attrs, FORMAT_VERSION)
    check_seal(Path(path).absolute(), KIND, REPAIR)
    with complaining(path):
        text = (Path(path) / SAMPLES_FILE).read_bytes().decode("utf-8")
        samples = table_from_csv(text, attrs["columns"])
        stored = group[SIGNALS]
        lengths = None
        if LENGTH_COLUMN in samples:
            lengths = sample_lengths(samples, int(stored.shape[2]))  # type: ignore[union-attr]
        made_of = {name: attrs[name] for name in ("regions", "tr", "provenance")}
        made_of |= {"signals": LazySignals(stored, lengths=lengths), "samples": samples}
        return made_of, str(attrs["fingerprint"])


@contextmanager
def complaining(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of whatever fails that the cohort is damaged."""
    try:
        yield
    except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise DamagedStoreError(
            f"The cohort at {path} is incomplete or damaged ({error}). {REPAIR}"
        ) from error


def seal_cohort(folder: Path) -> None:
    """Sign the small files of a cohort and name the checksums of its chunks."""
    small = [SAMPLES_FILE, *(path.relative_to(folder) for path in folder.rglob("zarr.json"))]
    write_seal(folder, map(str, small), {CHUNKS: chunk_checksums(folder / SIGNALS)})


def earlier_fingerprints(provenance: Mapping[str, Any]) -> set[str]:
    """Return the fingerprints that a cohort had before it was labelled: of the same signals."""
    return {str(step["fingerprint_before"]) for step in provenance.get("relabelled", [])}


def labelled_since(path: str | os.PathLike[str] | None, fingerprint: str) -> str:
    """Say that the cohort at a path had a fingerprint before it was labelled.

    Empty if not so, or if the cohort is not there any more.
    """
    try:
        found = json.loads((Path(path or "") / "zarr.json").read_bytes())["attributes"]
        stale = fingerprint in earlier_fingerprints(found["provenance"]) - {found["fingerprint"]}
    except (OSError, ValueError, LookupError, TypeError):
        return ""
    return (
        f"The cohort {path} was labelled since, so this is about its old labels." if stale else ""
    )


def aside_path(path: str | os.PathLike[str]) -> Path:
    """Return where a cohort is for the moment in which another one takes its place."""
    folder = Path(path).absolute()
    return folder.with_name(f".{folder.name}.before")


def replace_samples(
    path: str | os.PathLike[str],
    samples: pd.DataFrame,
    content: str,
    provenance: Mapping[str, Any],
) -> None:
    """Replace the table of samples of a stored cohort; its signals stay.

    A new folder with links to the same signals is completed beside the old one and then takes
    its place. Interrupted before, the cohort is the old one; afterwards the new one. In the
    instant between, the old one lies at :func:`aside_path`. `content` is the new fingerprint.
    """
    old, aside = Path(path).absolute(), aside_path(path)
    new = old.with_name(f"{aside.name}.new")
    shutil.rmtree(new, ignore_errors=True)  # of an attempt that was interrupted
    with atomic_directory(new) as folder:
        shutil.copytree(old, folder, copy_function=_link_signals, dirs_exist_ok=True)
        write_text(folder / SAMPLES_FILE, table_to_csv(samples, guarded=True), durable=False)
        stored = json.loads((folder / "zarr.json").read_text(encoding="utf-8"))
        stored["attributes"] |= {
            "format_version": FORMAT_VERSION,
            "sclcs_version": sclcs.__version__,
            "columns": column_kinds(samples),
            "fingerprint": content,
            "provenance": dict(provenance),
        }
        write_json(folder / "zarr.json", stored)
        seal_cohort(folder)
    old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside, ignore_errors=True)


def _link_signals(source: str, target: str) -> str:
    """Link chunks, which never change; copy small files, and all where links are impossible."""
    if f"/{SIGNALS}/" in Path(source).as_posix():
        with suppress(OSError):
            os.link(source, target)
            return target
    return shutil.copy2(source, target)
