"""Shards: many chunks of an array in one file, as zarr's sharding codec lays them out.

Chunks stand one after another in the order of the array; the file ends with a table of where each
is, and the table with its CRC-32C. A chunk that is not there is the fill value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sclcs.core.files import write_bytes
from sclcs.store.chunks import CHECKSUM_BYTES, DAMAGED, checksum_of, sealed

__all__ = ["read_shard_chunk", "write_shard"]

_ABSENT = 2**64 - 1
_ROW_BYTES = 16


def write_shard(path: Path, chunks: Sequence[bytes], count: int) -> None:
    """Write a shard in one step.

    Parameters
    ----------
    path : Path
        From :func:`sclcs.store.chunk_name`.
    chunks : sequence of bytes
        The first chunks of the shard, from :func:`sclcs.store.encode_chunk`.
    count : int
        How many chunks a shard of the array has; the last shard may hold fewer.
    """
    table = np.full((count, 2), _ABSENT, dtype="<u8")
    lengths = np.array([len(chunk) for chunk in chunks], dtype="<u8")
    table[: len(chunks), 0] = np.cumsum(lengths) - lengths
    table[: len(chunks), 1] = lengths
    # Records name the checksums: what a power cut took is noticed and made again.
    write_bytes(path, b"".join([*chunks, sealed(table.tobytes())]), durable=False)


def read_shard_chunk(path: Path, place: int, count: int) -> bytes:
    """Read one chunk of a shard.

    Parameters
    ----------
    path : Path
    place : int
        Which chunk of the shard.
    count : int
        How many chunks a shard of the array has.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        If the table of the shard is damaged or does not name the chunk.
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        end = stream.tell() - _table_bytes(count)
        stream.seek(max(0, end))
        table = stream.read()
        if end < 0 or checksum_of(table) == DAMAGED:
            raise ValueError("the table of a shard is damaged")
        start, length = np.frombuffer(table, dtype="<u8", count=2, offset=place * _ROW_BYTES)
        if int(start) + int(length) > end:
            raise ValueError("a chunk is not in its shard")
        stream.seek(int(start))
        return stream.read(int(length))


def _table_bytes(count: int) -> int:
    return count * _ROW_BYTES + CHECKSUM_BYTES
