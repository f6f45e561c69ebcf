"""How numbers are written in a report: few digits, plain units, a dash for what is not known."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape
from numpy.typing import NDArray

from sclcs.stats import Criterion, Ranking, Target, find_criterion

__all__ = [
    "Axis",
    "Drawing",
    "Scale",
    "axis_over",
    "chance_of",
    "count",
    "draw_ruler",
    "duration",
    "interval",
    "label_of",
    "matrix_data",
    "number",
    "p_value",
    "percent",
    "plural",
    "rank",
    "rank_scale",
    "score_of",
    "score_scale",
    "short",
    "strongest",
    "tick_label",
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


RULER_HEIGHT = 18
NICE = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """From values to shares of a length.

    Parameters
    ----------
    low, high : float
        The ends; the scale of the picture.
    log : bool
        Whether equal steps are equal ratios.
    """

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return the share of the length at which a value lies, cut at the ends."""
        low, high, value = (self._scaled(number) for number in (self.low, self.high, value))
        if high <= low:
            return 0.5
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self, about: int = 5) -> list[tuple[float, float]]:
        """Return round values and their places, as (place, value)."""
        values = self._powers() if self.log else self._steps(about)
        return [(self.place(value), value) for value in values]

    def _powers(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1)]

    def _steps(self, about: int) -> list[float]:
        rough = (self.high - self.low) / max(about, 1)
        if rough <= 0:
            return [self.low]
        size = 10 ** math.floor(math.log10(rough))
        step = next(nice * size for nice in NICE if nice * size >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def axis_over(values: Sequence[float], *, include: Sequence[float] = (), log: bool = False) -> Axis:
    """Return an axis that holds all finite values, with a little room at the ends."""
    known = [value for value in [*values, *include] if math.isfinite(value)]
    if log:
        known = [value for value in known if value > 0]
    if not known:
        return Axis(0.0, 1.0)
    low, high = min(known), max(known)
    if log:
        return Axis(low / 1.3, high * 1.3, log=True)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    return Axis(low - room, high + room)


def tick_label(value: float) -> str:
    """Write a round value with as few digits as it needs."""
    return f"{value:.6g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def draw_ruler(axis: Axis, write: Callable[[float], str] = tick_label) -> Markup:
    """Draw the numbers under an axis, those at the ends inside the picture."""
    drawing = Drawing(RULER_HEIGHT)
    for place, value in axis.ticks():
        anchor = "start" if place < 0.03 else "end" if place > 0.97 else "middle"
        drawing.text(place, 13, write(value), "tick", anchor)
    return drawing.markup()


class Drawing:
    """A picture that is put together mark by mark.

    Parameters
    ----------
    height : float
        In pixels.
    label : str
        What a reader who cannot see it is told; empty for decoration beside the same numbers.
    """

    def __init__(self, height: float, label: str = "") -> None:
        self._height = height
        self._label = label
        self._marks: list[Markup] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw a straight line."""
        self._marks.append(
            Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
                _share(x1), _pixel(y1), _share(x2), _pixel(y2), kind
            )
        )

    def dot(self, x: float, y: float, radius: float, kind: str, tip: str = "") -> None:
        """Draw a round mark; `tip` is shown when it is pointed at."""
        self._marks.append(
            Markup('<circle cx="{}" cy="{}" r="{}" class="{}"{}/>').format(
                _share(x), _pixel(y), _pixel(radius), kind, _tip(tip)
            )
        )

    def bar(
        self, corner: tuple[float, float], size: tuple[float, float], kind: str, tip: str = ""
    ) -> None:
        """Draw a filled rectangle from its upper left corner; `tip` as for a dot."""
        (x, y), (width, height) = corner, size
        self._marks.append(
            Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"{}/>').format(
                _share(x), _pixel(y), _share(width), _pixel(height), kind, _tip(tip)
            )
        )

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """Write words."""
        self._marks.append(
            Markup('<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>').format(
                _share(x), _pixel(y), kind, anchor, words
            )
        )

    def curve(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> None:
        """Draw a line through points; both coordinates are shares, of width and height."""
        points = " ".join(
            f"{_short(100 * x)},{_short(100 * y)}" for x, y in zip(xs, ys, strict=True)
        )
        self._marks.append(
            Markup(
                '<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="{}">'
                '<polyline points="{}" class="{}"/></svg>'
            ).format(_pixel(self._height), points, kind)
        )

    def markup(self) -> Markup:
        """Return the picture."""
        told = (
            Markup('role="img" aria-label="{}"').format(self._label)
            if self._label
            else Markup('aria-hidden="true"')
        )
        opening = Markup('<svg class="drawing" height="{}" {}>').format(_pixel(self._height), told)
        return opening + Markup("").join(self._marks) + Markup("</svg>")


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _share(value: float) -> str:
    return f"{_short(100 * value)}%"


def _pixel(value: float) -> str:
    return _short(value)


def _tip(words: str) -> Markup:
    return Markup(' data-tip="{}"').format(escape(words)) if words else Markup("")


LEVELS = 32000
MISSING = -32768


def matrix_data(
    values: NDArray[np.floating[Any]],
    regions: Sequence[str],
    *,
    ends: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Return what the page's script needs to draw a matrix.

    Values are kept as 16-bit steps of the largest: four digits in a third of the space.

    Parameters
    ----------
    values : array, shape (region, region)
        NaN where there is none.
    regions : sequence of str
        Names of rows and columns.
    ends : tuple of float, optional
        Where the colours begin and end, for several matrices in one scale; by default the
        extreme values outside the diagonal, made symmetric about zero if there are both signs.

    Returns
    -------
    dict
        ``size``, ``regions``, ``step``, ``values`` (base64 of little-endian int16, by rows),
        ``low`` and ``high``, ``signed``.
    """
    matrix = np.asarray(values, dtype=np.float64).copy()
    known = np.isfinite(matrix)
    largest = float(np.abs(matrix[known]).max()) if known.any() else 0.0
    step = largest / LEVELS if largest > 0 else 1.0
    levels = np.full(matrix.shape, MISSING, dtype="<i2")
    levels[known] = np.round(matrix[known] / step).astype("<i2")
    off_diagonal = matrix[known & ~np.eye(len(matrix), dtype=bool)]
    low, high = ends or _ends(off_diagonal)
    return {
        "size": len(matrix),
        "regions": [str(name) for name in regions],
        "step": step,
        "values": base64.b64encode(levels.tobytes()).decode(),
        "low": low,
        "high": high if high > low else low + 1.0,
        "signed": low < 0 < high,
    }


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    return low, high


def strongest(
    values: NDArray[np.floating[Any]], regions: Sequence[str], directed: bool, most: int = 5
) -> list[dict[str, Any]]:
    """Return the entries farthest from zero, each pair once unless the operator is directed.

    Parameters
    ----------
    values : array, shape (region, region)
    regions : sequence of str
    directed : bool
        Whether an entry and its mirror image are different connections.
    most : int
        How many.

    Returns
    -------
    list of dict
        With ``source``, ``target`` and ``value``.
    """
    size = np.where(np.isfinite(values), np.abs(values), -1.0)
    np.fill_diagonal(size, -1.0)
    if not directed:
        size[np.tril_indices(len(size))] = -1.0
    order = np.argsort(-size, axis=None, kind="stable")[:most]
    rows, columns = np.unravel_index(order, size.shape)
    return [
        {"source": str(regions[i]), "target": str(regions[j]), "value": float(values[i, j])}
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if size[i, j] >= 0
    ]


HEIGHT = 22


@dataclass(frozen=True)
class Scale:
    """An axis that several lines share.

    Parameters
    ----------
    axis : Axis
    kind : str
        CSS class of the marks: ``score`` or ``rank``.
    chance : float, optional
        Where a dashed line is drawn.
    label : str
        What the axis shows.
    """

    axis: Axis
    kind: str
    label: str
    chance: float | None = None

    def track(
        self, middle: float, low: float, high: float, name: str = "", *, estimated: bool = False
    ) -> Markup:
        """Draw one line: the interval as a bar, the value as a dot, hollow if it is estimated."""
        kind = f"{self.kind} guess" if estimated else self.kind
        drawing = Drawing(HEIGHT)
        half = HEIGHT / 2
        for place, _ in self.axis.ticks():
            drawing.line(place, 0, place, HEIGHT, "grid")
        if self.chance is not None and self.axis.low < self.chance < self.axis.high:
            place = self.axis.place(self.chance)
            drawing.line(place, 0, place, HEIGHT, "chance")
        if np.isfinite(low) and np.isfinite(high):
            ends = self.axis.place(low), self.axis.place(high)
            drawing.line(ends[0], half, ends[1], half, f"span {kind}")
        if np.isfinite(middle):
            drawing.dot(
                self.axis.place(middle),
                half,
                4.5,
                f"dot {kind}",
                self._tip(name, middle, low, high),
            )
        return drawing.markup()

    def _tip(self, name: str, middle: float, low: float, high: float) -> str:
        value = rank(middle) if self.kind == "rank" else number(middle, 3)
        ends = f" ({interval(low, high, 0 if self.kind == 'rank' else 3)})"
        return f"{name}: {self.label} {value}{ends if np.isfinite(low) else ''}"

    def ruler(self) -> Markup:
        """Draw the ticks and their numbers."""
        return draw_ruler(self.axis)


def score_of(ranking: Ranking) -> Criterion:
    """Return the score that a ranking was made with."""
    return find_criterion(ranking.score)


def chance_of(ranking: Ranking) -> float | None:
    """Return the score of an operator without any information; None if it has none."""
    return score_of(ranking).chance_for(_target(ranking))


def label_of(ranking: Ranking) -> str:
    """Return what the score of a ranking is called."""
    return score_of(ranking).label_for(_target(ranking))


def _target(ranking: Ranking) -> Target:
    return Target(ranking.task, ranking.provenance.get("question", {}).get("kind", "classes"))


def score_scale(ranking: Ranking, lines: pd.DataFrame) -> Scale:
    """Return a scale for the scores of some lines; chance is always on it."""
    chance = chance_of(ranking)
    values = lines[["score", "low", "high"]].to_numpy(dtype=float).ravel()
    include = [] if chance is None else [chance]
    return Scale(axis_over(values.tolist(), include=include), "score", label_of(ranking), chance)


def rank_scale(lines: pd.DataFrame) -> Scale:
    """Return a scale for the ranks of some lines, from 1."""
    values = lines[["rank", "rank_low", "rank_high"]].to_numpy(dtype=float)
    known = values[np.isfinite(values)]
    last = float(known.max()) if known.size else 1.0
    return Scale(Axis(0.0, last + 1), "rank", "rank")
