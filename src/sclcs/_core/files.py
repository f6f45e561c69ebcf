"""Files that a crash, a full disk or a second run never leaves half, and that are read once.

What is written here is on the disk when the call returns (``fsync`` of the file and of its
folder), so that a power cut takes nothing back that a later file already speaks of.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from sclcs._core.errors import InputError, NotFoundError, OutputExistsError, WriteError
from sclcs._core.platform import (
    claimed,
    flush_to_disk,
    mark_file,
    mark_folder,
    release,
    rename_marked,
)

Value = TypeVar("Value")

PARTIAL = ".partial"
CACHE_VARIABLE = "SCLCS_CACHE"

_NO_SPACE = "no space is left there; free some or choose another folder."
_FORBIDDEN = "writing there is not allowed; choose another folder."
_NO_FOLDER = "one of its folders is a file; choose another folder."
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _NO_SPACE),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _FORBIDDEN),
    errno.EIO: "the disk does not answer as it should; choose another folder.",
}
# These also come from reading; they are explained if they are about the output itself.
_ADVICE_ON_NAMES = {
    errno.ENAMETOOLONG: "the name is too long for this disk; choose a shorter one.",
    errno.ENOENT: "its folder cannot be made there; choose another folder.",
    errno.ENOTDIR: _NO_FOLDER,
    errno.EEXIST: _NO_FOLDER,
    errno.EISDIR: "it is a folder; choose another name.",
    errno.ELOOP: "a link on the way there points at itself; choose another folder.",
    errno.EINVAL: "the disk does not take such a name; choose another.",
}
_FLUSHED_AT_ONCE = 16  # several at a time share the disk's own work


def _exists(path: Path) -> bool:
    """Say whether something is there; a path that cannot be is a user's mistake."""
    try:
        return path.exists()
    except (OSError, ValueError) as error:
        shown = str(path) if len(str(path)) < 100 else f"{str(path)[:60]}..."
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"The path {shown!r} cannot be used ({reason}); choose another."
        ) from error


def require_existing(path: str | os.PathLike[str], what: str = "file or folder") -> Path:
    """Return the path, or raise a :class:`NotFoundError` that names it."""
    path = Path(path)
    if not _exists(path):
        raise NotFoundError(f"Expected a {what} at {path}, but nothing is there; check the path.")
    return path


def refuse_existing(path: str | os.PathLike[str]) -> Path:
    """Return the path of a new output, or raise if something is already there."""
    path = Path(path)
    if _exists(path):
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
        advice = _advice(error, path)
        if isinstance(error, WriteError) or advice is None:
            raise
        raise WriteError(f"Could not write {path}: {advice} Nothing was left behind.") from error


def _advice(error: OSError, path: Path) -> str | None:
    """Return what to do about an error of the system, if it is one of writing `path`."""
    if error.errno in _ADVICE:
        return _ADVICE[error.errno]
    concerned = Path(os.fsdecode(error.filename or ""))
    own = concerned in {path, *path.parents} or (
        concerned.parent == path.parent and concerned.suffix == PARTIAL
    )
    return _ADVICE_ON_NAMES.get(error.errno or 0) if own else None


@contextmanager
def atomic_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder that becomes `path`, which must not exist, if the block succeeds.

    It is removed if the block raises; what earlier attempts left that were killed is removed first.
    """
    path = refuse_existing(path)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partials(path.parent, path.name)
        partial, held = _held_folder(path)
        try:
            yield partial
            settle(Path(root) / name for root, _, names in os.walk(partial) for name in names)
            refuse_existing(path)  # another run may have finished meanwhile
            partial.rename(path)
            _flush_folder(path.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        finally:
            release(held)


def _partial_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{PARTIAL}")


def _held_folder(path: Path) -> tuple[Path, int | None]:
    """Make a partial folder and hold it, so that nobody takes it for a leftover."""
    while True:
        partial = _partial_name(path)
        partial.mkdir()
        try:
            held = mark_folder(partial)
        except FileNotFoundError:  # swept away before it was held
            continue
        if partial.exists():
            return partial, held
        release(held)


def remove_partials(folder: Path, name: str | None = None) -> None:
    """Remove what writers of a file or folder (or of any) left that were killed.

    Writers that are at work hold theirs.
    """
    own = "*" if name is None else glob.escape(name)
    for leftover in folder.glob(f".{own}.????????{PARTIAL}"):
        with suppress(OSError), claimed(leftover) as unused:
            if unused and leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            elif unused:
                leftover.unlink(missing_ok=True)


def settle(paths: Iterable[Path]) -> None:
    """Wait until files and their folders are on the disk."""
    files = list(paths)
    folders = {path.parent for path in files}
    with ThreadPoolExecutor(_FLUSHED_AT_ONCE) as pool:
        for _ in pool.map(flush_to_disk, files):
            pass
    for folder in sorted(folders, reverse=True):
        _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):  # not every disk can; the file itself is there
        flush_to_disk(folder)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, durable: bool = True) -> Path:
    """Write a file in one step: readers see the old content or the new, never half.

    Whoever writes thousands of files says ``durable=False`` and calls :func:`settle` at the end.
    """
    path = Path(path)
    partial = _partial_name(path)
    with explain_write_errors(path):
        try:
            with partial.open("wb") as stream:
                mark_file(stream)
                stream.write(content)
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
                rename_marked(stream, partial, path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
    if durable:
        _flush_folder(path.parent)
    return path


def write_text(path: str | os.PathLike[str], text: str, *, durable: bool = True) -> Path:
    """Write a text file (UTF-8, line ends as they are) in one step."""
    return write_bytes(path, text.encode("utf-8"), durable=durable)


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
        From a path to the value; called again only if the file has changed. All callers share
        what it returns, so nobody may change it.
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
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


MARK = "'"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", MARK)


def guard_cell(text: str) -> str:
    """Mark a text that begins like a formula; :func:`unguard_cell` gives it back.

    Examples
    --------
    >>> guard_cell("=SUM(A1)"), guard_cell("-1"), guard_cell("sub-01")
    ("'=SUM(A1)", "'-1", 'sub-01')
    """
    text = str(text)
    return MARK + text if text.startswith(_FORMULA) else text


def unguard_cell(text: str) -> str:
    """Return the text that :func:`guard_cell` marked."""
    return text[1:] if text.startswith(MARK) else text


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return where results are kept: the argument, $SCLCS_CACHE, or the user's cache folder."""
    if folder is not None:
        return Path(folder)
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    import platformdirs

    return Path(platformdirs.user_cache_dir("sclcs", appauthor=False))
