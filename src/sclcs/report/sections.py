"""All operators of a ranking: a dot plot of the best, and a table that can be sorted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from sclcs.cohort import KINDS
from sclcs.report.answers import task_answer
from sclcs.report.drawing import (
    Axis,
    Drawing,
    axis_over,
    label_of,
    number,
    rank as rank_text,
    rank_scale,
    score_of,
    score_scale,
    tick_label,
)
from sclcs.report.figures import shorten
from sclcs.report.page import Content
from sclcs.report.parts import RunParts, catalogue_row
from sclcs.spi import KNOWN_BEST
from sclcs.stats import Card, Ranking, answered, consistency, find_verdict

__all__ = [
    "agreement_section",
    "card_section",
    "draw_front",
    "draw_ranks",
    "draw_slopes",
    "losses_section",
    "operators_section",
    "shared_ranks",
]


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


PLOT_HEIGHT = 260
TARGET = "target"


def card_section(run: RunParts) -> Content | None:
    """Make the section; None if there is no card, or nothing on it besides the target."""
    cards = [(task, run.card(task)) for task in run.tasks]
    tasks = [_card_task(run, task, card) for task, card in cards if card is not None and card.aims]
    return Content("card.jinja", {"tasks": tasks}) if tasks else None


def _card_task(run: RunParts, task: str, card: Card) -> dict[str, Any]:
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


STEP = 24
LEFT, RIGHT = 0.14, 0.38
NAME_LENGTH = 31
AGREEMENT_PLOT_HEIGHT = 340
CUTS = (5, 10)


def agreement_section(run: RunParts) -> Content | None:
    """Make the section; None before the winners were computed on the whole cohort."""
    tasks = [facts for task in run.tasks if (facts := _agreement_task(run, task)) is not None]
    if not tasks:
        return None
    return Content("agreement.jinja", {"tasks": tasks})


def _agreement_task(run: RunParts, task: str) -> dict[str, Any] | None:
    ranking, confirmed, truth = run.ranking(task), run.confirmed(task), run.truth(task)
    if ranking is None or (confirmed is None and truth is None):
        return None
    facts: dict[str, Any] = {"task": task, "slopes": None, "ranks": None}
    if confirmed is not None:
        both = shared_ranks(ranking, confirmed)
        if len(both) > 1:
            facts["winners"] = _numbers(confirmed, ranking)
            facts["slopes"] = draw_slopes(both, "core-set", "whole cohort")
            facts["n_winners"] = len(both)
    if truth is not None:
        both = shared_ranks(ranking, truth)
        if len(both) > 1:
            facts["all"] = _numbers(truth, ranking)
            facts["ranks"] = draw_ranks(both, "rank on the core-set", "rank on everybody")
            facts["n_operators"] = len(both)
    return facts if facts["slopes"] or facts["ranks"] else None


def _numbers(reference: Ranking, other: Ranking) -> dict[str, float]:
    """Compare the two; cut-offs beyond the number of operators would say nothing."""
    scores = reference.scores.dropna()
    cuts = [cut for cut in CUTS if cut < len(scores)]
    return consistency(scores, other.scores.reindex(scores.index), cuts)


def shared_ranks(first: Ranking, second: Ranking) -> pd.DataFrame:
    """Return the operators that have a rank in both, with the ranks among all of each."""
    columns = ["spi", "rank", "score"]
    both = first.table[columns].merge(second.table[columns], on="spi", suffixes=("", "_other"))
    return both[both["rank"].notna() & both["rank_other"].notna()]


def draw_slopes(both: pd.DataFrame, left: str, right: str) -> Markup:
    """Draw the order of a few operators twice, with lines from one to the other."""
    first = both["rank"].rank(method="first").astype(int)
    second = both["rank_other"].rank(method="first").astype(int)
    drawing = Drawing(
        STEP * (len(both) + 1) + 6,
        f"Order of {len(both)} operators on the {left} and on the {right}",
    )
    drawing.text(LEFT, 14, left, "axis", "middle")
    drawing.text(RIGHT, 14, right, "axis", "start")
    for (_, row), here, there in zip(both.iterrows(), first, second, strict=True):
        y1, y2 = STEP * (here + 0.55), STEP * (there + 0.55)
        kind = "same" if here == there else "moved"
        drawing.line(LEFT, y1, RIGHT, y2, f"slope {kind}")
        tip = f"{row['spi']}: rank {rank_text(row['rank'])}, then {rank_text(row['rank_other'])}"
        drawing.dot(LEFT, y1, 4.5, f"dot {kind}", tip)
        drawing.dot(RIGHT, y2, 4.5, f"dot {kind}", tip)
        drawing.text(LEFT - 0.025, y1 + 4, rank_text(row["rank"]), "tick", "end")
        drawing.text(RIGHT + 0.03, y2 + 4, shorten(str(row["spi"]), NAME_LENGTH), "name")
    return drawing.markup()


def draw_ranks(both: pd.DataFrame, across: str, down: str) -> Markup:
    """Draw the ranks of all operators against each other, the best in the upper left corner."""
    last = float(max(both["rank"].max(), both["rank_other"].max())) + 1
    axis = Axis(0.0, last)
    drawing = Drawing(AGREEMENT_PLOT_HEIGHT, f"{down} against {across} for {len(both)} operators")
    for place, value in axis.ticks():
        drawing.line(place, 0, place, AGREEMENT_PLOT_HEIGHT, "grid")
        drawing.line(0, place * AGREEMENT_PLOT_HEIGHT, 1, place * AGREEMENT_PLOT_HEIGHT, "grid")
        if 0.02 < place < 0.98:
            drawing.text(place, 12, tick_label(value), "tick", "middle")
            drawing.text(0.008, place * AGREEMENT_PLOT_HEIGHT + 4, tick_label(value), "tick")
    drawing.line(0, 0, 1, AGREEMENT_PLOT_HEIGHT, "chance")
    for _, row in both.sort_values("rank", ascending=False).iterrows():
        best = row["rank_other"] <= 10
        places = rank_text(row["rank"]), rank_text(row["rank_other"])
        tip = f"{row['spi']}: {across} {places[0]}, {down} {places[1]}"
        drawing.dot(
            axis.place(row["rank"]),
            axis.place(row["rank_other"]) * AGREEMENT_PLOT_HEIGHT,
            5 if best else 3.5,
            "dot moved" if best else "dot score faint",
            tip,
        )
    return drawing.markup()
