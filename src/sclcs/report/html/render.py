"""From sections to one page: templates, style and script are put into a single file.

Plotly is not used: its script alone is 4.6 MB, and dots, bars and curves are a few kilobytes
of SVG that also print, shrink to a telephone and follow the reader's light or dark setting.
Matrices are drawn by the page's own script from numbers inside the page.

Nothing of the data can become markup or script. Templates escape every value; JSON is put in
with ``<``, ``>`` and ``&`` as escapes; and the page forbids, by a content security policy, all
requests and every script but its own, which is named by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sclcs.core.provenance import plain
from sclcs.report.html.formats import FILTERS, interval, plural
from sclcs.report.html.html_report import HTMLReport
from sclcs.report.html.section import Section
from sclcs.report.style import shorten

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["as_json", "render_page"]

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
    return (files("sclcs.report.html") / "templates" / name).read_text(encoding="utf-8")


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
