"""Progress of long work: a bar on a terminal or in a notebook, plain lines in a log file.

The display is off until :func:`show_progress` turns it on (the command line does, and
``sclcs.run(progress=True)``), so that importing sclcs in a script or a notebook never prints.
"""

from __future__ import annotations

import logging
import math
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from types import FrameType
from typing import IO, Protocol, TypeVar

__all__ = [
    "Ticker",
    "announce",
    "card",
    "get_logger",
    "progress",
    "raise_if_interrupted",
    "show_log",
    "show_progress",
    "track",
    "was_interrupted",
    "watch_interrupts",
]


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


T = TypeVar("T")

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_UPDATES = 0.2  # of a bar in a notebook

_visible: ContextVar[bool] = ContextVar("sclcs_progress_visible", default=False)


class Ticker(Protocol):
    """Counts finished steps of one piece of work."""

    def advance(self, steps: int = 1) -> None:
        """Report that some steps are done."""


class _Silent:
    def advance(self, steps: int = 1) -> None:  # noqa: ARG002
        raise_if_interrupted()


class _PlainLines:
    """Progress as a log line every few seconds, for output that is not a terminal."""

    def __init__(self, description: str, total: int | None, stream: IO[str]) -> None:
        self._description = description
        self._total = total
        self._stream = stream
        self._done = 0
        self._start = self._last_line = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        raise_if_interrupted()
        self._done += steps
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._print(now)

    def finish(self) -> None:
        elapsed = time.monotonic() - self._start
        self._stream.write(f"{self._description}: {self._done} done in {elapsed:.1f} s\n")
        self._stream.flush()

    def _print(self, now: float) -> None:
        rate = self._done / max(now - self._start, 1e-9)
        if self._total is None:
            line = f"{self._description}: {self._done} ({rate:.1f}/s)\n"
        else:
            left = (self._total - self._done) / rate if rate > 0 else float("inf")
            line = (
                f"{self._description}: {self._done}/{self._total} "
                f"({rate:.1f}/s, about {left:.0f} s left)\n"
            )
        self._stream.write(line)
        self._stream.flush()


class _NotebookBar:
    """One line below the cell, written again as the work goes on."""

    def __init__(self, description: str, total: int | None) -> None:
        from IPython.display import display

        self._description, self._total = description, total
        self._done = 0
        self._start = self._last = time.monotonic()
        self._shown = display(self, display_id=True)

    def _repr_html_(self) -> str:
        most = "" if self._total is None else f' max="{self._total}"'
        of = "" if self._total is None else f" of {self._total}"
        seconds = time.monotonic() - self._start
        return (
            f"<div>{escape(self._description)} "
            f'<progress value="{self._done}"{most}></progress> {self._done}{of}, '
            f"{seconds:.0f} s</div>"
        )

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_UPDATES:
            self._last = now
            self._shown.update(self)

    def finish(self) -> None:
        self._shown.update(self)


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def announce(line: str) -> None:
    """Show a line: below the cell of a notebook, else on stderr."""
    stream = sys.stdout if in_notebook() else sys.stderr
    stream.write(f"{line}\n")
    stream.flush()


@contextmanager
def show_progress(visible: bool = True) -> Iterator[None]:
    """Show (or hide) the progress of everything inside the block."""
    token = _visible.set(visible)
    try:
        yield
    finally:
        _visible.reset(token)


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Ticker]:
    """Open a piece of work whose steps are reported by ``advance``.

    Parameters
    ----------
    description : str
        What is being done, for a person.
    total : int, optional
        Number of steps, if known.

    Yields
    ------
    Ticker
        Call ``advance()`` after each step.
    """
    stream = sys.stderr
    if not _visible.get():
        yield _Silent()
    elif in_notebook():
        bar = _NotebookBar(description, total)
        yield bar
        bar.finish()
    elif stream.isatty():
        with _rich_bar(description, total) as ticker:
            yield ticker
    else:
        lines = _PlainLines(description, total, stream)
        yield lines
        lines.finish()


@contextmanager
def _rich_bar(description: str, total: int | None) -> Iterator[Ticker]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f}/s")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(description, total=total)

        class _Bar:
            def advance(self, steps: int = 1) -> None:
                raise_if_interrupted()
                bars.advance(bar, steps)

        yield _Bar()


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Iterate over items and report each as one step.

    Parameters
    ----------
    items : iterable
        What to go through.
    description : str
        What is being done, for a person.
    total : int, optional
        Number of items; taken from ``len`` where possible.

    Yields
    ------
    object
        The items, unchanged.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    with progress(description, total) as ticker:
        for item in items:
            yield item
            ticker.advance()


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


_STYLE = (
    "<style>.sclcs-card{font-size:90%;line-height:1.4}.sclcs-card table{margin:.4em 0}"
    ".sclcs-card td,.sclcs-card th{text-align:left;padding:.1em .8em .1em 0}</style>"
)


def card(
    title: str,
    facts: Mapping[str, object] | None = None,
    header: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    sentences: Sequence[str] = (),
) -> str:
    """Return the HTML of an object.

    Parameters
    ----------
    title : str
        What it is.
    facts : mapping, optional
        Names and values.
    header, rows : sequence
        Of a table.
    sentences : sequence of str
        Below the facts.

    Returns
    -------
    str

    Examples
    --------
    >>> "&lt;b&gt;" in card("A <b>")
    True
    """
    parts = [f"<strong>{escape(title)}</strong>"]
    if facts:
        pairs = (f"{escape(name)}: {escape(_text(value))}" for name, value in facts.items())
        parts.append(f"<div>{' · '.join(pairs)}</div>")
    parts += [f"<div>{escape(sentence)}</div>" for sentence in sentences]
    body = [f"<tr>{_cells('td', map(_text, row))}</tr>" for row in rows]
    if body:
        parts.append(
            f"<table><thead><tr>{_cells('th', header)}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table>"
        )
    return f'{_STYLE}<div class="sclcs-card">{"".join(parts)}</div>'


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.3g}"
    return str(value)
