"""Zarr groups on disk: created whole or not at all, every chunk with a checksum."""

from sclcs.store.chunks import chunk_checksum, chunk_path, read_chunk, write_chunk
from sclcs.store.zarr_group import (
    create_array,
    create_group,
    open_group,
    read_array,
    rows_per_chunk,
)

__all__ = [
    "chunk_checksum",
    "chunk_path",
    "create_array",
    "create_group",
    "open_group",
    "read_array",
    "read_chunk",
    "rows_per_chunk",
    "write_chunk",
]
