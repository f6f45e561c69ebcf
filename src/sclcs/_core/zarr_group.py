"""Thin helpers over zarr v3 that fix the conventions of cohorts in one place.

Arrays carry named dimensions, are compressed with Zstandard and end each chunk with a
CRC-32C, so that a damaged chunk is an error and never a wrong number. The fill value of
floats is NaN: a chunk that is missing can be told from one that holds zeros.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sclcs._core.errors import DamagedStoreError, UnreadableFileError
from sclcs._core.files import atomic_directory, require_existing

if TYPE_CHECKING:
    import zarr

SIGNAL_CHUNK_BYTES = 2**20
SIGNAL_COMPRESSION = 1


def rows_per_chunk(row_bytes: int) -> int:
    """Return how many rows make a chunk of about one mebibyte."""
    return max(1, SIGNAL_CHUNK_BYTES // max(1, row_bytes))


@contextmanager
def atomic_group(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder for a zarr group that becomes `path` only if the block succeeds.

    zarr writes several files at a time and raises the first error while the others are on
    their way. They are waited for, or they would make folders anew in what is being removed.
    """
    with atomic_directory(path) as folder:
        try:
            yield folder
        except BaseException:
            _end_writes()
            raise


def _end_writes() -> None:
    """Wait for everything that zarr has begun; what becomes of it does not matter any more."""
    import asyncio

    from zarr.core.sync import sync

    async def end_others() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    sync(end_others())


def create_group(path: str | os.PathLike[str]) -> zarr.Group:
    """Create an empty zarr v3 group in a new or empty folder."""
    import zarr

    return zarr.create_group(str(path), zarr_format=3)


def open_group(path: str | os.PathLike[str], kind: str, content: str) -> zarr.Group:
    """Open a group read-only and check that it is of a kind.

    Parameters
    ----------
    path : path-like
        The folder.
    kind : str
        What must stand in the group's attribute ``sclcs_kind``: ``cohort``.
    content : str
        A folder that every such group has: without metadata it is damaged, not something else.
    """
    import zarr

    path = require_existing(path, f"{kind} folder")
    try:
        # Absolute: views of its arrays may be used by workers that started elsewhere.
        group = zarr.open_group(str(path.absolute()), mode="r", zarr_format=3)
        if group.attrs.get("sclcs_kind") == kind:
            return group
    except Exception as error:
        if (path / content).is_dir():
            raise DamagedStoreError(
                f"The metadata of the {kind} at {path} (zarr.json) is damaged or gone; take it "
                f"from a backup, or make the {kind} again from its source."
            ) from error
    raise UnreadableFileError(
        f"Expected a {kind} written by sclcs at {path}, but found something else; `sclcs import` "
        f"makes a {kind} from other formats."
    )


def require_format(path: str | os.PathLike[str], attributes: Mapping[str, Any], known: int) -> None:
    """Raise if a folder is of another format than this version of sclcs writes."""
    found = attributes.get("format_version")
    if not isinstance(found, int):
        raise DamagedStoreError(
            f"The metadata of {path} does not give its format; it is damaged, take it from a "
            "backup or make it again."
        )
    if found != known:
        raise UnreadableFileError(
            f"Expected format {known} at {path}, found format {found}, written by sclcs "
            f"{attributes.get('sclcs_version')}: update sclcs, or make it again."
        )


def create_array(
    group: zarr.Group,
    name: str,
    shape: Sequence[int],
    dtype: DTypeLike,
    *,
    chunks: Sequence[int],
    dimensions: Sequence[str],
    attributes: Mapping[str, Any] | None = None,
) -> zarr.Array[Any]:
    """Create an array with our compression, checksum and fill value."""
    from zarr.codecs import Crc32cCodec, ZstdCodec

    dtype = np.dtype(dtype)
    return group.create_array(
        name,
        shape=tuple(shape),
        dtype=dtype,
        chunks=tuple(max(1, c) for c in chunks),
        compressors=[ZstdCodec(level=SIGNAL_COMPRESSION), Crc32cCodec()],
        fill_value=np.nan if dtype.kind == "f" else 0,
        dimension_names=tuple(dimensions),
        attributes=dict(attributes or {}),
    )


def read_array(array: zarr.Array[Any], selection: Any = ...) -> NDArray[Any]:  # noqa: ANN401
    """Read part of an array (as in ``array.oindex``); a damaged chunk is a clear error."""
    try:
        return np.asarray(array.oindex[selection])
    # What zarr and its codecs raise when bytes or metadata are damaged.
    except (ValueError, RuntimeError, EOFError, LookupError, TypeError, OSError) as error:
        raise DamagedStoreError(
            f"The array {array.name or array.path} in {array.store_path} is damaged ({error}); "
            "make the store again from its source."
        ) from error
