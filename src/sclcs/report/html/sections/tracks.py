"""A value with its interval as one line of a dot plot, and the axis under the lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from sclcs.benchmark.criteria import Criterion, find_criterion
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.targets import Target
from sclcs.report.html.formats import interval, number, rank
from sclcs.report.html.svg import Axis, Drawing, axis_over, draw_ruler

__all__ = ["Scale", "chance_of", "label_of", "rank_scale", "score_of", "score_scale"]

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
