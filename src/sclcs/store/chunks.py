"""Single chunks of an array, written and checked without going through zarr.

zarr's own writer takes several milliseconds per chunk (an event loop, a thread, a read of
what was there before), which is more than many operators need to compute it. The bytes are
those that zarr writes for a `direct` array of :func:`sclcs.store.create_array`: a test
holds the two together.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import DamagedStoreError
from sclcs.core.files import write_bytes
from sclcs.store.zarr_group import DIRECT_COMPRESSION_LEVEL

__all__ = ["chunk_checksum", "chunk_path", "read_chunk", "write_chunk"]

_CHECKSUM_BYTES = 4


def chunk_path(array_folder: Path, place: Sequence[int]) -> Path:
    """Return the file of a chunk of a direct array, as zarr names it: ``c.0.0.0``."""
    return array_folder / ".".join(["c", *(str(number) for number in place)])


def write_chunk(
    path: str | os.PathLike[str], values: NDArray[np.float32], chunk_shape: Sequence[int]
) -> str:
    """Write one whole chunk in one step.

    Parameters
    ----------
    path : path-like
        From :func:`chunk_path`.
    values : array
        What the chunk holds; smaller than the chunk at the end of the array.
    chunk_shape : sequence of int
        Shape of every chunk of the array. What `values` leaves is NaN, the fill value.

    Returns
    -------
    str
        The checksum, as :func:`chunk_checksum` finds it again.
    """
    import google_crc32c
    from numcodecs.zstd import Zstd

    whole = np.full(tuple(chunk_shape), np.nan, dtype="<f4")
    whole[tuple(slice(size) for size in values.shape)] = values
    payload = bytes(Zstd(level=DIRECT_COMPRESSION_LEVEL).encode(whole))
    checksum = int(google_crc32c.value(payload))
    content = payload + checksum.to_bytes(_CHECKSUM_BYTES, "little")
    # Its record names the checksum: a chunk that a power cut took is noticed and made again.
    write_bytes(path, content, durable=False)
    return f"{checksum:08x}"


def read_chunk(
    path: str | os.PathLike[str], chunk_shape: Sequence[int], expected: str | None = None
) -> NDArray[np.float32]:
    """Read one whole chunk, as :func:`write_chunk` wrote it.

    Parameters
    ----------
    path : path-like
        From :func:`chunk_path`.
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
    DamagedStoreError
        If the content does not agree with its checksum, or nothing is there.
    """
    from numcodecs.zstd import Zstd

    try:
        payload, checksum = _payload(Path(path))
        known = checksum is not None and expected in {None, f"{checksum:08x}"}
        content = Zstd().decode(payload) if known else b""
        return np.frombuffer(content, dtype="<f4").reshape(tuple(chunk_shape))
    except (OSError, ValueError, RuntimeError) as error:
        raise DamagedStoreError(
            f"The chunk {path} is gone or damaged; make it again from its source."
        ) from error


def chunk_checksum(path: str | os.PathLike[str]) -> str:
    """Return the checksum of a chunk's content, or why there is none: ``missing``, ``damaged``.

    Parameters
    ----------
    path : path-like
        From :func:`chunk_path`.

    Returns
    -------
    str
        Eight hexadecimal digits if the content agrees with the checksum at its end.
    """
    try:
        _, checksum = _payload(Path(path))
    except OSError:
        return "missing"
    return "damaged" if checksum is None else f"{checksum:08x}"


def _payload(path: Path) -> tuple[bytes, int | None]:
    """Return the content of a chunk without its checksum, and the checksum; None if it is wrong."""
    import google_crc32c

    content = path.read_bytes()
    payload, stored = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    checksum = int(google_crc32c.value(payload))
    intact = checksum.to_bytes(_CHECKSUM_BYTES, "little") == stored
    return payload, checksum if intact else None
