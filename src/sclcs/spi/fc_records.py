"""What became of a task of an FC store: a small file that is written last.

A task is one family of operators on one block of samples. Its record names every operator
that is done on the block, with the checksum of its chunk; an operator that is not in the
record is not done, whatever chunk files there are.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sclcs.core.files import write_text

__all__ = ["FamilyTask", "OperatorEntry", "read_record", "write_record"]


@dataclass(frozen=True)
class FamilyTask:
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
        Time in the kernel; operators of a family share theirs equally.
    exceptions : dict of int to (str, str)
        Status and reason of the samples that are not ``ok``, by row in the block.
    """

    version: str
    checksum: str
    seconds: float
    exceptions: Mapping[int, tuple[str, str]]


def read_record(path: Path) -> dict[str, OperatorEntry]:
    """Read a record; one that is absent or damaged is empty: its work is done again."""
    try:
        record = json.loads(path.read_bytes())
        if record["checksum"] != _checksum(record["operators"]):
            return {}
        return {name: _entry(**fields) for name, fields in record["operators"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write_record(path: Path, entries: Mapping[str, OperatorEntry]) -> None:
    """Write a record in one step."""
    operators = {name: asdict(entry) for name, entry in sorted(entries.items())}
    plain = json.loads(json.dumps(operators))  # keys become text, as they will be read
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({"checksum": _checksum(plain), "operators": plain}) + "\n")


def _checksum(operators: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(operators, sort_keys=True).encode())


def _entry(
    version: str, checksum: str, seconds: float, exceptions: Mapping[str, list[str]]
) -> OperatorEntry:
    samples = {int(row): (status, why) for row, (status, why) in exceptions.items()}
    return OperatorEntry(version, checksum, seconds, samples)
