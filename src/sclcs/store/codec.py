"""The bytes of a chunk and of the index of a shard, as zarr's codecs have them.

zarr's own writer takes several milliseconds per chunk (an event loop, a thread, a read of what
was there before), which is more than many operators need to compute it. A test holds these bytes
and those of zarr together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "COMPRESSION_LEVEL",
    "checksum_of",
    "decode_chunk",
    "encode_chunk",
    "sealed",
    "shard_index",
]

CHECKSUM_BYTES = 4
DAMAGED = "damaged"
# Matrices of float32 hardly shrink (by a tenth at level 1) and are computed in no time: here
# compression is for chunks that hold nothing but NaN.
COMPRESSION_LEVEL = -5
#: What the index of a shard says of a chunk that is not there.
_ABSENT = 2**64 - 1


def encode_chunk(values: NDArray[np.float32], chunk_shape: Sequence[int]) -> bytes:
    """Return the bytes of one whole chunk, which end with their checksum.

    Parameters
    ----------
    values : array
        What the chunk holds; smaller than the chunk at the end of the array.
    chunk_shape : sequence of int
        Shape of every chunk of the array. What `values` leaves is NaN, the fill value.

    Returns
    -------
    bytes
    """
    from numcodecs.zstd import Zstd

    whole = np.full(tuple(chunk_shape), np.nan, dtype="<f4")
    whole[tuple(slice(size) for size in values.shape)] = values
    return sealed(bytes(Zstd(level=COMPRESSION_LEVEL).encode(whole)))


def decode_chunk(
    content: bytes, chunk_shape: Sequence[int], expected: str | None = None
) -> NDArray[np.float32]:
    """Return the numbers of a chunk.

    Parameters
    ----------
    content : bytes
        From :func:`encode_chunk`.
    chunk_shape : sequence of int
        Shape of every chunk of the array.
    expected : str, optional
        The checksum that was recorded; a chunk with another one, though intact, is not the one
        that was written there.

    Returns
    -------
    array of float32
        Of the shape of a chunk.

    Raises
    ------
    ValueError
        If the content does not agree with its checksum or with the recorded one.
    """
    from numcodecs.zstd import Zstd

    found = checksum_of(content)
    if found == DAMAGED or expected not in {None, found}:
        raise ValueError("a chunk is not the one that was written")
    try:
        numbers = Zstd().decode(content[:-CHECKSUM_BYTES])
    except RuntimeError as error:
        raise ValueError("a chunk cannot be decoded") from error
    return np.frombuffer(numbers, dtype="<f4").reshape(tuple(chunk_shape))


def sealed(payload: bytes) -> bytes:
    """Return bytes with their CRC-32C at the end, as zarr's codec of that name appends it."""
    import google_crc32c

    return payload + int(google_crc32c.value(payload)).to_bytes(CHECKSUM_BYTES, "little")


def checksum_of(content: bytes) -> str:
    """Return the checksum at the end of some bytes, or ``damaged`` if they do not agree with it.

    Parameters
    ----------
    content : bytes
        From :func:`sealed` or :func:`encode_chunk`.

    Returns
    -------
    str
        Eight hexadecimal digits, or ``damaged``.
    """
    import google_crc32c

    stored = int.from_bytes(content[-CHECKSUM_BYTES:], "little")
    whole = len(content) > CHECKSUM_BYTES
    intact = whole and int(google_crc32c.value(content[:-CHECKSUM_BYTES])) == stored
    return f"{stored:08x}" if intact else DAMAGED


def shard_index(spans: Mapping[int, tuple[int, int]], count: int) -> bytes:
    """Return the index with which a shard ends: where each of its chunks is.

    Parameters
    ----------
    spans : mapping of int to tuple of int
        Start and length in the file of the chunks that are there.
    count : int
        How many chunks a shard of the array has.

    Returns
    -------
    bytes
    """
    table = np.full((count, 2), _ABSENT, dtype="<u8")
    for number, span in spans.items():
        table[number] = span
    return sealed(table.tobytes())
