"""Zarr groups on disk: created whole or not at all, every chunk with a checksum."""

from sclcs.store.chunk_seals import CHUNKS, check_chunks, chunk_checksums
from sclcs.store.chunks import checksum_of, chunk_name, decode_chunk, encode_chunk, sealed
from sclcs.store.shards import read_shard_chunk, write_shard
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
    "checksum_of",
    "chunk_checksums",
    "chunk_name",
    "create_array",
    "create_group",
    "decode_chunk",
    "encode_chunk",
    "open_group",
    "read_array",
    "read_shard_chunk",
    "require_format",
    "rows_per_chunk",
    "sealed",
    "write_shard",
]
