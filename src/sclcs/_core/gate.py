"""The gate for files from outside: what is opened, how much of it, and what damage is called.

Whoever reads a file that a user points at goes through here. A file is a regular file (never a
pipe or a device, which would block for ever or never end), what its header declares fits into
what it holds, and whatever a parser raises becomes one sentence that names the file.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sclcs._core.errors import InputError, NotFoundError, SclcsError, UnreadableFileError

#: What deflate can shrink a file to at best; a header that declares more lies.
LARGEST_RATIO = 1040
#: What tables and signals are compressed by at most (text of numbers by 3 to 10, padded arrays by
#: ten); beyond it a file would fill the memory with nothing. Small files may be anything.
PLAUSIBLE_RATIO, SMALL_FILE = 100, 2**28
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def regular_file(path: str | os.PathLike[str], what: str = "file") -> Path:
    """Return the path of a regular file (links are followed), or raise and say what is there.

    `what` is expected, for example ``"a MATLAB file"``.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise NotFoundError(
            f"Expected {what} at {path}, but nothing is there; check the path."
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFileError(
            f"Expected {what} at {path}, but it cannot be opened ({reason}); check the path."
        ) from error
    if not stat.S_ISREG(mode):
        found = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise UnreadableFileError(
            f"Expected {what} at {path}, but {found} is there; give a regular file."
        )
    return path


def read_text_input(path: str | os.PathLike[str], what: str = "text in UTF-8") -> str:
    """Read a regular text file in UTF-8, with or without a byte order mark."""
    path = regular_file(path, what)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"Expected text in UTF-8 in {path}, found other bytes at position {error.start}; "
            "save it again as UTF-8."
        ) from error
    except OSError as error:
        raise UnreadableFileError(
            f"Expected {what} at {path}, but it cannot be read ({error.strerror}); check it."
        ) from error


def read_json(path: str | os.PathLike[str], what: str = "a JSON object") -> dict[str, Any]:
    """Read a JSON object; nesting that has no end is damage like any other."""
    text = read_text_input(path, what)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise UnreadableFileError(
            f"Expected {what} in {path}, but it cannot be read as JSON ({reason}); make it again."
        ) from error
    if not isinstance(content, dict):
        raise UnreadableFileError(
            f"Expected {what} in {path}, but it holds no JSON object; make it again."
        )
    return content


def read_yaml(path: str | os.PathLike[str], what: str = "YAML") -> Any:  # noqa: ANN401
    """Read a YAML file; nothing in it can run code, and nothing is too deep or too long."""
    import yaml

    text = read_text_input(path, what)
    try:
        return yaml.safe_load(text)
    # Numbers of thousands of digits are a ValueError, dates that are none too.
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, LookupError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise UnreadableFileError(f"Expected {what} in {path}: {reason}") from error


@contextmanager
def explain_damage(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever a parser of a regular file raises into an :class:`UnreadableFileError`.

    `expected` is what it should be, for example ``"a MATLAB file"``.
    """
    regular_file(path, expected)
    try:
        yield
    except SclcsError:
        raise
    # Fed with damaged bytes, the parsers of zip, xml, HDF5 and NIfTI files raise anything, from
    # zlib.error to UnboundLocalError, RecursionError and MemoryError; so the block must hold
    # calls of a parser only.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UnreadableFileError(
            f"Expected {expected} in {path}, but it is truncated, damaged or of another format "
            f"({reason}); fetch or save it again."
        ) from error


def _most_unpacked(packed: int) -> int:
    return max(SMALL_FILE, PLAUSIBLE_RATIO * packed)


class _CappedGzip(gzip.GzipFile):
    """Text that stops where no table of numbers would be so long."""

    def read1(self, size: int = -1) -> bytes:
        part = super().read1(size)
        packed = Path(self.name).stat().st_size
        if self.tell() > _most_unpacked(packed):
            raise UnreadableFileError(_bomb(self.name, packed))
        return part


def open_gzip(path: Path) -> io.TextIOWrapper:
    """Open a text compressed with gzip; an endless one is an error, not full memory."""
    return io.TextIOWrapper(_CappedGzip(path), encoding="utf-8-sig")


def _bomb(path: object, packed: int) -> str:
    return (
        f"{path} unpacks to more than {PLAUSIBLE_RATIO} times its {packed} bytes, as no data does; "
        "fetch or save it again, without compression if it is really so."
    )


def refuse_inflated(
    path: Path, declared: int, *, held: int | None = None, packed: bool = False
) -> None:
    """Refuse a file whose header declares more bytes than it can hold, before any is allocated.

    Parameters
    ----------
    path : Path
    declared : int
        Bytes that the header promises.
    held : int, optional
        Bytes that are there for them; the size of the file if not given.
    packed : bool
        Whether they are compressed.
    """
    there = regular_file(path).stat().st_size if held is None else held
    limit = there * LARGEST_RATIO if packed else there
    if declared < 0 or declared > limit:
        raise UnreadableFileError(
            f"The header of {path} declares {declared} bytes of values, but only {there} are "
            "there; it is truncated or damaged, fetch or save it again."
        )
    if packed and declared > _most_unpacked(there):
        raise UnreadableFileError(_bomb(path, there))
    require_memory(declared, str(path))


def require_memory(needed: float, what: str) -> None:
    """Refuse what needs more memory (in bytes) than the machine has, before it is begun."""
    import psutil

    there = psutil.virtual_memory().total
    if needed > there:
        raise InputError(
            f"{what} would need {needed / 1e9:.3g} GB of memory, but this machine has "
            f"{there / 1e9:.3g} GB; choose less, or a larger machine."
        )
