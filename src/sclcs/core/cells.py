"""Text in CSV files that a spreadsheet must not take for a formula."""

from __future__ import annotations

__all__ = ["guard_cell", "unguard_cell"]

MARK = "'"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", MARK)


def guard_cell(text: str) -> str:
    """Mark a text that begins like a formula; :func:`unguard_cell` gives it back.

    Examples
    --------
    >>> guard_cell("=SUM(A1)"), guard_cell("-1"), guard_cell("sub-01")
    ("'=SUM(A1)", "'-1", 'sub-01')
    """
    text = str(text)
    return MARK + text if text.startswith(_FORMULA) else text


def unguard_cell(text: str) -> str:
    """Return the text that :func:`guard_cell` marked."""
    return text[1:] if text.startswith(MARK) else text
