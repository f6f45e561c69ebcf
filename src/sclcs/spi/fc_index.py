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
    array_digests,
    read_index,
    read_record,
    record_is_damaged,
)

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
        read_index(layout.path)
    except DamagedStoreError:
        return [f"{INDEX} is damaged"]
    if not (layout.path / INDEX).exists() and read_seal(layout.path) is not None:
        return [f"{INDEX} is gone"]
    changed = [f"{MATRICES}/{name}/{ARRAY} is gone or changed" for name in changed_arrays(layout)]
    return changed + [f"{name} is not listed" for name in unlisted_operators(layout)]


def damaged_records(layout: StoreLayout) -> list[str]:
    """Return the records that are there but not as they were written; their work is lost."""
    files = sorted((layout.path / RECORDS).glob("*/*.json"))
    return [str(file.relative_to(layout.path)) for file in files if record_is_damaged(file)]


def changed_arrays(layout: StoreLayout) -> list[str]:
    """Return the operators whose array's metadata is not as it was written."""
    known = array_digests(layout.path)
    return [name for name, digest in known.items() if _digest(layout.array_folder(name)) != digest]


def unlisted_operators(layout: StoreLayout) -> list[str]:
    """Return operators that have matrices and records, but that the list does not name.

    A writer that was killed leaves arrays without records; those are no loss.
    """
    listed, facts = read_index(layout.path), operator_facts()
    matrices = layout.path / MATRICES
    there = {path.name for path in matrices.iterdir()} if matrices.is_dir() else set()
    return [
        name
        for name in sorted(there - set(listed))
        if name in facts and (matrices / name / ARRAY).exists() and _recorded(layout, name)
    ]


def _recorded(layout: StoreLayout, name: str) -> bool:
    family = operator_facts()[name].family
    return any(
        name in read_record(layout.record_file(family, block)) for block in range(layout.n_blocks)
    )


def _digest(folder: Path) -> str | None:
    try:
        return file_digest(folder / ARRAY)
    except OSError:
        return None
