"""One run at a time in a folder."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from filelock import FileLock, Timeout

from sclcs.core.errors import StoreInUseError
from sclcs.core.files import explain_write_errors, write_json
from sclcs.workflow.run.folder import RunFolder

__all__ = ["run_lock"]

LOCK = ".lock"
HOLDER = ".lock.json"


@contextmanager
def run_lock(folder: RunFolder) -> Iterator[None]:
    """Hold the folder alone, or say who holds it.

    The lock belongs to the operating system: it vanishes with the process, however it ends.
    """
    lock = FileLock(folder.path / LOCK)
    holder = folder.path / HOLDER
    try:
        with explain_write_errors(folder.path):
            lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreInUseError(
            f"Another run is at work in {folder.path} ({_holder(folder)}); wait until it ends, "
            "stop it, or choose another folder."
        ) from error
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(holder, {"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def _holder(folder: RunFolder) -> str:
    with suppress(OSError, ValueError, KeyError):
        facts = json.loads((folder.path / HOLDER).read_text(encoding="utf-8"))
        return f"process {facts['pid']} on {facts['host']}, since {facts['since']}"
    return "a process that has just begun"
