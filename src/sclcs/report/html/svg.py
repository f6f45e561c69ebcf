"""Small pictures as SVG inside the page: crisp, printable, light and dark, no library.

Horizontal places are shares of the width, vertical ones are pixels: the picture becomes
narrower on a telephone, and its text stays readable. Colours are CSS classes of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

__all__ = ["Axis", "Drawing", "axis_over", "draw_ruler", "tick_label"]

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
