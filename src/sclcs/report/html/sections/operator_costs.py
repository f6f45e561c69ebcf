"""What operators cost: measured seconds per sample, by family."""

from __future__ import annotations

from typing import Any

import numpy as np

from sclcs.report.html.formats import duration
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Section
from sclcs.report.html.sections.run_costs import run_costs
from sclcs.report.html.svg import Axis, Drawing, axis_over, draw_ruler

__all__ = ["costs_section"]

HEIGHT = 22


def costs_section(run: RunParts) -> Section | None:
    """Make the section; None if nothing was computed yet."""
    table, seconds = run.operator_status, run.seconds_per_sample
    if table is None or not seconds:
        return None
    axis = axis_over(list(seconds.values()), log=True)
    families = [
        _family(
            str(name), {str(spi): seconds[str(spi)] for spi in rows.index if spi in seconds}, axis
        )
        for name, rows in table.groupby("family")
    ]
    families.sort(key=lambda family: (-family["total"], family["name"]))
    return Section(
        "costs",
        "What it cost",
        "costs.jinja",
        {
            "families": [family for family in families if family["count"]],
            "ruler": draw_ruler(axis, duration),
            "total": sum(seconds.values()),
            "costs": run_costs(run),
        },
    )


def _family(name: str, seconds: dict[str, float], axis: Axis) -> dict[str, Any]:
    drawing = Drawing(HEIGHT)
    for place, _ in axis.ticks():
        drawing.line(place, 0, place, HEIGHT, "grid")
    for spi, value in seconds.items():
        tip = f"{spi}: {duration(value)} per sample"
        drawing.dot(axis.place(value), HEIGHT / 2, 4, "dot score faint", tip)
    values = list(seconds.values())
    return {
        "name": name,
        "count": len(values),
        "median": float(np.median(values)) if values else 0.0,
        "total": sum(values),
        "picture": drawing.markup(),
    }
