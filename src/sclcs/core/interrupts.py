"""Ctrl-C that is never lost.

An interruption that arrives while compiled code calls back into Python, or while an object is
being cleaned up, is printed and dropped by the interpreter. It is remembered here, and the next
step of any counted work raises it again.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

__all__ = ["raise_if_interrupted", "was_interrupted", "watch_interrupts"]

_asked = threading.Event()


def watch_interrupts() -> None:
    """Remember every Ctrl-C from now on; those of before are forgotten."""
    _asked.clear()
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    _asked.set()
    signal.default_int_handler(number, frame)


def was_interrupted() -> bool:
    """Say whether Ctrl-C was pressed."""
    return _asked.is_set()


def raise_if_interrupted() -> None:
    """Raise the interruption again if it was lost."""
    if _asked.is_set():
        raise KeyboardInterrupt
