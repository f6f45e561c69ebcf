"""The list of operators of an FC store against what is on the disk."""

from __future__ import annotations

from pathlib import Path

from sclcs.core.errors import DamagedStoreError
from sclcs.core.identity import file_digest
from sclcs.core.seal import read_seal
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.fc_layout import RECORDS, StoreLayout
from sclcs.spi.fc_records import (
    ARRAY,
    INDEX,
    MATRICES,
    read_record,
    record_is_damaged,
)
from sclcs.spi.packing.piece_files import piece_is_damaged, read_piece_file
from sclcs.spi.packing.shard_records import columns_are_damaged, read_columns

__all__ = ["changed_arrays", "damaged_records", "index_problems", "unlisted_operators"]


def index_problems(layout: StoreLayout) -> list[str]:
    """Return what is wrong with the arrays of a store, as its list of operators has them.

    Parameters
    ----------
    layout : StoreLayout

    Returns
    -------
    list of str
        Metadata that is gone or changed, operators that were computed but are not listed.
    """
    try:
        layout.index()
    except DamagedStoreError:
        return [f"{INDEX} is damaged"]
    if not (layout.path / INDEX).exists() and read_seal(layout.path) is not None:
        return [f"{INDEX} is gone"]
    changed = [f"{MATRICES}/{name}/{ARRAY} is gone or changed" for name in changed_arrays(layout)]
    return changed + [f"{name} is not listed" for name in unlisted_operators(layout)]


def damaged_records(layout: StoreLayout) -> list[str]:
    """Return the records that are there but not as they were written; their work is lost."""
    damaged = [file for file in _records(layout) if _is_damaged(layout, file)]
    pieces = [file for place in layout.unpacked() for file in layout.piece_files(*place)]
    damaged += [file for file in pieces if piece_is_damaged(file)]
    return sorted(str(file.relative_to(layout.path)) for file in damaged)


def _records(layout: StoreLayout) -> list[Path]:
    return sorted((layout.path / RECORDS).glob("*/*.json"))


def _is_damaged(layout: StoreLayout, file: Path) -> bool:
    return columns_are_damaged(file) if layout.blocks_per_shard else record_is_damaged(file)


def changed_arrays(layout: StoreLayout) -> list[str]:
    """Return the operators whose array's metadata is not as it was written."""
    known = layout.index().arrays
    return [name for name, digest in known.items() if _digest(layout.array_folder(name)) != digest]


def unlisted_operators(layout: StoreLayout) -> list[str]:
    """Return operators that have matrices and records, but that the list does not name.

    A writer that was killed leaves arrays without records; those are no loss.
    """
    listed, facts = layout.index().stamps.keys(), operator_facts()
    matrices = layout.path / MATRICES
    there = {path.name for path in matrices.iterdir()} if matrices.is_dir() else set()
    return [
        name
        for name in sorted(there - listed)
        if name in facts and (matrices / name / ARRAY).exists() and _recorded(layout, name)
    ]


def _recorded(layout: StoreLayout, name: str) -> bool:
    family = operator_facts()[name].family
    read = read_columns if layout.blocks_per_shard else read_record
    places = range(layout.n_shards if layout.blocks_per_shard else layout.n_blocks)
    if any(name in read(layout.record_file(family, place)) for place in places):
        return True
    waiting = [shard for other, shard in layout.unpacked() if other == family]
    return any(
        name in read_piece_file(file) for s in waiting for file in layout.piece_files(family, s)
    )


def _digest(folder: Path) -> str | None:
    try:
        return file_digest(folder / ARRAY)
    except OSError:
        return None
