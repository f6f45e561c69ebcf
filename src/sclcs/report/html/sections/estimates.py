"""What a budget bought: a map of the operators, what stopping now may cost, what is left."""

from __future__ import annotations

from typing import Any

import pandas as pd
from markupsafe import Markup

from sclcs.report.html.formats import number, percent
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.svg import Drawing, axis_over

__all__ = ["draw_map", "estimates_section"]

HEIGHT = 430
MARGIN = 14
COLOURS = 32  # of the style sheet


def estimates_section(run: RunParts) -> Content | None:
    """Make the section; None if the run has no budget or is not that far."""
    if not run.answer:
        return None
    places = run.folder.geometry()
    tasks = [
        _task(run, task, places)
        for task in run.tasks
        if places is not None and run.answer["tasks"][task]["effect"]
    ]
    hour = run.answer.get("another_hour")
    return Content(
        "estimates.jinja",
        {
            "answer": run.answer,
            "tasks": tasks,
            "families": [] if places is None else _families(places),
            "hour": hour,
            "measured": run.confirmation.get("costs"),
        },
    )


def _families(places: pd.DataFrame) -> list[dict[str, Any]]:
    names = sorted(set(places["family"]))
    return [{"name": name, "kind": f"fam{k % COLOURS}"} for k, name in enumerate(names)]


def _task(run: RunParts, task: str, places: pd.DataFrame | None) -> dict[str, Any]:
    ranking, facts = run.ranking(task), run.answer["tasks"][task]
    picture = None
    if ranking is not None and places is not None:
        table = ranking.table.set_index("spi").join(places, how="inner")
        kinds = {family["name"]: family["kind"] for family in _families(places)}
        picture = draw_map(table, kinds, facts["probability_best"])
    return {"task": task, "facts": facts, "picture": picture}


def draw_map(table: pd.DataFrame, kinds: dict[str, str], probabilities: dict[str, float]) -> Markup:
    """Draw operators where they lie to each other.

    Parameters
    ----------
    table : DataFrame
        By operator: ``x``, ``y``, ``family``, ``name``, ``score``, ``source``, ``best_set``.
    kinds : dict
        CSS class of every family.
    probabilities : dict
        Of being the best.

    Returns
    -------
    Markup
    """
    across, down = axis_over(table["x"].tolist()), axis_over(table["y"].tolist())
    drawing = Drawing(
        HEIGHT, "A map of the operators: those that call the same samples alike lie close"
    )
    # The best are drawn last, so that they lie on top.
    for spi, row in table.sort_values(["best_set", "score"], na_position="first").iterrows():
        x = across.place(row["x"])
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * down.place(row["y"])
        guess = row["source"] == "estimated"
        kind = f"dot {kinds[row['family']]}{' guess' if guess else ''}"
        drawing.dot(x, y, 4.5, kind, _tip(str(spi), row, probabilities.get(str(spi))))
        if row["best_set"]:
            drawing.dot(x, y, 8.5, "ring")
    return drawing.markup()


def _tip(spi: str, row: pd.Series, probability: float | None) -> str:
    score = "no score" if pd.isna(row["score"]) else f"{row['source']} {number(row['score'], 3)}"
    words = f"{row['name']} ({spi}), {row['family']}: {score}"
    if row["best_set"]:
        words += "; could be the best"
    return words if probability is None else f"{words}; best with {percent(probability)}"
