"""What operating systems do differently: marks on files in use, folders on the disk, memory.

Windows has neither ``fcntl`` nor ``resource``. What is missing there is said at each function;
nothing else in the package imports these modules.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    resource = None  # type: ignore[assignment]


def mark_folder(path: Path) -> int | None:
    """Mark a folder as in use until :func:`release`; None where that is not possible."""
    if fcntl is None:
        return None
    held = os.open(path, os.O_RDONLY)
    with suppress(OSError):  # some network disks have no locks: nothing is swept there
        fcntl.flock(held, fcntl.LOCK_SH)
    return held


def release(mark: int | None) -> None:
    """End what :func:`mark_folder` began."""
    if mark is not None:
        os.close(mark)


def mark_file(stream: IO[Any]) -> None:
    """Mark an open file as in use until it is closed; Windows does so by itself."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_SH)


def rename_marked(stream: IO[Any], partial: Path, path: Path) -> None:
    """Rename a file while it is in use; on Windows as soon as it is not, which it demands."""
    if fcntl is None:
        stream.close()
    partial.replace(path)


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Say whether nobody uses a file or folder, and hold it meanwhile.

    Windows refuses to remove a file that is open, so any may be tried there. Of a folder it
    cannot be known: it stays.
    """
    if fcntl is None:
        yield path.is_file()
        return
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises OSError
        yield True
    finally:
        os.close(held)


def flush_to_disk(path: Path) -> None:
    """Wait until a file or folder is on the disk; on Windows only files can be waited for."""
    held = os.open(path, os.O_RDONLY if fcntl is not None else os.O_RDWR)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def address_space_limit() -> int | None:
    """Return how many bytes of address space a process may have; None if there is no limit."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else int(limit)


def peak_memory() -> int:
    """Return the most memory that this process has held, in bytes.

    Linux's ``ru_maxrss`` would count the process that started this one, too.
    """
    with suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(
            int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")
        )
    if resource is None:
        import psutil

        held = psutil.Process().memory_info()
        return int(getattr(held, "peak_wset", held.rss))
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest * (1 if sys.platform == "darwin" else 1024)


@contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Let processes that are started inside inherit that Ctrl-C is blocked.

    Windows has no such mask; there workers may show a traceback of their own.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
