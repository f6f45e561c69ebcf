"""What it cost: a run stage by stage, operators by family, and everything on everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from sclcs.report.html.formats import duration
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.svg import Axis, Drawing

__all__ = ["RunCosts", "costs_section", "run_costs"]

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
            "panel": "operators that guide the choice",
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
