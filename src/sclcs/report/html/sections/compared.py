"""The sections of a comparison of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sclcs.benchmark.consistency import consistency
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.verdict import entry_name
from sclcs.report.html.formats import count, duration, percent
from sclcs.report.html.parts import RunParts, catalogue_row
from sclcs.report.html.section import Content
from sclcs.report.html.sections.agreement import CUTS, draw_ranks, shared_ranks
from sclcs.report.html.sections.answer import task_answer
from sclcs.report.html.sections.costs import run_costs
from sclcs.report.html.sections.sureness import judge

__all__ = [
    "NamedRun",
    "answers_section",
    "cores_section",
    "facts_section",
    "rankings_section",
]

SHOWN = 10


@dataclass(frozen=True)
class NamedRun:
    """A run and the letter it is called by in the comparison."""

    letter: str
    parts: RunParts


Runs = Sequence[NamedRun]


def _tasks(runs: Runs) -> list[str]:
    return list(dict.fromkeys(task for run in runs for task in run.parts.tasks))


def answers_section(runs: Runs) -> Content:
    """Make the section with the best operator of every run."""
    tasks = []
    for task in _tasks(runs):
        rows = [_answer(run, task) for run in runs if task in run.parts.tasks]
        found = {row["spi"] for row in rows if row["spi"]}
        tasks.append({"task": task, "rows": rows, "same": len(found) == 1 and len(rows) > 1})
    facts = {"tasks": tasks, "names": [(run.letter, run.parts.name) for run in runs]}
    return Content("compared_answers.jinja", facts)


def _answer(run: NamedRun, task: str) -> dict[str, Any]:
    found = task_answer(run.parts, task)
    row: dict[str, Any] = {"letter": run.letter, "spi": "", "verdict": None}
    if found is None or found.lines.empty:
        return row
    best = found.lines.iloc[0]
    judged = judge(run.parts, task, found.basis)
    return row | {
        "spi": str(best["spi"]),
        "name": entry_name(best),
        "in_set": int(found.lines["best_set"].sum()),
        "ranks_only": found.basis.ranks_only,
        "score": best["score"],
        "low": best["low"],
        "high": best["high"],
        "verdict": judged.badge,
        "everybody": found.everybody,
        "top": [str(name) for name in found.lines["spi"].head(3)],
    }


def rankings_section(runs: Runs) -> Content | None:
    """Make the section that compares the rankings of all operators; None if there are no two."""
    tasks = [facts for task in _tasks(runs) if (facts := _rankings(runs, task)) is not None]
    if not tasks:
        return None
    return Content("compared_rankings.jinja", {"tasks": tasks})


def _rankings(runs: Runs, task: str) -> dict[str, Any] | None:
    found = [
        (run, ranking)
        for run in runs
        if task in run.parts.tasks and (ranking := run.parts.ranking(task)) is not None
    ]
    if len(found) < 2:
        return None
    first = found[0]
    return {
        "task": task,
        "letters": [run.letter for run, _ in found],
        "pairs": [_pair(one, other) for one, other in combinations(found, 2)],
        "pictures": [picture for other in found[1:] if (picture := _picture(first, other))],
        "rows": _table([ranking for _, ranking in found]),
        "truth": _against_truth(found, task),
    }


def _pair(one: tuple[NamedRun, Ranking], other: tuple[NamedRun, Ranking]) -> dict[str, Any]:
    both = shared_ranks(one[1], other[1])
    names = f"{one[0].letter} and {other[0].letter}"
    if len(both) < 2:
        return {"names": names, "operators": len(both), "numbers": {}}
    scores = [ranking.scores.reindex(both["spi"]) for _, ranking in (one, other)]
    numbers = consistency(scores[0], scores[1], [cut for cut in CUTS if cut < len(both)])
    return {"names": names, "operators": len(both), "numbers": numbers}


def _picture(
    one: tuple[NamedRun, Ranking], other: tuple[NamedRun, Ranking]
) -> dict[str, Any] | None:
    both = shared_ranks(one[1], other[1])
    if len(both) < 2:
        return None
    both = both.assign(rank=both["rank"].rank(), rank_other=both["rank_other"].rank())
    across, down = f"run {one[0].letter}", f"run {other[0].letter}"
    return {"across": across, "down": down, "picture": draw_ranks(both, across, down)}


def _table(rankings: Sequence[Ranking]) -> list[dict[str, Any]]:
    """Return the operators that are among the best of any ranking, with their places in all."""
    scored = [ranking.table[ranking.table["rank"].notna()] for ranking in rankings]
    best = dict.fromkeys(str(spi) for table in scored for spi in table["spi"].head(SHOWN))
    ranks = [table.set_index("spi")["rank"] for table in scored]
    rows = []
    for spi in best:
        places = [float(column.get(spi, np.nan)) for column in ranks]
        known = [place for place in places if np.isfinite(place)]
        spread = max(known) - min(known) if len(known) > 1 else None
        rows.append({"spi": spi, "places": places, "spread": spread, **catalogue_row(spi)})
    return sorted(rows, key=lambda row: (np.nanmean(row["places"]), row["spi"]))


def _against_truth(found: Sequence[tuple[NamedRun, Ranking]], task: str) -> list[dict[str, Any]]:
    """Compare every run with the ranking on everybody, where one run of the same samples has it."""
    rows = []
    for run, ranking in found:
        mark = run.parts.check.get("fingerprint")
        truths = [
            truth
            for other, _ in found
            if other.parts.check.get("fingerprint") == mark
            and (truth := other.parts.truth(task)) is not None
            and truth.score == ranking.score
        ]
        if truths and set(truths[0].scores.dropna().index) & set(ranking.scores.index):
            rows.append({"letter": run.letter, "numbers": consistency(truths[0], ranking)})
    return rows


def cores_section(runs: Runs) -> Content | None:
    """Make the section about shared samples; None if there are no two core-sets."""
    cores = [(run.letter, core) for run in runs if (core := run.parts.core) is not None]
    if len(cores) < 2:
        return None
    rows = []
    for (one, first), (other, second) in combinations(cores, 2):
        a, b = set(first.sample_ids), set(second.sample_ids)
        people = [set(core.subjects or []) for core in (first, second)]
        rows.append(
            {
                "names": f"{one} and {other}",
                "sizes": f"{len(a)} and {len(b)}",
                "shared": len(a & b),
                "share": len(a & b) / min(len(a), len(b)),
                "subjects": len(people[0] & people[1]),
            }
        )
    return Content("compared_cores.jinja", {"rows": rows})


def facts_section(runs: Runs) -> Content:
    """Make the section with the settings and costs of every run."""
    table = [_run_facts(run.parts) for run in runs]
    rows = []
    for name in dict.fromkeys(key for facts in table for key in facts):
        cells = [facts.get(name, "–") for facts in table]
        rows.append({"name": name, "cells": cells, "differs": len(set(cells)) > 1})
    facts = {"letters": [run.letter for run in runs], "rows": rows}
    return Content("compared_facts.jinja", facts)


def _run_facts(run: RunParts) -> dict[str, str]:
    costs = run_costs(run)
    cohort = run.check.get("cohort") or {}
    facts = {
        "name": run.name,
        "folder": run.folder.path.resolve().name,
        "cohort": str(cohort.get("source") or "–"),
        "fingerprint": str(run.check.get("fingerprint") or "–"),
        "samples": count(run.check.get("samples")),
        "subjects": count(cohort.get("subjects")),
        "samples in the core-set": count(None if run.core is None else len(run.core)),
        "CPU time of the two stages": duration(costs.two_stage),
        "CPU time of everything": f"{duration(costs.everything)} {costs.basis}".strip(),
        "saved": percent(costs.saved),
    }
    skipped = {"cohort", "out", "title", "description", "jobs", "scheduler", "export"}
    for name, value in run.config.model_dump(exclude=skipped).items():
        facts[name.replace("_", " ")] = (
            ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        )
    return facts
