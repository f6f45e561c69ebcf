"""Writing files so that a crash, a full disk or a second run never leaves half an output."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sclcs.core.errors import NotFoundError, OutputExistsError, WriteError

__all__ = [
    "atomic_directory",
    "explain_write_errors",
    "refuse_existing",
    "require_existing",
    "write_bytes",
    "write_json",
    "write_text",
]

_OUT_OF_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def require_existing(path: str | os.PathLike[str], what: str = "file or folder") -> Path:
    """Return the path, or raise a :class:`NotFoundError` that names it."""
    path = Path(path)
    if not path.exists():
        raise NotFoundError(f"Expected a {what} at {path}, but nothing is there; check the path.")
    return path


def refuse_existing(path: str | os.PathLike[str]) -> Path:
    """Return the path of a new output, or raise if something is already there."""
    path = Path(path)
    if path.exists():
        raise OutputExistsError(
            f"The output {path} already exists and is never overwritten; "
            "remove it or choose another name."
        )
    return path


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Turn the system's write errors into a :class:`WriteError` that says what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, WriteError):
            raise
        if error.errno in _OUT_OF_SPACE:
            advice = "no space is left there; free some or choose another place."
        elif error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            advice = "writing there is not allowed; choose another place."
        else:
            raise
        raise WriteError(f"Could not write {path}: {advice} Nothing was left behind.") from error


@contextmanager
def atomic_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` only if the block succeeds.

    Parameters
    ----------
    path : path-like
        The folder to create. It must not exist.

    Yields
    ------
    Path
        A folder beside `path` to write into. It is removed if the block raises.
    """
    path = refuse_existing(path)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.mkdir()
            yield partial
            refuse_existing(path)  # another run may have finished meanwhile
            partial.rename(path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file in one step: readers see the old content or the new, never half."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    with explain_write_errors(path):
        try:
            partial.write_bytes(content)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return path


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file (UTF-8, line ends as they are) in one step."""
    return write_bytes(path, text.encode("utf-8"))


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write a mapping as indented JSON, in one step."""
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
