"""``run.log``: what happened in a run, for a person who looks later."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

__all__ = ["RunLog"]


class RunLog(logging.Handler):
    """Appends lines to a file; a full disk never stops the work because of its log.

    Parameters
    ----------
    file : Path
    """

    def __init__(self, file: Path) -> None:
        super().__init__(logging.INFO)
        self._file = file

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
        """Also take what the package logs meanwhile."""
        logger = logging.getLogger("sclcs")
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)
