"""What the best operators for the target see besides: pictures of the front, and a table."""

from __future__ import annotations

from typing import Any

import pandas as pd
from markupsafe import Markup

from sclcs.benchmark.card import Card
from sclcs.benchmark.verdict import answered
from sclcs.report.html.formats import number
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.sections.answer import task_answer
from sclcs.report.html.svg import Drawing, axis_over, tick_label

__all__ = ["card_section", "draw_front"]

PLOT_HEIGHT = 260
TARGET = "target"


def card_section(run: RunParts) -> Content | None:
    """Make the section; None if there is no card, or nothing on it besides the target."""
    cards = [(task, run.card(task)) for task in run.tasks]
    tasks = [_task(run, task, card) for task, card in cards if card is not None and card.aims]
    return Content("card.jinja", {"tasks": tasks}) if tasks else None


def _task(run: RunParts, task: str, card: Card) -> dict[str, Any]:
    rows = [{str(name): value for name, value in row.items()} for _, row in card.table.iterrows()]
    return {
        "task": task,
        "card": card,
        "rows": rows,
        "answered": _answered(run, task),
        "plots": [{"aim": aim, "drawing": draw_front(card, aim["name"])} for aim in card.aims],
    }


def _answered(run: RunParts, task: str) -> bool:
    """Say whether any operator could be called the best: not where there is no effect."""
    found = task_answer(run, task)
    return found is not None and answered(found.basis)


def draw_front(card: Card, name: str) -> Markup:
    """Draw the target (across) against one more criterion (up); the front stands out."""
    table = card.table[card.table[[TARGET, name]].notna().all(axis=1)]
    across, up = axis_over(table[TARGET].tolist()), axis_over(table[name].tolist(), include=[0.0])
    drawing = Drawing(
        PLOT_HEIGHT, f"{name} against {card.task} for {len(table)} operators; numbers are below"
    )
    for place, value in across.ticks():
        drawing.line(place, 0, place, PLOT_HEIGHT, "grid")
        if 0.06 < place < 0.96:
            drawing.text(place, PLOT_HEIGHT - 5, tick_label(value), "tick", "middle")
    for place, value in up.ticks():
        height = (1 - place) * PLOT_HEIGHT
        drawing.line(0, height, 1, height, "grid")
        if 0.1 < place < 0.96:
            drawing.text(0.008, height + 4, tick_label(value), "tick")
    for _, row in table.sort_values(["front", TARGET]).iterrows():
        drawing.dot(
            across.place(row[TARGET]),
            (1 - up.place(row[name])) * PLOT_HEIGHT,
            5.5 if row["front"] else 3.5,
            "dot moved" if row["front"] else "dot score faint",
            _tip(card, row),
        )
    return drawing.markup()


def _tip(card: Card, row: pd.Series) -> str:
    values = [f"{card.task} {number(row[TARGET])}"]
    values += [f"{name} {number(row[name])}" for name in card.names]
    marks = ["on the front"] if row["front"] else []
    marks += ["could be the best for the target"] if row["best_set"] else []
    return f"{row['name']} ({row['spi']}): {', '.join([*values, *marks])}"
