"""Making an FC store and writing the results of its tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

import sclcs
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.table import column_kinds, table_to_csv
from sclcs.core.errors import InputError, name_first
from sclcs.core.files import atomic_directory, explain_write_errors, write_text
from sclcs.spi.context import Array
from sclcs.spi.fc_layout import MATRICES, TASKS, StoreLayout, block_size_for
from sclcs.spi.fc_records import FamilyTask, OperatorEntry, read_record, write_record
from sclcs.spi.fc_store import FORMAT_VERSION, KIND, SAMPLES_FILE, FCStore
from sclcs.spi.status import OperatorOutcome, Status
from sclcs.spi.versions import operator_version
from sclcs.store import create_array, create_group, write_chunk

__all__ = ["add_operators", "create_store", "forget_operators", "remove_leftovers", "write_task"]

_SOFTWARE = ("numpy", "scipy", "numba", "zarr")


def create_store(
    path: str | os.PathLike[str],
    cohort: Cohort,
    fingerprint: str,
    *,
    seed: int = 0,
    block_size: int | None = None,
) -> FCStore:
    """Make an FC store without operators.

    Parameters
    ----------
    path : path-like
        A folder that does not exist yet. It appears only when it is complete.
    cohort : Cohort
        The samples: the whole cohort or a core-set of it.
    fingerprint : str
        Of the whole cohort.
    seed : int
        Of the operators that draw random numbers.
    block_size : int, optional
        Samples per block; by default chosen from the number of regions.

    Returns
    -------
    FCStore
    """
    with atomic_directory(path) as folder:
        group = create_group(folder)
        group.create_group(MATRICES)
        (folder / TASKS).mkdir()
        write_text(folder / SAMPLES_FILE, table_to_csv(cohort.samples))
        software = {name: version(name) for name in _SOFTWARE}
        group.attrs.update(
            {
                "sclcs_kind": KIND,
                "format_version": FORMAT_VERSION,
                "sclcs_version": sclcs.__version__,
                "fingerprint": fingerprint,
                "columns": column_kinds(cohort.samples),
                "regions": list(cohort.regions),
                "tr": cohort.tr,
                "seed": seed,
                "block_size": block_size or block_size_for(cohort.n_regions),
                "provenance": {"cohort": cohort.provenance, "software": software},
            }
        )
    return FCStore.open(path)


def add_operators(store: FCStore, operators: Iterable[str]) -> None:
    """Make room for operators; those that are there already must have today's version.

    Parameters
    ----------
    store : FCStore
        The store.
    operators : iterable of str
        Catalogue identifiers.
    """
    versions = store.layout.versions()
    wanted = {name: operator_version(name) for name in operators}
    other = [
        f"{name} (there {versions[name]}, now {current})"
        for name, current in wanted.items()
        if versions.get(name, current) != current
    ]
    if other:
        raise InputError(
            f"{store.path} holds operators computed by another version of their code: "
            f"{name_first(other)}. Results of two versions are never mixed: compute them again "
            "with --force, or choose another folder."
        )
    for name in wanted.keys() - versions.keys():
        _create_operator(store.layout, name, wanted[name])


def _create_operator(layout: StoreLayout, operator: str, current: str) -> None:
    import zarr

    with explain_write_errors(layout.path):
        create_array(
            zarr.open_group(str(layout.path / MATRICES), mode="r+"),
            operator,
            (layout.n_samples, layout.n_regions, layout.n_regions),
            np.float32,
            chunks=layout.chunk_shape,
            dimensions=("sample", "source", "target"),
            attributes={"version": current},
            direct=True,
        )


def forget_operators(store: FCStore, operators: Iterable[str]) -> None:
    """Take operators out of a store, so that they are computed again.

    Records go first: killed in between, what is left is work to be done, never a result
    without its facts.

    Parameters
    ----------
    store : FCStore
        The store.
    operators : iterable of str
        Catalogue identifiers; those that are not in the store are passed over.
    """
    layout = store.layout
    known = layout.versions()
    present = [name for name in operators if name in known]
    for task in layout.tasks(present):
        path = layout.record_file(task.family, task.block)
        entries = read_record(path)
        rest = {name: entry for name, entry in entries.items() if name not in task.operators}
        if len(rest) < len(entries):
            write_record(path, rest)
    for name in present:
        (layout.array_folder(name) / "zarr.json").unlink()


def remove_leftovers(layout: StoreLayout) -> None:
    """Remove the temporary files of writers that were killed; no other may be at work."""
    for partial in layout.path.rglob("*.partial"):
        partial.unlink(missing_ok=True)


def write_task(
    layout: StoreLayout, task: FamilyTask, outcomes: Mapping[str, OperatorOutcome]
) -> None:
    """Write what became of a task: its chunks, then its record.

    Parameters
    ----------
    layout : StoreLayout
        Where.
    task : FamilyTask
        What was done.
    outcomes : mapping of str to OperatorOutcome
        From :func:`sclcs.spi.compute_block`, one per operator of the task.
    """
    path = layout.record_file(task.family, task.block)
    entries = read_record(path)
    for name in task.operators:
        entries[name] = _write_operator(layout, name, task.block, outcomes[name])
    write_record(path, entries)


def _write_operator(
    layout: StoreLayout, operator: str, block: int, outcome: OperatorOutcome
) -> OperatorEntry:
    values, too_large = _as_float32(outcome.matrices)
    exceptions = {
        row: (str(status), why)
        for row, (status, why) in enumerate(zip(outcome.status, outcome.reason, strict=True))
        if status != Status.OK
    }
    for row in too_large:
        exceptions.setdefault(row, (str(Status.PARTIAL), "values too large for float32"))
    file = layout.chunk_file(operator, block)
    checksum = write_chunk(file, values, layout.chunk_shape)
    return OperatorEntry(operator_version(operator), checksum, outcome.seconds, exceptions)


def _as_float32(matrices: Array) -> tuple[NDArray[np.float32], list[int]]:
    """Round to float32; what does not fit becomes NaN, and its samples are named."""
    with np.errstate(over="ignore"):
        values = matrices.astype(np.float32)
    lost = np.isinf(values) & np.isfinite(matrices)
    values[lost] = np.nan
    return values, np.flatnonzero(lost.any(axis=(1, 2))).tolist()
