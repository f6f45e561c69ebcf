"""What it cost: a run stage by stage, operators by family, and everything on everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from sclcs.report.drawing import Axis, Drawing, axis_over, duration, number, percent
from sclcs.report.page import Content
from sclcs.report.parts import RunParts

__all__ = ["RunCosts", "costs_section", "draw_map", "estimates_section", "run_costs"]


HEIGHT = 18


@dataclass(frozen=True)
class RunCosts:
    """CPU seconds of the two stages, and of all operators on everybody.

    Parameters
    ----------
    two_stage, everything : float, optional
        CPU seconds; None if neither known nor predicted.
    basis : {"measured", "extrapolated", "predicted", ""}
        Where `everything` comes from: computed as well, the core-set's cost times the ratio
        of the sizes, or the plan.
    saved : float, optional
        Share of `everything` that was saved.
    cpu_seconds, wall_seconds : float
        Of all stages so far.
    stages : list of dict
        Name, status and seconds of each stage.
    pieces : list of (str, float)
        What `two_stage` is made of.
    """

    two_stage: float | None
    everything: float | None
    basis: str
    saved: float | None
    cpu_seconds: float
    wall_seconds: float
    stages: list[dict[str, Any]]
    pieces: list[tuple[str, float]]


def run_costs(run: RunParts) -> RunCosts:
    """Add up what is recorded of a run."""
    stages = [
        {
            "name": name,
            "status": record.get("status", ""),
            "cpu": float(record.get("cpu_seconds") or 0.0),
            "wall": float(record.get("wall_seconds") or 0.0),
        }
        for name, record in run.work.items()
    ]
    totals = (sum(stage["cpu"] for stage in stages), sum(stage["wall"] for stage in stages))
    found = run.confirmation.get("costs") or {}
    if found:
        measured = found.get("everything_measured")
        basis = "extrapolated" if measured is None else "measured"
        everything = found.get("everything") if measured is None else measured
        names = {
            "select": "choosing the core-set",
            "panel": "the cheap operators on everybody",
            "core": "all operators on the core-set",
            "top": "the winners on everybody",
        }
        pieces = [(words, float(found[name])) for name, words in names.items() if found.get(name)]
        two_stage = found.get("two_stage")
        return RunCosts(two_stage, everything, basis, found.get("saved"), *totals, stages, pieces)
    full, planned = run.plan.get("full") or {}, run.plan.get("two_stage") or {}
    everything = full.get("cpu_seconds")
    basis = "" if everything is None else "predicted"
    return RunCosts(planned.get("cpu_seconds"), everything, basis, None, *totals, stages, [])


def costs_section(run: RunParts) -> Content | None:
    """Make the section; None if nothing was computed yet."""
    table, seconds = run.operator_status, run.seconds_per_sample
    if table is None or not seconds:
        return None
    families = [
        _family(str(name), [seconds[str(spi)] for spi in rows.index if str(spi) in seconds])
        for name, rows in table.groupby("family")
    ]
    families = [family for family in families if family["count"]]
    families.sort(key=lambda family: (-family["together"], family["name"]))
    axis = Axis(0.0, families[0]["together"])
    for family in families:
        family["picture"] = _bar(axis, family)
    facts = {"families": families, "total": sum(seconds.values()), "costs": run_costs(run)}
    return Content("costs.jinja", facts)


def _family(name: str, seconds: list[float]) -> dict[str, Any]:
    together, number = sum(seconds), len(seconds)
    return {"name": name, "count": number, "each": together / max(number, 1), "together": together}


def _bar(axis: Axis, family: dict[str, Any]) -> Markup:
    drawing = Drawing(HEIGHT)
    tip = f"{family['name']}: {duration(family['together'])} per sample"
    drawing.bar((0, 3), (max(axis.place(family["together"]), 0.002), HEIGHT - 6), "bar blue", tip)
    return drawing.markup()


ESTIMATES_HEIGHT = 430
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
        ESTIMATES_HEIGHT, "A map of the operators: those that call the same samples alike lie close"
    )
    # The best are drawn last, so that they lie on top.
    for spi, row in table.sort_values(["best_set", "score"], na_position="first").iterrows():
        x = across.place(row["x"])
        y = ESTIMATES_HEIGHT - MARGIN - (ESTIMATES_HEIGHT - 2 * MARGIN) * down.place(row["y"])
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
