"""What objects look like in a notebook: a heading, a few facts, a small table; all text escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

__all__ = ["card"]

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
