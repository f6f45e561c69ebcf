"""Progress of long work: a bar on a terminal or in a notebook, plain lines in a log file.

The display is off until :func:`show_progress` turns it on (the command line does, and
``sclcs.run(progress=True)``), so that importing sclcs in a script or a notebook never prints.
Also here: Ctrl-C that libraries swallow, the package's log, and the HTML of objects in notebooks.
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

T = TypeVar("T")

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_UPDATES = 0.2  # of a bar in a notebook

_visible: ContextVar[bool] = ContextVar("sclcs_progress_visible", default=False)
_interrupted = threading.Event()


def watch_interrupts() -> None:
    """Remember every Ctrl-C from now on; those of before are forgotten."""
    _interrupted.clear()
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    _interrupted.set()
    signal.default_int_handler(number, frame)


def was_interrupted() -> bool:
    """Say whether Ctrl-C was pressed."""
    return _interrupted.is_set()


def raise_if_interrupted() -> None:
    """Raise the interruption again if it was lost."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


class Ticker(Protocol):
    """Counts finished steps of one piece of work."""

    def advance(self, steps: int = 1) -> None:
        """Report that some steps are done."""


class _Silent:
    def advance(self, steps: int = 1) -> None:  # noqa: ARG002
        raise_if_interrupted()


class _Counter:
    """Counts steps, and shows itself when it has been silent for long enough."""

    silence: float

    def __init__(self, description: str, total: int | None) -> None:
        self.description, self.total = description, total
        self.done = 0
        self._start = self._shown = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def advance(self, steps: int = 1) -> None:
        raise_if_interrupted()
        self.done += steps
        if time.monotonic() - self._shown >= self.silence:
            self._shown = time.monotonic()
            self.show()

    def show(self) -> None:
        raise NotImplementedError


class _PlainLines(_Counter):
    """Progress as a log line every few seconds, for output that is not a terminal."""

    def __init__(self, description: str, total: int | None, stream: IO[str]) -> None:
        super().__init__(description, total)
        self.silence, self._stream = SECONDS_BETWEEN_LINES, stream

    def show(self) -> None:
        rate = self.done / max(self.seconds, 1e-9)
        if self.total is None:
            self._write(f"{self.done} ({rate:.1f}/s)")
        else:
            left = (self.total - self.done) / rate if rate > 0 else float("inf")
            self._write(f"{self.done}/{self.total} ({rate:.1f}/s, about {left:.0f} s left)")

    def finish(self) -> None:
        self._write(f"{self.done} done in {self.seconds:.1f} s")

    def _write(self, text: str) -> None:
        self._stream.write(f"{self.description}: {text}\n")
        self._stream.flush()


class _NotebookBar(_Counter):
    """One line below the cell, written again as the work goes on."""

    silence = SECONDS_BETWEEN_UPDATES

    def __init__(self, description: str, total: int | None) -> None:
        from IPython.display import display

        super().__init__(description, total)
        self._display = display(self, display_id=True)

    def _repr_html_(self) -> str:
        largest = "" if self.total is None else f' max="{self.total}"'
        of = "" if self.total is None else f" of {self.total}"
        return (
            f"<div>{escape(self.description)} "
            f'<progress value="{self.done}"{largest}></progress> {self.done}{of}, '
            f"{self.seconds:.0f} s</div>"
        )

    def show(self) -> None:
        self._display.update(self)


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
    """Open a piece of work; call ``advance()`` of what it yields after each of `total` steps."""
    stream = sys.stderr
    if not _visible.get():
        yield _Silent()
    elif in_notebook():
        bar = _NotebookBar(description, total)
        yield bar
        bar.show()
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
    """Iterate over items and report each as one step of `total`, by default their number."""
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
    values: Mapping[str, object] | None = None,
    header: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    sentences: Sequence[str] = (),
) -> str:
    """Return the HTML of an object: title, named values, sentences, a table.

    Examples
    --------
    >>> "&lt;b&gt;" in card("A <b>")
    True
    """
    parts = [f"<strong>{escape(title)}</strong>"]
    if values:
        pairs = (f"{escape(name)}: {escape(_text(value))}" for name, value in values.items())
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
