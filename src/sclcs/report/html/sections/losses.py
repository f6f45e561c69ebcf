"""What is not in the ranking, and why: operators that failed, samples that were left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sclcs.cohort.problems import KINDS
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content

__all__ = ["losses_section"]

SHOWN_IDS = 20
_STATES = ("failed", "skipped", "partial-nan", "missing")


def losses_section(run: RunParts) -> Content | None:
    """Make the section; None if nothing was checked or computed yet."""
    status = _status(run)
    if not run.check and status is None:
        return None
    unranked = [facts for task in run.tasks if (facts := _unranked(run, task))]
    return Content(
        "losses.jinja",
        {
            "computed": status is not None,
            "operators": [] if status is None else _operators(status),
            "where": "cohort" if run.core is None else "core-set",
            "unranked": unranked,
            "excluded": _grouped(run.check.get("excluded", [])),
            "before": _before(run),
            "problems": _grouped([*run.check.get("problems", []), *run.check.get("design", [])]),
        },
    )


def _status(run: RunParts) -> pd.DataFrame | None:
    """Return what became of the operators: on the core-set, or on everybody if there is none."""
    if run.core is None and run.whole_matrices is not None:
        return run.whole_matrices.status()
    return run.operator_status


def _operators(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the operators that are not whole on every sample."""
    lost = table[table["ok"] < table["samples"]]
    return [
        {"spi": str(spi), **{name: row[name] for name in ("family", "samples", "reason", *_STATES)}}
        for spi, row in lost.iterrows()
    ]


def _unranked(run: RunParts, task: str) -> dict[str, Any] | None:
    ranking = run.ranking(task)
    if ranking is None:
        return None
    lost = ranking.table[ranking.table["status"] != "ok"]
    if lost.empty:
        return None
    return {"task": task, "rows": lost[["spi", "status", "reason"]].to_dict(orient="records")}


def _grouped(problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return problems by kind: what it means, how many, the first offenders."""
    kinds: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for problem in problems:
        kinds[str(problem["kind"])].append(problem)
    return [
        {
            "meaning": KINDS[kind].meaning if kind in KINDS else kind,
            "count": len(found),
            "first": [_one(problem) for problem in found[:SHOWN_IDS]],
            "more": max(len(found) - SHOWN_IDS, 0),
        }
        for kind, found in kinds.items()
    ]


def _one(problem: Mapping[str, Any]) -> str:
    detail = problem.get("detail") or ""
    return f"{problem.get('where', '')} ({detail})" if detail else str(problem.get("where", ""))


def _before(run: RunParts) -> list[dict[str, Any]]:
    """Return what was left out when the cohort was made, before the run."""
    found = (run.check.get("cohort") or {}).get("excluded") or {}
    return [
        {
            "meaning": entry.get("meaning", kind),
            "count": entry["count"],
            "first": entry.get("examples", []),
            "more": max(entry["count"] - len(entry.get("examples", [])), 0),
        }
        for kind, entry in found.items()
    ]
