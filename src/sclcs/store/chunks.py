"""Single chunks of an array, encoded and checked without going through zarr.

zarr's own writer takes several milliseconds per chunk (an event loop, a thread, a read of
what was there before), which is more than many operators need to compute it. The bytes are
those that zarr writes for an array with shards of :func:`sclcs.store.create_array`: a test
holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sclcs.store.zarr_group import DIRECT_COMPRESSION_LEVEL

__all__ = ["CHECKSUM_BYTES", "checksum_of", "chunk_name", "decode_chunk", "encode_chunk", "sealed"]

CHECKSUM_BYTES = 4
DAMAGED = "damaged"


def chunk_name(place: Sequence[int]) -> str:
    """Return the name of the file of a chunk (or shard), as zarr has it: ``c.0.0.0``."""
    return ".".join(["c", *map(str, place)])


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
    return sealed(bytes(Zstd(level=DIRECT_COMPRESSION_LEVEL).encode(whole)))


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
