"""Making an FC store and writing what was computed for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import sclcs
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.table import column_kinds, table_to_csv
from sclcs.core.errors import InputError, name_first
from sclcs.core.files import (
    explain_write_errors,
    write_text,
)
from sclcs.core.seal import write_seal
from sclcs.numerics.arrays import Array
from sclcs.spi.fc_layout import RECORDS, StoreLayout, block_size_for
from sclcs.spi.fc_records import (
    MATRICES,
    OperatorEntry,
    Piece,
    read_record,
    write_index,
    write_record,
)
from sclcs.spi.fc_store import FORMAT_VERSION, KIND, SAMPLES_FILE, FCStore
from sclcs.spi.status import OperatorOutcome, Status
from sclcs.spi.versions import Stamp, operator_stamp
from sclcs.store import atomic_group, create_array, create_group, write_chunk

if TYPE_CHECKING:
    import zarr

__all__ = [
    "add_operators",
    "create_operator",
    "create_store",
    "forget_operators",
    "outdated_operators",
    "remove_leftovers",
    "seal_store",
    "write_facts",
    "write_piece",
]

_SOFTWARE = ("numpy", "scipy", "numba", "zarr")


def create_store(
    path: str | os.PathLike[str],
    cohort: Cohort,
    fingerprint: str,
    *,
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
    block_size : int, optional
        Samples per block; by default chosen from the number of regions.

    Returns
    -------
    FCStore
    """
    with atomic_group(path) as folder:
        group = create_group(folder)
        write_index(folder, {})
        group.create_group(MATRICES)
        (folder / RECORDS).mkdir()
        write_facts(folder, group, cohort, fingerprint, block_size)
    return FCStore.open(path)


def write_facts(
    folder: Path, group: zarr.Group, cohort: Cohort, fingerprint: str, block_size: int | None = None
) -> None:
    """Write what a store is about: its metadata, its table of samples, and their seal."""
    table = table_to_csv(cohort.samples, guarded=True)
    write_text(folder / SAMPLES_FILE, table, durable=False)
    software = {name: version(name) for name in _SOFTWARE}
    size = block_size or block_size_for(cohort.n_regions)
    group.attrs.update(
        {
            "sclcs_kind": KIND,
            "format_version": FORMAT_VERSION,
            "sclcs_version": sclcs.__version__,
            "fingerprint": fingerprint,
            "columns": column_kinds(cohort.samples),
            "regions": list(cohort.regions),
            "tr": cohort.tr,
            "n_timepoints": cohort.n_timepoints,
            "block_size": size,
            "provenance": {"cohort": cohort.provenance, "software": software},
        }
    )
    seal_store(folder, fingerprint, size)


def seal_store(folder: Path, fingerprint: str, block_size: int) -> None:
    """Sign the metadata and the table of a store.

    The seal repeats what tells whose matrices these are, so that a damaged table can be written
    again from the cohort.
    """
    names = ("zarr.json", SAMPLES_FILE, f"{MATRICES}/zarr.json")
    write_seal(folder, names, {"fingerprint": fingerprint, "block_size": block_size})


def add_operators(store: FCStore, operators: Iterable[str], seed: int = 0) -> None:
    """Make room for operators; those that are there already must have today's version.

    Operators that draw random numbers and are there with another seed are taken out first:
    no seed decides the numbers of the others, so they stay.

    Parameters
    ----------
    store : FCStore
        The store.
    operators : iterable of str
        Catalogue identifiers.
    seed : int
        Of the operators that draw random numbers.
    """
    known = store.layout.stamps()
    wanted = {name: operator_stamp(name, seed) for name in operators}
    _refuse_other_versions(store, known, wanted)
    forget_operators(store, outdated_operators(known, wanted))
    known = store.layout.stamps()
    new = {name: stamp for name, stamp in wanted.items() if name not in known}
    for name, stamp in new.items():
        create_operator(store.layout, name, stamp)
    if new:
        with explain_write_errors(store.path):
            write_index(store.layout.path, known | new)


