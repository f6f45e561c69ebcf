"""Chunks that must be those which were written: their checksums are named in the seal.

A chunk ends with a checksum of its content, which finds a flipped bit; it does not find a chunk of
an older version or of another place. The seal of the folder names the checksum of every chunk, and
whoever reads rows compares the last four bytes of the chunks that they are in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import DamagedStoreError, name_first
from sclcs.core.seal import read_seal

__all__ = ["CHUNKS", "check_chunks", "chunk_checksums"]

CHUNKS = "chunks"
_CHECKSUM_BYTES = 4


def chunk_checksums(array_folder: Path) -> list[str]:
    """Return the checksums of the chunks along the first axis, in order."""
    folder = array_folder / "c"
    count = sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
    return [_last_bytes(_file(array_folder, number)) for number in range(count)]


def check_chunks(array: Any, rows: NDArray[np.int64]) -> None:  # noqa: ANN401
    """Raise if the chunks that rows are in are not those that were signed.

    Parameters
    ----------
    array : zarr.Array
        Chunked along its first axis only, in a folder with a seal; without one nothing is known.
    rows : array of int
        Which rows are about to be read.
    """
    folder = Path(array.store.root) / array.path
    seal = read_seal(folder.parent)
    known = None if seal is None else seal.facts.get(CHUNKS)
    if known is None:
        return
    places = np.unique(rows // array.chunks[0]).tolist()
    wrong = [
        place
        for place in places
        if place >= len(known) or _last_bytes(_file(folder, place)) != known[place]
    ]
    if wrong:
        raise DamagedStoreError(
            f"Signals are missing from {folder.parent} or are not those that were written: "
            f"a chunk file is gone or changed ({name_first(wrong)}); take it from a backup or "
            "make the cohort again from its source."
        )


def _file(array_folder: Path, number: int) -> Path:
    return array_folder / "c" / str(number) / "0" / "0"


def _last_bytes(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(-_CHECKSUM_BYTES, os.SEEK_END)
            return stream.read().hex()
    except OSError:
        return "missing"
