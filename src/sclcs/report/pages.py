"""Reports as one offline page: of a run, and of several runs side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sclcs._core import InputError, checked, name_first
from sclcs.report.answers import answer_section, judge, run_answers, task_answer
from sclcs.report.cite import provenance_section
from sclcs.report.cohort_sections import (
    composition_section,
    connectivity_section,
    paper_section,
    training_section,
)
from sclcs.report.costs import costs_section, estimates_section, run_costs
from sclcs.report.drawing import count, duration, percent, plural
from sclcs.report.page import Content, HTMLReport, ReportSection, build_sections, render_page
from sclcs.report.parts import RunParts, catalogue_row
from sclcs.report.sections import (
    CUTS,
    agreement_section,
    card_section,
    draw_ranks,
    losses_section,
    operators_section,
    shared_ranks,
)
from sclcs.run_folder import RunFolder
from sclcs.stats import Ranking, consistency, entry_name

__all__ = [
    "HTMLReport",
    "NamedRun",
    "answers_section",
    "compare_report",
    "cores_section",
    "facts_section",
    "rankings_section",
    "run_answers",
    "run_report",
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


_SECTIONS = (
    ReportSection("answers", "Answers", "The answers", answers_section),
    ReportSection("rankings", "Rankings", "Do the rankings agree?", rankings_section),
    ReportSection("core-sets", "Core-sets", "Which samples they share", cores_section),
    ReportSection("facts", "Settings", "What differs", facts_section),
)


@checked
def compare_report(folders: Sequence[str | os.PathLike[str] | RunFolder]) -> HTMLReport:
    """Make a report that puts runs side by side.

    Parameters
    ----------
    folders : sequence of path-like or RunFolder
        Two or more folders that ``sclcs run`` filled; the others are compared with the first.

    Returns
    -------
    HTMLReport

    Examples
    --------
    ``compare_report(["RUN1", "RUN2"]).save_as_html("compare.html")``
    """
    if isinstance(folders, str | os.PathLike | RunFolder) or len(folders) < 2:
        raise InputError("Expected two or more runs to compare, for example RUN1 and RUN2.")
    homes = [item if isinstance(item, RunFolder) else RunFolder.open(item) for item in folders]
    runs = [
        NamedRun(chr(ord("A") + number) if number < 26 else str(number + 1), RunParts(home))
        for number, home in enumerate(homes)
    ]
    title = " and ".join(run.parts.name for run in runs) if len(runs) < 4 else f"{len(runs)} runs"
    subtitle = f"{plural(len(runs), 'run')} side by side"
    return render_page(title, subtitle, _notices(runs), build_sections(_SECTIONS, runs))


def _notices(runs: Sequence[NamedRun]) -> list[str]:
    notices = []
    if len({run.parts.check.get("fingerprint") for run in runs}) > 1:
        notices.append(
            "These runs are about different samples: what differs below may come from the cohort "
            "rather than from the settings."
        )
    scores = {run.parts.config.score or "the default" for run in runs}
    if len(scores) > 1:
        notices.append(
            f"These runs score operators differently ({', '.join(sorted(scores))}): compare ranks, "
            "not scores."
        )
    notices += [
        f"Run {run.letter} is not finished: it has no confirmed ranking for {task}."
        for run in runs
        for task in run.parts.tasks
        if run.parts.confirmed(task) is None
    ]
    return notices


_RUN_SECTIONS = (
    ReportSection("answer", "Answer", "The answer", answer_section),
    ReportSection("ranking", "Ranking", "Ranking of all operators", operators_section),
    ReportSection("estimates", "Estimates", "Exact and estimated", estimates_section),
    ReportSection("card", "Card", "What else they see", card_section),
    ReportSection("agreement", "Agreement", "Core-set against whole cohort", agreement_section),
    ReportSection("core-set", "Core-set", "Who is in the core-set", composition_section),
    ReportSection("training", "Training", "The training behind the core-set", training_section),
    ReportSection("paper", "SCLCS", "The same cohort in the paper's two stages", paper_section),
    ReportSection(
        "connectivity",
        "Connectivity",
        "Mean connectivity of the first operators",
        connectivity_section,
    ),
    ReportSection("costs", "Costs", "What it cost", costs_section),
    ReportSection("losses", "Failures", "Failures and exclusions", losses_section),
    ReportSection("methods", "Methods", "Methods and provenance", provenance_section),
)


@checked
def run_report(folder: str | os.PathLike[str] | RunFolder) -> HTMLReport:
    """Make the report of a run, finished or not.

    Parameters
    ----------
    folder : path-like or RunFolder
        The folder that ``sclcs run`` filled.

    Returns
    -------
    HTMLReport
        One page without any reference to other files. The same folder gives the same page.

    Examples
    --------
    ``run_report("RUN").save_as_html("report.html")``
    """
    home = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
    run = RunParts(home)
    sections = build_sections(_RUN_SECTIONS, run)
    return render_page(run.name, _subtitle(run), _run_page_notices(run), sections)


def _subtitle(run: RunParts) -> str:
    parts = []
    facts = run.check.get("cohort")
    if facts:
        parts.append(
            f"{plural(facts['samples'], 'sample')} of {plural(facts['subjects'], 'subject')}"
        )
        parts.append(f"{facts['regions']} regions")
    parts.append(f"{'tasks' if len(run.tasks) > 1 else 'task'} {', '.join(run.tasks)}")
    return " · ".join(parts)


def _budgeted_parts(run: RunParts) -> list[tuple[str, bool]]:
    """Return the parts of a budgeted run, and whether each is there."""
    home = run.folder
    computed = run.is_done("compute-panel") or run.is_done("compute-all")
    return [
        ("the check of the cohort", home.check_file.exists()),
        ("the plan", home.plan_file.exists()),
        ("the operators on everybody", computed),
        *((f"the ranking for {task}", home.ranking_file(task).exists()) for task in run.tasks),
        ("the answer", home.answer_file.exists()),
        ("the summary of costs", home.confirmation_file.exists()),
    ]


def _run_page_notices(run: RunParts) -> list[str]:
    """Say which stages are missing, and which stopped with a problem."""
    home = run.folder
    made = (
        _budgeted_parts(run)
        if run.budgeted
        else [
            ("the check of the cohort", home.check_file.exists()),
            ("the plan", home.plan_file.exists()),
            ("the core-set", home.core_file.exists()),
            ("the operators on the core-set", run.is_done("compute-core")),
            *((f"the ranking for {task}", home.ranking_file(task).exists()) for task in run.tasks),
            ("the winners on the whole cohort", run.is_done("compute-top")),
            *(
                (f"the confirmation for {task}", home.confirmed_file(task).exists())
                for task in run.tasks
            ),
            ("the summary of agreement and costs", home.confirmation_file.exists()),
        ]
    )
    missing = [words for words, there in made if not there]
    notices = []
    if missing:
        notices.append(
            f"This run is not finished. Still missing: {', '.join(missing)}. "
            "The same `sclcs run` command continues it."
        )
    notices += [
        f"Stage {name} stopped: {record['problem']}"
        for name, record in run.work.items()
        if record.get("problem")
    ]
    changed = [place for place in home.changed_outputs() if place != home.report_file.name]
    if changed:
        notices.append(
            "These files are not as the run wrote them (edited or damaged): "
            f"{name_first(changed)}. `sclcs run --config {home.config_file}` makes them again."
        )
    return notices