def outdated_operators(known: Mapping[str, Stamp], wanted: Mapping[str, Stamp]) -> list[str]:
    """Return the operators whose numbers would be others today."""
    return [name for name, stamp in wanted.items() if known.get(name, stamp) != stamp]


def _refuse_other_versions(
    store: FCStore, known: Mapping[str, Stamp], wanted: Mapping[str, Stamp]
) -> None:
    other = [
        f"{name} (there {known[name].version}, now {stamp.version})"
        for name, stamp in wanted.items()
        if name in known and known[name].version != stamp.version
    ]
    if other:
        raise InputError(
            f"{store.path} holds operators computed by another version of their code: "
            f"{name_first(other)}. Results of two versions are never mixed: compute them again "
            "with --force, or choose another folder."
        )


def create_operator(layout: StoreLayout, operator: str, stamp: Stamp) -> None:
    """Write the metadata of an operator's array; its chunks, if there are any, stay."""
    import zarr

    with explain_write_errors(layout.path):
        # What a writer left that was killed before the index named it, or what is damaged.
        (layout.array_folder(operator) / "zarr.json").unlink(missing_ok=True)
        create_array(
            zarr.open_group(str(layout.path / MATRICES), mode="r+"),
            operator,
            (layout.n_samples, layout.n_regions, layout.n_regions),
            np.float32,
            chunks=layout.chunk_shape,
            dimensions=("sample", "source", "target"),
            attributes=asdict(stamp),
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
    known = layout.stamps()
    present = [name for name in operators if name in known]
    if not present:
        return
    with explain_write_errors(store.path):
        for piece in layout.pieces(present):
            path = layout.record_file(piece.family, piece.block)
            entries = read_record(path)
            rest = {name: entry for name, entry in entries.items() if name not in piece.operators}
            if len(rest) < len(entries):
                write_record(path, rest)
        others = {name: stamp for name, stamp in known.items() if name not in set(present)}
        write_index(layout.path, others)
        for name in present:
            (layout.array_folder(name) / "zarr.json").unlink(missing_ok=True)


def remove_leftovers(layout: StoreLayout) -> None:
    """Remove the temporary files of writers that were killed; no other may be at work."""
    for partial in layout.path.rglob("*.partial"):  # ours, and zarr's own
        partial.unlink(missing_ok=True)


def write_piece(
    layout: StoreLayout,
    piece: Piece,
    outcomes: Mapping[str, OperatorOutcome],
    seed: int = 0,
    copied_seconds: Mapping[str, float] | None = None,
) -> None:
    """Write what became of a piece: its chunks, then its record.

    Parameters
    ----------
    layout : StoreLayout
        Where.
    piece : Piece
        What was done.
    outcomes : mapping of str to OperatorOutcome
        From :func:`sclcs.spi.compute_block`, one per operator of the piece.
    seed : int
        The user's.
    copied_seconds : mapping, optional
        By operator: the part of its seconds that was spent before, in another store.
    """
    path = layout.record_file(piece.family, piece.block)
    entries = read_record(path)
    for name in piece.operators:
        entry = _write_operator(layout, name, piece.block, outcomes[name], seed)
        earlier = (copied_seconds or {}).get(name, 0.0)
        entries[name] = replace(entry, copied_seconds=earlier)
    write_record(path, entries)


def _write_operator(
    layout: StoreLayout, operator: str, block: int, outcome: OperatorOutcome, seed: int
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
    stamp = operator_stamp(operator, seed)
    return OperatorEntry(stamp.version, checksum, outcome.seconds, exceptions, stamp.seed)


def _as_float32(matrices: Array) -> tuple[NDArray[np.float32], list[int]]:
    """Round to float32; what does not fit becomes NaN, and its samples are named."""
    with np.errstate(over="ignore"):
        values = matrices.astype(np.float32)
    lost = np.isinf(values) & np.isfinite(matrices)
    values[lost] = np.nan
    return values, np.flatnonzero(lost.any(axis=(1, 2))).tolist()
