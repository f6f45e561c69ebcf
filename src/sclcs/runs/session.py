"""One run at a time in a folder, and a log of what happens there."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

import sclcs
from sclcs.core.errors import StoreInUseError
from sclcs.core.files import explain_write_errors, write_json
from sclcs.run_folder import RunFolder
from sclcs.runs.stages import WaitingForJobs

__all__ = ["RunLog", "run_lock"]

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


class RunLog(logging.Handler):
    """Appends lines to a file; a full disk never stops the work because of its log.

    Parameters
    ----------
    file : Path
    tell : callable, optional
        Is given the lines that are meant for a person, too.
    """

    def __init__(self, file: Path, tell: Callable[[str], None] | None = None) -> None:
        super().__init__(logging.INFO)
        self._file, self._tell = file, tell

    def say(self, line: str) -> None:
        """Append a line and tell it to the person who waits."""
        self.write(line)
        if self._tell is not None:
            self._tell(line)

    def write(self, line: str) -> None:
        """Append a line with the time."""
        stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        with suppress(OSError), self._file.open("a", encoding="utf-8") as stream:
            stream.write(f"{stamp}  {line}\n")

    def emit(self, record: logging.LogRecord) -> None:
        """Append what the package logs (warnings, or more with ``--verbose``)."""
        self.write(f"{record.levelname.lower()}: {record.getMessage()}")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Write when the work begins and how it ends, and what the package logs meanwhile."""
        logger = logging.getLogger("sclcs")
        logger.addHandler(self)
        self.write(
            f"--- sclcs {sclcs.__version__}, process {os.getpid()} on {socket.gethostname()}"
        )
        try:
            yield
            self.write("finished")
        except KeyboardInterrupt:
            self.write("stopped by Ctrl-C")
            raise
        except WaitingForJobs as pause:
            self.write(str(pause))
            raise
        except Exception as error:
            self.write(f"failed: {error}")
            raise
        finally:
            logger.removeHandler(self)
