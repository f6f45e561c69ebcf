"""What operators cost: measured seconds per sample, by family."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from sclcs.report.html.formats import duration
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.sections.run_costs import run_costs
from sclcs.report.html.svg import Axis, Drawing

__all__ = ["costs_section"]

HEIGHT = 18


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
