"""What a run cost, stage by stage, and what all operators on everybody would have cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sclcs.report.html.parts import RunParts

__all__ = ["RunCosts", "run_costs"]


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
