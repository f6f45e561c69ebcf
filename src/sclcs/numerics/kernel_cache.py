"""Compiled kernels on disk that know all they were compiled from.

numba keeps a compiled loop until the file that it stands in changes. What it calls is compiled
into it and may stand in another file: after that one changed, the old machine code would go on
giving old numbers. So the folder of a kernel and this one, where all kernels may call, are part
of what numba compares.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sclcs.core.identity import bytes_digest

__all__ = ["sources_of", "stamp_with_sources"]


def stamp_with_sources(compiled: Any) -> None:  # noqa: ANN401
    """Let a compiled function be taken from disk only if no source that it may call changed.

    Parameters
    ----------
    compiled : numba dispatcher
        With a cache on disk. Where numba cannot write one there is nothing to compare.
    """
    file = getattr(compiled._cache, "_cache_file", None)
    if file is not None:
        file._source_stamp = (file._source_stamp, *map(_digest, _folders(compiled)))


def sources_of(compiled: Any) -> set[Path]:  # noqa: ANN401
    """Return the files that a compiled function may be made from."""
    return {file for folder in _folders(compiled) for file in _files(folder)}


def _folders(compiled: Any) -> list[Path]:  # noqa: ANN401
    return sorted({Path(compiled.py_func.__code__.co_filename).parent, Path(__file__).parent})


@cache
def _digest(folder: Path) -> str:
    return bytes_digest(b"\0".join(file.read_bytes() for file in _files(folder)))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))
