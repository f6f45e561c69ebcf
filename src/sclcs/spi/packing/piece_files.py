"""The file that a piece of work leaves until its shard is complete.

It begins with what became of its operators and where their chunks are in the file; the chunks
follow. It appears whole, so a piece is done or it is not, whenever a process is killed.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sclcs.core.files import ReadOnce, write_bytes
from sclcs.spi.fc_records import OperatorEntry, entry_from_json
from sclcs.store import checksum_of, sealed

__all__ = ["PieceContent", "piece_is_damaged", "read_piece_file", "take_out", "write_piece_file"]

_LENGTH = struct.Struct("<I")

#: By operator: what became of it, and start and length of its chunk in the file.
PieceContent = Mapping[str, tuple[OperatorEntry, tuple[int, int]]]


def write_piece_file(
    path: Path, entries: Mapping[str, OperatorEntry], chunks: Mapping[str, bytes]
) -> None:
    """Write what became of a piece in one step.

    Parameters
    ----------
    path : Path
        From :meth:`sclcs.spi.fc_layout.StoreLayout.piece_file`.
    entries : mapping of str to OperatorEntry
        By operator.
    chunks : mapping of str to bytes
        Their chunks, from :func:`sclcs.store.encode_chunk`.
    """
    names = sorted(entries)
    told = {
        "place": _place(path),
        "operators": {name: asdict(entries[name]) for name in names},
        "bytes": [len(chunks[name]) for name in names],
    }
    head = sealed(json.dumps(told).encode())
    path.parent.mkdir(parents=True, exist_ok=True)
    content = [_LENGTH.pack(len(head)), head, *(chunks[name] for name in names)]
    write_bytes(path, b"".join(content), durable=False)
    _pieces.forget(path)


def _read(path: Path) -> PieceContent | None:
    """Read the head of a piece; empty if there is none, None if it is damaged."""
    try:
        with path.open("rb") as stream:
            (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
            head = stream.read(length)
        if checksum_of(head) == "damaged":
            return None
        told: dict[str, Any] = json.loads(head[:-4])
        if told["place"] != _place(path):
            return None
        start, found = _LENGTH.size + length, {}
        for (name, fields), size in zip(told["operators"].items(), told["bytes"], strict=True):
            found[name] = entry_from_json(**fields), (start, size)
            start += size
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
        return None
    return found


_pieces = ReadOnce(_read, most=8192)


def read_piece_file(path: Path) -> PieceContent:
    """Read what a piece holds; one that is absent or damaged is empty: it is done again."""
    return _pieces(path) or {}


def piece_is_damaged(path: Path) -> bool:
    """Say whether a piece is there and cannot be what was written."""
    return _pieces(path) is None


def take_out(path: Path, operators: Collection[str]) -> None:
    """Take operators out of a piece; one that holds nothing more goes."""
    held = read_piece_file(path)
    rest = {name: found for name, found in held.items() if name not in operators}
    if len(rest) == len(held):
        return
    if rest:
        content = path.read_bytes()
        chunks = {name: content[start : start + size] for name, (_, (start, size)) in rest.items()}
        write_piece_file(path, {name: entry for name, (entry, _) in rest.items()}, chunks)
    else:
        path.unlink()
        _pieces.forget(path)


def _place(path: Path) -> list[str]:
    """Name family and block, so that a file in the wrong place is noticed."""
    return [path.parent.parent.name, path.name.partition(".")[0]]
