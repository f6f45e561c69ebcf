"""How numbers are written in a report: few digits, plain units, a dash for what is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = [
    "count",
    "duration",
    "interval",
    "number",
    "p_value",
    "percent",
    "plural",
    "rank",
    "short",
]

UNKNOWN = "–"
MANY = 1e7  # from here on powers of ten are easier to read than zeros
_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def _known(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _digits(*values: float) -> int:
    """Return two decimals, or more where two would hide on which side of 0 a number lies."""
    if max(map(abs, values)) < 0.01:
        return 4
    return 3 if any(0 < abs(value) < 0.1 for value in values) else 2


def number(value: float | None, digits: int | None = None) -> str:
    """Write a number with some decimals; a true minus sign, a dash if there is none.

    Examples
    --------
    >>> number(-0.1234), number(-0.0034)
    ('−0.12', '−0.0034')
    >>> number(float("nan"))
    '–'
    """
    if value is None or not _known(value):
        return UNKNOWN
    text = f"{value:.{_digits(value) if digits is None else digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def rank(value: float | None) -> str:
    """Write a rank: whole where it is, one decimal where a tie was averaged."""
    if value is None or not _known(value):
        return UNKNOWN
    return f"{value:g}" if float(value).is_integer() else f"{value:.1f}"


def p_value(value: float | None) -> str:
    """Write a p with two digits; permutations know nothing below one in a thousand or so.

    Examples
    --------
    >>> p_value(0.0004), p_value(0.0331), p_value(0.42)
    ('< 0.001', '0.033', '0.42')
    """
    if value is None or not _known(value):
        return UNKNOWN
    return "< 0.001" if value < 0.001 else number(value, 2 if value >= 0.1 else 3)


def interval(low: float | None, high: float | None, digits: int | None = None) -> str:
    """Write an interval as ``low to high``, both with the same decimals."""
    if low is None or high is None or not (_known(low) and _known(high)):
        return UNKNOWN
    digits = _digits(low, high) if digits is None else digits
    return f"{number(low, digits)} to {number(high, digits)}"


def percent(share: float | None, digits: int = 0) -> str:
    """Write a share as per cent."""
    return (
        UNKNOWN if share is None or not _known(share) else f"{number(100 * share, digits)}\u00a0%"
    )


def count(value: float | None) -> str:
    """Write a whole number with thousands apart."""
    return UNKNOWN if value is None or not _known(value) else f"{round(value):,}"


def plural(amount: float, noun: str, many: str | None = None) -> str:
    """Write an amount with its noun.

    Examples
    --------
    >>> plural(1, "site"), plural(3, "site")
    ('1 site', '3 sites')
    """
    return f"{count(amount)} {noun if amount == 1 else many or noun + 's'}"


def duration(seconds: float | None) -> str:
    """Write a time with two or three digits and the unit that suits it.

    Examples
    --------
    >>> duration(0.0123), duration(75), duration(5000)
    ('12 ms', '1.2 min', '1.4 h')
    """
    if seconds is None or not _known(seconds):
        return UNKNOWN
    for size, unit in _UNITS:
        if seconds >= size:
            amount = seconds / size
            return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    if seconds == 0:
        return "0 s"
    thousandths = 1000 * seconds
    return f"{thousandths:.0f} ms" if thousandths >= 10 else f"{thousandths:.2g} ms"


def short(value: float | None) -> str:
    """Write a number of unknown size with three digits."""
    if value is None or not _known(value):
        return UNKNOWN
    plain = 1000 <= abs(value) < MANY
    return (f"{value:,.0f}" if plain else f"{value:.3g}").replace("-", "−")


FILTERS: Mapping[str, Any] = {
    "number": number,
    "p_value": p_value,
    "rank": rank,
    "percent": percent,
    "count": count,
    "duration": duration,
    "short": short,
}
