"""The small files of an FC store: which operators it holds, and what became of each piece of work.

The *index* names the operators that were asked for, what decides their numbers, and the digest
of each array's metadata; it is signed. Every array says the same in its own attributes; reading
hundreds of those whenever a matrix is asked for is slow, on a network disk very slow. A store
without an index (made by the first version) is read the long way.

A *piece* is one family of operators on one block of samples. Its record is written last. It
names every operator that is done on the block, with the checksum of its chunk; an operator that
is not in the record is not done, whatever chunk files there are.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sclcs.core.errors import DamagedStoreError
from sclcs.core.files import ReadOnce, write_json, write_text
from sclcs.core.identity import file_digest
from sclcs.core.seal import is_signed, signed
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.versions import Stamp

__all__ = [
    "MATRICES",
    "OperatorEntry",
    "Piece",
    "array_digests",
    "index_is_intact",
    "read_array_stamps",
    "read_index",
    "read_record",
    "record_is_damaged",
    "unknown_operators",
    "write_index",
    "write_record",
]

MATRICES = "matrices"
INDEX = "operators.json"
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
        Of the chunk, from :func:`sclcs.store.chunk_checksum`.
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
        return {name: _entry(**fields) for name, fields in record["operators"].items()}
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


def write_record(path: Path, entries: Mapping[str, OperatorEntry]) -> None:
    """Write a record in one step."""
    operators = {name: asdict(entry) for name, entry in sorted(entries.items())}
    plain = json.loads(json.dumps(operators))  # keys become text, as they will be read
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"checksum": _checksum(plain), "operators": plain}) + "\n"
    write_text(path, content, durable=False)  # a lost or half record is work to be done again
    _records.forget(path)


def _checksum(operators: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(operators, sort_keys=True).encode())


def _entry(exceptions: Mapping[str, list[str]], **facts: Any) -> OperatorEntry:  # noqa: ANN401
    samples = {int(row): (status, why) for row, (status, why) in exceptions.items()}
    return OperatorEntry(exceptions=samples, **facts)


def read_index(store: Path) -> dict[str, Stamp]:
    """Return what decides the numbers of every operator that was asked for, in catalogue order.

    Parameters
    ----------
    store : Path
        The store's folder.

    Returns
    -------
    dict of str to Stamp
        Operators that this version's catalogue does not know are passed over.
    """
    found = _indexes(store / INDEX)
    if found is None:
        return read_array_stamps(store)
    return {name: found[name][0] for name in operator_facts() if name in found}


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


def array_digests(store: Path) -> dict[str, str]:
    """Return the digests of the arrays' metadata, as the index has them."""
    found = _indexes(store / INDEX) or {}
    return {name: digest for name, (_, digest) in found.items() if digest is not None}


def unknown_operators(store: Path) -> list[str]:
    """Return operators of the index that are not known now, such as a user's own."""
    known = operator_facts()
    return [name for name in _indexes(store / INDEX) or {} if name not in known]


def write_index(store: Path, stamps: Mapping[str, Stamp]) -> None:
    """Write the index in one step; the arrays are there (or gone) already.

    Operators that are not known now, such as a user's own in another process, stay in it.
    """
    known = operator_facts()
    ordered = {
        name: {**asdict(stamps[name]), "array": file_digest(store / MATRICES / name / ARRAY)}
        for name in known
        if name in stamps
    }
    there = _indexes(store / INDEX) or {}
    ordered |= {
        name: {**asdict(stamp), "array": digest}
        for name, (stamp, digest) in there.items()
        if name not in known
    }
    write_json(store / INDEX, signed({"operators": ordered}))
    _indexes.forget(store / INDEX)


def _read_index(path: Path) -> dict[str, tuple[Stamp, str | None]] | None:
    """Read an index; None if there is none. One that is damaged is an error."""
    try:
        content = json.loads(path.read_bytes())
        rows = content["operators"]
        found = {
            str(name): (Stamp(str(row["version"]), row["seed"]), row.get("array"))
            for name, row in rows.items()
        }
        intact = is_signed(content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged_index(path) from error
    if not intact:
        raise _damaged_index(path)
    return found


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
