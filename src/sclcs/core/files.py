"""Files that a crash, a full disk or a second run never leaves half, and that are read once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from sclcs.core.errors import NotFoundError, OutputExistsError, WriteError

__all__ = [
    "ReadOnce",
    "atomic_directory",
    "explain_write_errors",
    "refuse_existing",
    "require_existing",
    "write_bytes",
    "write_json",
    "write_text",
]

Value = TypeVar("Value")

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


class ReadOnce(Generic[Value]):
    """Reads files and keeps what was read until the file changes.

    Our files are replaced in one step, so another content is another file: its number, time or
    size differs. Whoever writes a file in this process calls :meth:`forget` as well, because
    two writes in one tick of the clock can leave all of these as they were.

    Parameters
    ----------
    read : callable
        From a path to the value; called again only if the file has changed. What it returns is
        shared by everybody and must not be changed.
    most : int
        How many files to remember.
    """

    def __init__(self, read: Callable[[Path], Value], most: int = 1024) -> None:
        self._read, self._most = read, most
        self._kept: OrderedDict[Path, tuple[tuple[int, ...] | None, Value]] = OrderedDict()

    def __call__(self, path: Path) -> Value:
        """Return what is in a file."""
        state = _state(path)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == state:
            return kept[1]
        value = self._read(path)
        self._kept[path] = state, value
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value

    def forget(self, path: Path) -> None:
        """Read a file again when it is asked for next."""
        self._kept.pop(path, None)


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
