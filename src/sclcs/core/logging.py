"""One logger for the package; silent in a library call, on stderr from the command line."""

from __future__ import annotations

import logging

__all__ = ["get_logger", "show_log"]

_ROOT = "sclcs"
logging.getLogger(_ROOT).addHandler(logging.NullHandler())


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module (pass ``__name__``)."""
    return logging.getLogger(name)


def show_log(verbosity: int = 0) -> None:
    """Send the package's log to stderr: warnings, then info (1), then debug (2)."""
    from rich.console import Console
    from rich.logging import RichHandler

    logger = logging.getLogger(_ROOT)
    for old in [h for h in logger.handlers if not isinstance(h, logging.NullHandler)]:
        logger.removeHandler(old)
    handler = RichHandler(
        console=Console(stderr=True), show_time=False, show_path=verbosity > 1, markup=False
    )
    logger.addHandler(handler)
    logger.setLevel([logging.WARNING, logging.INFO, logging.DEBUG][min(max(verbosity, 0), 2)])
