"""The small files of an FC store: which operators it holds, and what became of each piece of work.

The *index* names the operators that were asked for, what decides their numbers, and the digest
of each array's metadata; it is signed. Every array says the same in its own attributes; reading
hundreds of those whenever a matrix is asked for is slow, on a network disk very slow. A store
without an index (made by the first version) is read the long way.

A *piece* is one family of operators on one block of samples. What became of it is told by the file
that it leaves, or by the record of its shard (:mod:`sclcs.spi.packing`); in stores of older formats
by a record per piece, which only this module still reads.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sclcs.core.errors import DamagedStoreError
from sclcs.core.files import ReadOnce, write_json
from sclcs.core.identity import file_digest
from sclcs.core.seal import is_signed, signed
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.versions import Stamp

__all__ = [
    "MATRICES",
    "OperatorEntry",
    "Piece",
    "StoreIndex",
    "entry_from_json",
    "index_is_intact",
    "read_array_stamps",
    "read_index",
    "read_record",
    "record_is_damaged",
    "write_index",
]

MATRICES = "matrices"
INDEX = "operators.json"
TRIANGLE = "triangle"
KEPT = "kept"
ARRAY = "zarr.json"


@dataclass(frozen=True)
class Piece:
    """Some operators of one family on one block of samples.

    Parameters
    ----------
    family : str
        The family.
    block : int
        Number of the block.
    operators : tuple of str
        What there is to compute.
    """

    family: str
    block: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class OperatorEntry:
    """One operator on one block: done.

    Parameters
    ----------
    version : str
        From :func:`sclcs.spi.versions.operator_version`.
    checksum : str
        Of the chunk, from :func:`sclcs.store.checksum_of`.
    seconds : float
        CPU time in the kernel; operators of a family share theirs equally.
    exceptions : dict of int to (str, str)
        Status and reason of the samples that are not ``ok``, by row in the block.
    seed : int, optional
        The user's, if the operator draws random numbers.
    copied_seconds : float
        The part of `seconds` that was spent before, for matrices copied from another store.
    """

    version: str
    checksum: str
    seconds: float
    exceptions: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    seed: int | None = None
    copied_seconds: float = 0.0

    @property
    def stamp(self) -> Stamp:
        """What decided the numbers."""
        return Stamp(self.version, self.seed)


def _read(path: Path) -> dict[str, OperatorEntry] | None:
    """Read a record; empty if there is none, None if it is damaged."""
    try:
        record = json.loads(path.read_bytes())
        if record["checksum"] != _checksum(record["operators"]):
            return None
        return {name: entry_from_json(**fields) for name, fields in record["operators"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


_records = ReadOnce(_read, most=8192)


def read_record(path: Path) -> dict[str, OperatorEntry]:
    """Read a record; one that is absent or damaged is empty: its work is done again."""
    return dict(_records(path) or {})


def record_is_damaged(path: Path) -> bool:
    """Say whether a record is there and cannot be what was written."""
    return _records(path) is None


def _checksum(operators: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(operators, sort_keys=True).encode())


def entry_from_json(
    exceptions: Mapping[str, list[str]],
    **facts: Any,  # noqa: ANN401
) -> OperatorEntry:
    """Return an entry as JSON has it: rows are texts there."""
    samples = {int(row): (status, why) for row, (status, why) in exceptions.items()}
    return OperatorEntry(exceptions=samples, **facts)


class StoreIndex:
    """What a store tells about its operators, known to this program or not.

    Parameters
    ----------
    rows : mapping of str to _Row
        By operator.
    facts : mapping
        The operators that are known now, in catalogue order.

    Attributes
    ----------
    stamps : mapping of str to Stamp
        What decides the numbers of every operator that was asked for, in catalogue order.
        Operators that this version's catalogue does not know are passed over.
    unknown : list of str
        Those that are passed over, such as a user's own.
    triangles : frozenset of str
        Operators of which only the upper triangle is kept.
    not_kept : frozenset of str
        Operators whose matrices were removed on purpose; their records are there.
    arrays : mapping of str to str
        The digests of the arrays' metadata.
    """

    def __init__(self, rows: Mapping[str, _Row], facts: Mapping[str, object]) -> None:
        self.stamps = MappingProxyType({name: rows[name].stamp for name in facts if name in rows})
        self.unknown = [name for name in rows if name not in facts]
        self.triangles = frozenset(name for name, row in rows.items() if row.triangle)
        self.not_kept = frozenset(name for name, row in rows.items() if not row.kept)
        self.arrays = {name: row.array for name, row in rows.items() if row.array is not None}


class _Rows(dict[str, "_Row"]):
    """The rows of an index, and what they say with the operators that are known now."""

    told: tuple[Mapping[str, object], StoreIndex] | None = None

    def with_known(self, facts: Mapping[str, object]) -> StoreIndex:
        if self.told is None or self.told[0] is not facts:
            self.told = facts, StoreIndex(self, facts)
        return self.told[1]


def read_index(store: Path) -> StoreIndex:
    """Read the index of a store, again only if it has changed."""
    rows, facts = _indexes(store / INDEX), operator_facts()
    if rows is None:
        stamps = read_array_stamps(store)
        return StoreIndex({n: _Row(s, None, False) for n, s in stamps.items()}, facts)
    return rows.with_known(facts)


def read_array_stamps(store: Path) -> dict[str, Stamp]:
    """Return what the arrays themselves say about their numbers, in catalogue order."""
    found = _arrays(store / MATRICES)
    return {name: found[name] for name in operator_facts() if name in found}


def index_is_intact(store: Path) -> bool:
    """Say whether a store has an index that can be read and is as it was signed."""
    try:
        return _indexes(store / INDEX) is not None
    except DamagedStoreError:
        return False


@dataclass(frozen=True)
class _Row:
    """An operator in the index: what decides its numbers, its array, how and if it is kept."""

    stamp: Stamp
    array: str | None
    triangle: bool
    kept: bool = True

    def to_json(self) -> dict[str, Any]:
        facts = {**asdict(self.stamp), "array": self.array, TRIANGLE: self.triangle}
        return facts if self.kept else {**facts, KEPT: False}


def write_index(
    store: Path, stamps: Mapping[str, Stamp], removed: Collection[str] | None = None
) -> None:
    """Write the index in one step; the arrays are there (or gone) already.

    Operators that are not known now, such as a user's own in another process, stay in it.

    Parameters
    ----------
    store : Path
        The store's folder.
    stamps : mapping of str to Stamp
        What decides the numbers of every operator.
    removed : collection of str, optional
        Operators whose matrices are not kept; by default those that were not kept before.
    """
    known = operator_facts()
    there = _indexes(store / INDEX) or _Rows()
    gone = {name for name, row in there.items() if not row.kept} if removed is None else removed
    rows = {
        name: _Row(
            stamps[name],
            file_digest(store / MATRICES / name / ARRAY),
            bool(_attributes(store / MATRICES / name).get(TRIANGLE, False)),
            name not in gone,
        )
        for name in known
        if name in stamps
    }
    rows |= {name: row for name, row in there.items() if name not in known}
    content = {name: row.to_json() for name, row in rows.items()}
    write_json(store / INDEX, signed({"operators": content}))
    _indexes.forget(store / INDEX)


def _read_index(path: Path) -> _Rows | None:
    """Read an index; None if there is none. One that is damaged is an error."""
    try:
        content = json.loads(path.read_bytes())
        found = _Rows({str(name): _row(row) for name, row in content["operators"].items()})
        intact = is_signed(content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged_index(path) from error
    if not intact:
        raise _damaged_index(path)
    return found


def _row(row: Mapping[str, Any]) -> _Row:
    stamp = Stamp(str(row["version"]), row["seed"])
    kept = bool(row.get(KEPT, True))
    return _Row(stamp, row.get("array"), bool(row.get(TRIANGLE, False)), kept)


def _damaged_index(path: Path) -> DamagedStoreError:
    return DamagedStoreError(
        f"The list of operators {path} is damaged; run the same `sclcs compute` again: it makes "
        "it from the matrices that are there."
    )


def _read_arrays(folder: Path) -> dict[str, Stamp]:
    """Read the attributes of every array; the first version has one seed for the whole store."""
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    rows = {name: _attributes(folder / name) for name in operator_facts() if name in there}
    usual = partial(_usual_seed, _attributes(folder.parent).get("seed"))
    return {
        name: Stamp(str(row["version"]), row["seed"] if "seed" in row else usual(name))
        for name, row in rows.items()
        if "version" in row
    }


def _attributes(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / ARRAY).read_bytes())["attributes"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _usual_seed(seed: int | None, name: str) -> int | None:
    return None if operator_facts()[name].deterministic else seed


_indexes = ReadOnce(_read_index, most=64)
_arrays = ReadOnce(_read_arrays, most=64)
