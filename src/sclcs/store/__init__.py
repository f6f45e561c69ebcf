"""Zarr groups on disk: created whole or not at all, every chunk with a checksum."""

from sclcs.store.chunk_seals import CHUNKS, check_chunks, chunk_checksums
from sclcs.store.chunks import chunk_checksum, chunk_path, read_chunk, write_chunk
from sclcs.store.zarr_group import (
    atomic_group,
    create_array,
    create_group,
    open_group,
    read_array,
    require_format,
    rows_per_chunk,
)

__all__ = [
    "CHUNKS",
    "atomic_group",
    "check_chunks",
    "chunk_checksum",
    "chunk_checksums",
    "chunk_path",
    "create_array",
    "create_group",
    "open_group",
    "read_array",
    "read_chunk",
    "require_format",
    "rows_per_chunk",
    "write_chunk",
]
