"""Making an FC store and writing what was computed for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
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
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.fc_layout import (
    LOCKS,
    RECORDS,
    StoreLayout,
    block_size_for,
    blocks_per_shard_for,
)
from sclcs.spi.fc_records import MATRICES, TRIANGLE, OperatorEntry, Piece, write_index
from sclcs.spi.fc_store import FORMAT_VERSION, KIND, SAMPLES_FILE, FCStore
from sclcs.spi.packing.pack import PACKING, pack_shard
from sclcs.spi.packing.piece_files import piece_is_damaged, take_out, write_piece_file
from sclcs.spi.packing.shard_records import read_columns, write_columns
from sclcs.spi.runner import family_members
from sclcs.spi.status import OperatorOutcome, Status
from sclcs.spi.versions import Stamp, operator_stamps
from sclcs.store import atomic_group, checksum_of, create_array, create_group, encode_chunk

if TYPE_CHECKING:
    import zarr

__all__ = [
    "StoreFacts",
    "add_operators",
    "create_described",
    "create_operators",
    "create_store",
    "drop_matrices",
    "forget_operators",
    "outdated_operators",
    "pack_pieces",
    "remove_leftovers",
    "seal_store",
    "write_facts",
    "write_piece",
]

Singles = NDArray[np.float32]
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
    return create_described(path, StoreFacts.of(cohort, fingerprint, block_size))


@dataclass(frozen=True)
class StoreFacts:
    """What a store is about.

    Parameters
    ----------
    samples : DataFrame
    regions : sequence of str
    tr : float or None
    n_timepoints : int or None
    provenance : dict
        Of the cohort, and of the software.
    fingerprint : str
        Of the whole cohort.
    block_size, blocks_per_shard : int
    """

    samples: pd.DataFrame
    regions: Sequence[str]
    tr: float | None
    n_timepoints: int | None
    provenance: Mapping[str, Any]
    fingerprint: str
    block_size: int
    blocks_per_shard: int

    @classmethod
    def of(
        cls,
        cohort: Cohort,
        fingerprint: str,
        block_size: int | None = None,
        blocks_per_shard: int | None = None,
    ) -> StoreFacts:
        """Describe a store of a cohort; sizes come from the number of regions by default."""
        software = {name: version(name) for name in _SOFTWARE}
        size = block_size or block_size_for(cohort.n_regions)
        return cls(
            cohort.samples,
            cohort.regions,
            cohort.tr,
            cohort.n_timepoints,
            {"cohort": cohort.provenance, "software": software},
            fingerprint,
            size,
            blocks_per_shard or blocks_per_shard_for(len(cohort), cohort.n_regions, size),
        )


def create_described(path: str | os.PathLike[str], facts: StoreFacts) -> FCStore:
    """Make an FC store without operators, whose samples need not be at hand as a cohort."""
    with atomic_group(path) as folder:
        group = create_group(folder)
        write_index(folder, {})
        group.create_group(MATRICES)
        (folder / RECORDS).mkdir()
        write_facts(folder, group, facts)
    return FCStore.open(path)


def write_facts(folder: Path, group: zarr.Group, facts: StoreFacts) -> None:
    """Write what a store is about: its metadata, its table of samples, and their seal."""
    table = table_to_csv(facts.samples, guarded=True)
    write_text(folder / SAMPLES_FILE, table, durable=False)
    group.update_attributes(
        {
            "sclcs_kind": KIND,
            "format_version": FORMAT_VERSION,
            "sclcs_version": sclcs.__version__,
            "fingerprint": facts.fingerprint,
            "columns": column_kinds(facts.samples),
            "regions": list(facts.regions),
            "tr": facts.tr,
            "n_timepoints": facts.n_timepoints,
            "block_size": facts.block_size,
            "blocks_per_shard": facts.blocks_per_shard,
            "provenance": dict(facts.provenance),
        }
    )
    seal_store(folder, facts.fingerprint, facts.block_size, facts.blocks_per_shard)


def replace_facts(folder: Path, facts: StoreFacts) -> None:
    """Write what a store is about over what it was: its cohort was labelled since."""
    import zarr

    write_facts(folder, zarr.open_group(str(folder), mode="r+", zarr_format=3), facts)


def seal_store(folder: Path, fingerprint: str, block_size: int, blocks_per_shard: int) -> None:
    """Sign the metadata and the table of a store.

    The seal repeats what tells whose matrices these are, so that a damaged table can be written
    again from the cohort.
    """
    names = ("zarr.json", SAMPLES_FILE, f"{MATRICES}/zarr.json")
    facts = {"fingerprint": fingerprint, "block_size": block_size}
    write_seal(folder, names, facts | {"blocks_per_shard": blocks_per_shard})


def add_operators(store: FCStore, operators: Iterable[str], seed: int = 0) -> None:
    """Make room for operators; those that are there already must have today's version.

    Operators that draw random numbers and are there with another seed are taken out first:
    no seed decides the numbers of the others, so they stay. So are those that were not kept.

    Parameters
    ----------
    store : FCStore
        The store.
    operators : iterable of str
        Catalogue identifiers.
    seed : int
        Of the operators that draw random numbers.
    """
    index, wanted = store.layout.index(), operator_stamps(operators, seed)
    _refuse_other_versions(store, index.stamps, wanted)
    again = [name for name in wanted if name in index.not_kept]
    forget_operators(store, [*again, *outdated_operators(index.stamps, wanted)])
    known = store.layout.index().stamps
    new = {name: stamp for name, stamp in wanted.items() if name not in known}
    create_operators(store.layout, new)
    if new:
        with explain_write_errors(store.path):
            write_index(store.layout.path, {**known, **new})


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


def create_operators(layout: StoreLayout, stamps: Mapping[str, Stamp]) -> None:
    """Write the metadata of operators' arrays; their shards, if there are any, stay."""
    import zarr

    if not stamps:
        return
    facts = operator_facts()
    samples = layout.block_size * layout.blocks_per_shard
    shapes = {flag: layout.chunk_shape(triangle=flag) for flag in (False, True)}
    with explain_write_errors(layout.path):
        group = zarr.open_group(str(layout.path / MATRICES), mode="r+")
        for operator, stamp in stamps.items():
            triangle = bool(facts[operator].symmetric)
            chunks = shapes[triangle]
            # What a writer left that was killed before the index named it, or what is damaged.
            (layout.path / MATRICES / operator / "zarr.json").unlink(missing_ok=True)
            create_array(
                group,
                operator,
                (layout.n_samples, *chunks[1:]),
                np.float32,
                chunks=chunks,
                shards=(samples, *chunks[1:]),
                dimensions=("sample", "pair") if triangle else ("sample", "source", "target"),
                attributes={**asdict(stamp), TRIANGLE: triangle},
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
    known = layout.index().stamps
    present = [name for name in operators if name in known]
    if not present:
        return
    with explain_write_errors(store.path):
        for family, members in family_members(present).items():
            for shard in range(layout.n_shards):
                _take_out(layout, family, shard, set(members))
        others = {name: stamp for name, stamp in known.items() if name not in set(present)}
        write_index(layout.path, others)
        for name in present:
            shutil.rmtree(layout.array_folder(name), ignore_errors=True)


def drop_matrices(store: FCStore, operators: Iterable[str]) -> int:
    """Remove the matrices of operators; what became of them stays known.

    The list of operators says so first: killed in between, nothing is taken for damaged.

    Parameters
    ----------
    store : FCStore
        No other process may write to it.
    operators : iterable of str
        Catalogue identifiers; those that are not complete are passed over.

    Returns
    -------
    int
        How many bytes were freed.
    """
    layout = store.layout
    pack_pieces(layout)
    index = layout.index()
    before, stamps = index.not_kept, index.stamps
    waiting = {name for piece in store.missing() for name in piece.operators}
    wanted = [
        name
        for name in dict.fromkeys(operators)
        if name in stamps and (name in before or name not in waiting)
    ]
    freed = 0
    with explain_write_errors(store.path):
        if not before.issuperset(wanted):
            write_index(layout.path, stamps, {*before, *wanted})
        for name in wanted:
            for file in layout.array_folder(name).glob("c.*"):
                freed += file.stat().st_size
                file.unlink(missing_ok=True)
    return freed


def _take_out(layout: StoreLayout, family: str, shard: int, operators: set[str]) -> None:
    """Take operators out of the record of a shard and out of the pieces that wait for it."""
    path = layout.record_file(family, shard)
    columns = read_columns(path)
    if columns.keys() & operators:
        write_columns(path, {name: c for name, c in columns.items() if name not in operators})
    for file in layout.piece_files(family, shard):
        take_out(file, operators)


def remove_leftovers(layout: StoreLayout) -> None:
    """Remove the temporary files of writers that were killed; no other may be at work."""
    for place in layout.unpacked():
        for file in layout.piece_files(*place):
            if piece_is_damaged(file):  # its work was done again, under the name of other operators
                file.unlink(missing_ok=True)
    for lock in (layout.path / LOCKS).glob(f"{PACKING}*"):
        lock.unlink(missing_ok=True)
    for partial in layout.path.rglob("*.partial"):  # ours, and zarr's own
        partial.unlink(missing_ok=True)


def write_piece(
    layout: StoreLayout,
    piece: Piece,
    outcomes: Mapping[str, OperatorOutcome],
    seed: int = 0,
    copied_seconds: Mapping[str, float] | None = None,
) -> None:
    """Write what became of a piece, and pack its shard if that was the last one.

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
    singles = {name: _as_float32(outcomes[name].matrices) for name in piece.operators}
    chunks = _encoded(layout, {name: values for name, (values, _) in singles.items()})
    checksums = {name: checksum_of(chunk) for name, chunk in chunks.items()}
    entries = {
        name: OperatorEntry(
            stamp.version,
            checksums[name],
            outcomes[name].seconds,
            _exceptions(outcomes[name], singles[name][1]),
            stamp.seed,
            (copied_seconds or {}).get(name, 0.0),
        )
        for name, stamp in operator_stamps(piece.operators, seed).items()
    }
    path = layout.piece_file(piece)
    write_piece_file(path, entries, chunks)
    if _may_be_complete(layout, piece, path):
        pack_shard(layout, piece.family, piece.block // layout.blocks_per_shard)


def pack_pieces(layout: StoreLayout, pieces: Iterable[Piece] | None = None) -> None:
    """Pack what is complete of the shards of some pieces, or of all that wait."""
    if not layout.blocks_per_shard:
        return
    places = (
        layout.unpacked()
        if pieces is None
        else [(piece.family, piece.block // layout.blocks_per_shard) for piece in pieces]
    )
    for family, shard in sorted(set(places)):
        pack_shard(layout, family, shard)


def _may_be_complete(layout: StoreLayout, piece: Piece, path: Path) -> bool:
    """Say whether the operators of a piece may be done on its whole shard, from names alone."""
    shard = piece.block // layout.blocks_per_shard
    alike = [p for p in layout.piece_files(piece.family, shard) if p.suffix == path.suffix]
    if len(alike) == len(layout.shard_blocks(shard)):
        return True
    # Part of a packed shard was computed again.
    return set(piece.operators) <= read_columns(layout.record_file(piece.family, shard)).keys()


def _encoded(layout: StoreLayout, matrices: Mapping[str, Singles]) -> dict[str, bytes]:
    """Return the chunks of operators on a block."""
    triangles = layout.index().triangles
    kept = {name: layout.keep(m, triangle=name in triangles) for name, m in matrices.items()}
    size = layout.block_size
    return {name: encode_chunk(values, (size, *values.shape[1:])) for name, values in kept.items()}


def _exceptions(outcome: OperatorOutcome, too_large: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return status and reason of the samples that are not ok, by row in the block."""
    found = {
        row: (str(status), why)
        for row, (status, why) in enumerate(zip(outcome.status, outcome.reason, strict=True))
        if status != Status.OK
    }
    for row in too_large:
        found.setdefault(row, (str(Status.PARTIAL), "values too large for float32"))
    return found


def _as_float32(matrices: Array) -> tuple[Singles, list[int]]:
    """Round to float32; what does not fit becomes NaN, and its samples are named."""
    with np.errstate(over="ignore"):
        values = matrices.astype(np.float32)
    lost = np.isinf(values) & np.isfinite(matrices)
    values[lost] = np.nan
    return values, np.flatnonzero(lost.any(axis=(1, 2))).tolist()
