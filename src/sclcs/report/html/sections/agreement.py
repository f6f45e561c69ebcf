"""Did the core-set give the order of the whole cohort: winners, and all operators if known."""

from __future__ import annotations

from typing import Any

import pandas as pd
from markupsafe import Markup

from sclcs.benchmark.consistency import consistency
from sclcs.benchmark.ranking import Ranking
from sclcs.report.html.formats import rank as rank_text
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.svg import Axis, Drawing, tick_label
from sclcs.report.style import shorten

__all__ = ["agreement_section", "draw_ranks", "draw_slopes", "shared_ranks"]

STEP = 24
LEFT, RIGHT = 0.14, 0.38
NAME_LENGTH = 31
PLOT_HEIGHT = 340
CUTS = (5, 10)


def agreement_section(run: RunParts) -> Content | None:
    """Make the section; None before the winners were computed on the whole cohort."""
    tasks = [facts for task in run.tasks if (facts := _task(run, task)) is not None]
    if not tasks:
        return None
    return Content("agreement.jinja", {"tasks": tasks})


def _task(run: RunParts, task: str) -> dict[str, Any] | None:
    ranking, confirmed, truth = run.ranking(task), run.confirmed(task), run.truth(task)
    if ranking is None or (confirmed is None and truth is None):
        return None
    facts: dict[str, Any] = {
        "task": task,
        "slopes": None,
        "ranks": None,
        "certificate": run.certificate(task),
    }
    if confirmed is not None:
        both = shared_ranks(ranking, confirmed)
        if len(both) > 1:
            facts["winners"] = _numbers(confirmed, ranking)
            facts["slopes"] = draw_slopes(both, "core-set", "whole cohort")
            facts["n_winners"] = len(both)
    if truth is not None:
        both = shared_ranks(ranking, truth)
        if len(both) > 1:
            facts["all"] = _numbers(truth, ranking)
            facts["ranks"] = draw_ranks(both, "rank on the core-set", "rank on everybody")
            facts["n_operators"] = len(both)
    return facts if facts["slopes"] or facts["ranks"] else None


def _numbers(reference: Ranking, other: Ranking) -> dict[str, float]:
    """Compare the two; cut-offs beyond the number of operators would say nothing."""
    scores = reference.scores.dropna()
    cuts = [cut for cut in CUTS if cut < len(scores)]
    return consistency(scores, other.scores.reindex(scores.index), cuts)


def shared_ranks(first: Ranking, second: Ranking) -> pd.DataFrame:
    """Return the operators that have a rank in both, with the ranks among all of each."""
    columns = ["spi", "rank", "score"]
    both = first.table[columns].merge(second.table[columns], on="spi", suffixes=("", "_other"))
    return both[both["rank"].notna() & both["rank_other"].notna()]


def draw_slopes(both: pd.DataFrame, left: str, right: str) -> Markup:
    """Draw the order of a few operators twice, with lines from one to the other."""
    first = both["rank"].rank(method="first").astype(int)
    second = both["rank_other"].rank(method="first").astype(int)
    drawing = Drawing(
        STEP * (len(both) + 1) + 6,
        f"Order of {len(both)} operators on the {left} and on the {right}",
    )
    drawing.text(LEFT, 14, left, "axis", "middle")
    drawing.text(RIGHT, 14, right, "axis", "start")
    for (_, row), here, there in zip(both.iterrows(), first, second, strict=True):
        y1, y2 = STEP * (here + 0.55), STEP * (there + 0.55)
        kind = "same" if here == there else "moved"
        drawing.line(LEFT, y1, RIGHT, y2, f"slope {kind}")
        tip = f"{row['spi']}: rank {rank_text(row['rank'])}, then {rank_text(row['rank_other'])}"
        drawing.dot(LEFT, y1, 4.5, f"dot {kind}", tip)
        drawing.dot(RIGHT, y2, 4.5, f"dot {kind}", tip)
        drawing.text(LEFT - 0.025, y1 + 4, rank_text(row["rank"]), "tick", "end")
        drawing.text(RIGHT + 0.03, y2 + 4, shorten(str(row["spi"]), NAME_LENGTH), "name")
    return drawing.markup()


def draw_ranks(both: pd.DataFrame, across: str, down: str) -> Markup:
    """Draw the ranks of all operators against each other, the best in the upper left corner."""
    last = float(max(both["rank"].max(), both["rank_other"].max())) + 1
    axis = Axis(0.0, last)
    drawing = Drawing(PLOT_HEIGHT, f"{down} against {across} for {len(both)} operators")
    for place, value in axis.ticks():
        drawing.line(place, 0, place, PLOT_HEIGHT, "grid")
        drawing.line(0, place * PLOT_HEIGHT, 1, place * PLOT_HEIGHT, "grid")
        if 0.02 < place < 0.98:
            drawing.text(place, 12, tick_label(value), "tick", "middle")
            drawing.text(0.008, place * PLOT_HEIGHT + 4, tick_label(value), "tick")
    drawing.line(0, 0, 1, PLOT_HEIGHT, "chance")
    for _, row in both.sort_values("rank", ascending=False).iterrows():
        best = row["rank_other"] <= 10
        places = rank_text(row["rank"]), rank_text(row["rank_other"])
        tip = f"{row['spi']}: {across} {places[0]}, {down} {places[1]}"
        drawing.dot(
            axis.place(row["rank"]),
            axis.place(row["rank_other"]) * PLOT_HEIGHT,
            5 if best else 3.5,
            "dot moved" if best else "dot score faint",
            tip,
        )
    return drawing.markup()
