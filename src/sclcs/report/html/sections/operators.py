"""All operators of a ranking: a dot plot of the best, and a table that can be sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.verdict import find_verdict
from sclcs.report.html.parts import RunParts, catalogue_row
from sclcs.report.html.section import Content
from sclcs.report.html.sections.tracks import label_of, rank_scale, score_of, score_scale
from sclcs.spi.names import KNOWN_BEST

__all__ = ["operators_section"]

SHOWN = 15
COST_STEPS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)


def operators_section(run: RunParts) -> Content | None:
    """Make the section; None if nothing was ranked yet."""
    found = [(task, None if run.budgeted else run.truth(task)) for task in run.tasks]
    found = [(task, truth or run.ranking(task)) for task, truth in found]
    tasks = [_task(run, task, ranking) for task, ranking in found if ranking is not None]
    if not tasks:
        return None
    return Content("operators.jinja", {"tasks": tasks, "budgeted": run.budgeted})


def _task(run: RunParts, task: str, ranking: Ranking) -> dict[str, Any]:
    lines = ranking.groups
    lines = lines[lines["score"].notna()].head(SHOWN)
    score = score_of(ranking)
    everybody = ranking.coreset is None
    other = run.ranking(task) if everybody else run.confirmed(task)
    other = run.truth(task) if run.budgeted else other
    rows = [_row(run, row, other) for _, row in ranking.groups.iterrows()]
    bootstrap = ranking.provenance.get("bootstrap", {})
    question = ranking.provenance.get("question", {})
    return {
        "task": task,
        "score": score,
        "label": label_of(ranking),
        "confidence": bootstrap.get("confidence"),
        "draws": bootstrap.get("draws"),
        "permutations": ranking.provenance.get("permutations"),
        "exchangeable": "subjects" if question.get("repeated") else question.get("exchangeable"),
        "covariates": question.get("covariates", []),
        "everybody": everybody,
        "samples": question.get("samples"),
        "subjects": question.get("subjects"),
        "unlabelled": question.get("unlabelled_samples", 0),
        "left_out": len(question.get("left_out_subjects", [])),
        "ranks_only": ranking.ranks_only,
        "plot": None if ranking.ranks_only else _plot(ranking, lines),
        "rows": rows,
        "operators": len(ranking),
        "families": sorted({row["family"] for row in rows if row["family"]}),
        "limits": _cost_limits([row["seconds"] for row in rows]),
        "has_other": other is not None,
        "answered": find_verdict(ranking).kind in {"one", "several"},
        "budgeted": run.budgeted,
        "estimates": bool((ranking.table["source"] == "estimated").any()),
        "tested": bool(ranking.table["p"].notna().any()) and not ranking.ranks_only,
        "has_costs": any(row["seconds"] is not None for row in rows),
    }


def _plot(ranking: Ranking, lines: pd.DataFrame) -> dict[str, Any]:
    scores, ranks = score_scale(ranking, lines), rank_scale(lines)
    rows = []
    for _, row in lines.iterrows():
        name, guess = str(row["spi"]), row["source"] == "estimated"
        ends = row["rank_low"], row["rank_high"]
        rows.append(
            {
                "spi": name,
                "name": row["name"] if name in KNOWN_BEST else "",
                "also": row["also"],
                "estimated": guess,
                "score": scores.track(row["score"], row["low"], row["high"], name, estimated=guess),
                "rank": ranks.track(row["rank"], *ends, name, estimated=guess),
            }
        )
    return {"rows": rows, "scores": scores, "ranks": ranks}


def _row(run: RunParts, row: pd.Series, other: Ranking | None) -> dict[str, Any]:
    spi = str(row["spi"])
    facts = catalogue_row(spi)
    again = None
    if other is not None:
        found = other.table.loc[other.table["spi"] == spi, "rank"]
        again = float(found.iloc[0]) if len(found) and np.isfinite(found.iloc[0]) else None
    return {
        **{name: row[name] for name in row.index},
        "description": row["name"] or facts["description"],
        "family": facts["family"],
        "directed": facts["directed"],
        "seconds": run.seconds_per_sample.get(spi),
        "other": again,
    }


def _cost_limits(seconds: list[float | None]) -> list[float]:
    """Return the limits that keep some operators and leave some out."""
    known = [value for value in seconds if value is not None]
    return [step for step in COST_STEPS if known and min(known) <= step < max(known)]
