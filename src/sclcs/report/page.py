"""The sections of a report: what each says, and which template says it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from markupsafe import Markup

from sclcs._core import InputError, SclcsError, explain_write_errors, plain, write_text
from sclcs.report.drawing import FILTERS, interval, plural
from sclcs.report.figures import shorten

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = [
    "Content",
    "HTMLReport",
    "ReportSection",
    "Section",
    "as_json",
    "build_sections",
    "page_path",
    "render_page",
]


Source = TypeVar("Source")


@dataclass(frozen=True)
class Content:
    """What a section shows.

    Parameters
    ----------
    template : str
        File among the templates.
    facts : mapping
        What the template is given.
    """

    template: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportSection(Generic[Source]):
    """A section that a report may have.

    Parameters
    ----------
    anchor : str
        Name of the link to it.
    label : str
        A word or two for the list of sections.
    title : str
        Its heading.
    build : callable
        From the source (a run, or several) to the content; None if there is nothing to say.
    """

    anchor: str
    label: str
    title: str
    build: Callable[[Source], Content | None]


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Parameters
    ----------
    anchor, label, title : str
        As wanted.
    content : Content
    """

    anchor: str
    label: str
    title: str
    content: Content


def build_sections(wanted: Sequence[ReportSection[Source]], source: Source) -> list[Section]:
    """Make every section that has something to say.

    Parameters
    ----------
    wanted : sequence of ReportSection
    source
        What the sections are made from.

    Returns
    -------
    list of Section
        A part that is damaged becomes a section that says so; the others are not lost.
    """
    sections = []
    for section in wanted:
        try:
            content = section.build(source)
        except (SclcsError, OSError) as error:  # damaged, or gone while it was read
            content = Content("unreadable.jinja", {"why": str(error)})
        if content is not None:
            sections.append(Section(section.anchor, section.label, section.title, content))
    return sections


def page_path(file_name: str | os.PathLike[str]) -> Path:
    """Return the path of a page, or raise if the name does not end in ``.html``."""
    path = Path(file_name)
    if path.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"A report is saved as .html, got {path.name!r}.")
    return path


class HTMLReport:
    """One offline page of HTML: in a notebook, a browser or a file, as nilearn's reports.

    Parameters
    ----------
    html : str
        The whole page.
    title : str
        Of the page.

    Examples
    --------
    >>> report = HTMLReport("<!doctype html><title>t</title><p>text", "t")
    >>> report.get_standalone().startswith("<!doctype html>")
    True
    """

    width, height = "100%", 800

    def __init__(self, html: str, title: str) -> None:
        self._html = html
        self.title = title

    def __repr__(self) -> str:
        return f"HTMLReport({self.title!r}, {len(self._html) / 1000:.0f} kB)"

    def get_standalone(self) -> str:
        """Return the whole page as text."""
        return self._html

    def get_iframe(self, width: int | str | None = None, height: int | str | None = None) -> str:
        """Return the page inside a frame, for a notebook or another page.

        Parameters
        ----------
        width, height : int or str, optional
            Of the frame; by default 100 % and 800 pixels.

        Returns
        -------
        str
        """
        wide = escape(str(self.width if width is None else width))
        high = escape(str(self.height if height is None else height))
        return (
            f'<iframe srcdoc="{escape(self._html)}" title="{escape(self.title)}" '
            f'width="{wide}" height="{high}" style="border: 0"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.get_iframe()

    def save_as_html(self, file_name: str | os.PathLike[str]) -> Path:
        """Write the page; a page of that name is replaced.

        Parameters
        ----------
        file_name : path-like
            Ending in ``.html`` or ``.htm``.

        Returns
        -------
        Path
            The file.
        """
        path = page_path(file_name)
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return write_text(path, self._html)

    def open_in_browser(self, file_name: str | os.PathLike[str] | None = None) -> Path:
        """Show the page in the browser.

        Parameters
        ----------
        file_name : path-like, optional
            Where to save it; by default a new file in the system's temporary folder.

        Returns
        -------
        Path
            The file that was opened.
        """
        if file_name is None:
            file_name = Path(tempfile.mkdtemp(prefix="sclcs-report-")) / "report.html"
        path = self.save_as_html(file_name)
        webbrowser.open(path.resolve().as_uri())
        return path


_SCRIPTS = ("tables.js", "matrices.js", "page.js")


def render_page(
    title: str, subtitle: str, notices: Sequence[str], sections: Sequence[Section]
) -> HTMLReport:
    """Put sections into one page.

    Parameters
    ----------
    title, subtitle : str
        The heading.
    notices : sequence of str
        What the reader must know first, for example that the run is not finished.
    sections : sequence of Section

    Returns
    -------
    HTMLReport
    """
    script = "".join(_text(name) for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = (
        _templates()
        .get_template("page.jinja")
        .render(
            title=title,
            subtitle=subtitle,
            notices=list(notices),
            sections=list(sections),
            style=Markup(_text("page.css")),  # noqa: S704 (our own file)
            script=Markup(script),  # noqa: S704 (our own files)
            script_hash=digest,
        )
    )
    return HTMLReport(html, title)


def as_json(content: Any) -> Markup:  # noqa: ANN401
    """Return JSON that is safe inside a ``script`` element: it holds no ``<``."""
    text = json.dumps(plain(content), ensure_ascii=True, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 (escaped just now)


def _text(name: str) -> str:
    return (files("sclcs.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    found = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,  # a forgotten value is an error, not a gap
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(FILTERS)
    found.filters["json"] = as_json
    found.filters["shorten"] = shorten
    found.globals.update(interval=interval, plural=plural)
    return found
