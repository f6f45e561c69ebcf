"""What became of a family's operators on the blocks of a shard.

One file for all operators and blocks, column by column: a line per operator instead of one per
operator and block, so that the records of fifty thousand scans stay a few hundred megabytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sclcs.core.files import ReadOnce, write_text
from sclcs.spi.fc_records import OperatorEntry

__all__ = ["Column", "column_of", "columns_are_damaged", "read_columns", "write_columns"]

_DIGITS = 8  # of a checksum
Exceptions = Mapping[int, tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """One operator on all blocks of a shard: done.

    Parameters
    ----------
    version : str
    seed : int or None
    checksums : str
        Of the chunks, eight digits each, one after another.
    seconds, copied_seconds : tuple of float
        By block.
    exceptions : mapping of int to mapping
        By block of the shard that has any.
    """

    version: str
    seed: int | None
    checksums: str
    seconds: tuple[float, ...]
    copied_seconds: tuple[float, ...]
    exceptions: Mapping[int, Exceptions]

    def entry(self, place: int) -> OperatorEntry:
        """Return what became of a block of the shard."""
        return OperatorEntry(
            self.version,
            self.checksums[place * _DIGITS : (place + 1) * _DIGITS],
            self.seconds[place],
            self.exceptions.get(place, {}),
            self.seed,
            self.copied_seconds[place],
        )


def column_of(entries: Sequence[OperatorEntry]) -> Column:
    """Join what became of the blocks of a shard, in their order; all have one stamp."""
    return Column(
        entries[0].version,
        entries[0].seed,
        "".join(entry.checksum for entry in entries),
        tuple(entry.seconds for entry in entries),
        tuple(entry.copied_seconds for entry in entries),
        {place: entry.exceptions for place, entry in enumerate(entries) if entry.exceptions},
    )


def _read(path: Path) -> dict[str, Column] | None:
    """Read a record; empty if there is none, None if it is damaged."""
    try:
        record = json.loads(path.read_bytes())
        place = [path.parent.name, path.stem]
        if record["checksum"] != _checksum(record["operators"]) or record["place"] != place:
            return None
        return {name: _column(**fields) for name, fields in record["operators"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


_records = ReadOnce(_read, most=2048)


def read_columns(path: Path) -> dict[str, Column]:
    """Read a record; one that is absent or damaged is empty: its work is done again."""
    return dict(_records(path) or {})


def columns_are_damaged(path: Path) -> bool:
    """Say whether a record is there and cannot be what was written."""
    return _records(path) is None


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Write a record in one step, or remove it if it would be empty."""
    if columns:
        plain = json.loads(json.dumps({name: asdict(c) for name, c in sorted(columns.items())}))
        content = {
            "checksum": _checksum(plain),
            "place": [path.parent.name, path.stem],  # a record of another shard is noticed
            "operators": plain,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(content) + "\n", durable=False)
    else:
        path.unlink(missing_ok=True)
    _records.forget(path)


def _checksum(operators: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(operators, sort_keys=True).encode())


def _column(
    exceptions: Mapping[str, Mapping[str, list[str]]],
    seconds: list[float],
    copied_seconds: list[float],
    **facts: Any,  # noqa: ANN401
) -> Column:
    told = {
        int(place): {int(row): (status, why) for row, (status, why) in rows.items()}
        for place, rows in exceptions.items()
    }
    return Column(
        seconds=tuple(seconds), copied_seconds=tuple(copied_seconds), exceptions=told, **facts
    )
