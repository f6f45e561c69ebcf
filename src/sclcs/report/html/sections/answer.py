"""The answer first: the operators that could be the best, how sure that is, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from sclcs.benchmark.ranking import Ranking
from sclcs.core.arguments import checked
from sclcs.report.html.parts import RunParts, catalogue_row
from sclcs.report.html.section import Content
from sclcs.report.html.sections.costs import run_costs
from sclcs.report.html.sections.sureness import Judgement, Remark, judge
from sclcs.report.html.sections.tracks import Scale, score_scale
from sclcs.run_folder import RunFolder
from sclcs.spi.names import KNOWN_BEST

__all__ = ["answer_section", "run_answers", "task_answer"]

SHOWN = 5
IN_SET = 12


@dataclass(frozen=True)
class TaskAnswer:
    """What a run says about one task.

    Parameters
    ----------
    task : str
    basis : Ranking
        The ranking that the answer is read from: on the whole cohort where there is one.
    everybody : bool
        Whether it is on the whole cohort.
    lines : DataFrame
        Operators with a score, best first; those that are bound to tie are one line.
    """

    task: str
    basis: Ranking
    everybody: bool
    lines: pd.DataFrame


def task_answer(run: RunParts, task: str) -> TaskAnswer | None:
    """Return the best operators of a task; None if nothing was ranked yet."""
    everybody = None if run.budgeted else run.truth(task) or run.confirmed(task)
    basis = everybody or run.ranking(task)
    if basis is None:
        return None
    lines = basis.groups
    return TaskAnswer(task, basis, basis.coreset is None, lines[lines["score"].notna()])


@checked
def run_answers(folder: RunFolder) -> dict[str, list[str]]:
    """Return what may be said about each task of a run, in sentences, the answer first.

    Parameters
    ----------
    folder : RunFolder
        Of a run, finished or not.

    Returns
    -------
    dict of str to list of str
        By task; nothing for tasks that are not ranked yet.
    """
    run, found = RunParts(folder), {}
    for task in run.tasks:
        answer = task_answer(run, task)
        if answer is not None and not answer.lines.empty:
            judged = judge(run, task, answer.basis)
            found[task] = [judged.headline, *(remark.text for remark in judged.remarks)]
    return found


def answer_section(run: RunParts) -> Content:
    """Make the section."""
    answers = [_facts(run, task) for task in run.tasks]
    return Content(
        "answer.jinja",
        {
            "answers": answers,
            "costs": run_costs(run),
            "budgeted": run.budgeted,
            "exact": run.answer.get("way") == "exact",
            "cohort": run.check.get("cohort"),
            "core": run.core,
            "description": run.config.description,
        },
    )


def _facts(run: RunParts, task: str) -> dict[str, Any]:
    found = task_answer(run, task)
    blank = {"task": task, "rows": [], "others": [], "more": 0}
    if found is None:
        badge = Remark("caution", "Not ranked yet")
        return blank | {"judged": Judgement(badge, "Nothing was ranked yet.", [])}
    if found.lines.empty:
        reasons = [str(reason) for reason in found.basis.table["reason"].unique() if reason]
        why = f"No operator has a score. {reasons[0] if reasons else ''}"
        return blank | {"judged": Judgement(Remark("bad", "No answer"), why, [])}
    best, others = _parted(found)
    shown = pd.concat([best.head(IN_SET), others])
    scale = score_scale(found.basis, shown)
    core = None if found.basis.coreset is not None or run.budgeted else run.ranking(task)
    question = found.basis.provenance.get("question", {})
    unknown = question.get("unlabelled_samples", 0) or len(question.get("left_out_subjects", []))
    return {
        "task": task,
        "judged": judge(run, task, found.basis),
        "rows": [_row(row, scale, core) for _, row in best.head(IN_SET).iterrows()],
        "more": max(len(best) - IN_SET, 0),
        "others": [_row(row, scale, core) for _, row in others.iterrows()],
        "scale": scale,
        "ranks_only": found.basis.ranks_only,
        "known": bool(best["best_p"].notna().any()),
        "tested": found.basis is not run.confirmed(task) and bool(best["p"].notna().any()),
        "everybody": found.everybody,
        "samples": int(found.lines["n_samples"].max()),
        "subjects": question.get("subjects"),
        "incomplete": bool(unknown) and not question.get("repeated"),
        "covariates": question.get("covariates", []),
        "core_ranks": core is not None,
        "operators": 0 if core is None else int(core.table["score"].notna().sum()),
    }


def _parted(found: TaskAnswer) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the operators that could be the best, and the first of the others."""
    lines = found.lines
    if found.basis.ranks_only or not lines["best_set"].any():
        return lines.head(SHOWN), lines.head(0)
    inside = lines["best_set"].astype(bool)
    return lines[inside], lines[~inside].head(SHOWN)


def _row(row: pd.Series, scale: Scale, core: Ranking | None) -> dict[str, Any]:
    facts = catalogue_row(str(row["spi"]))
    among: pd.DataFrame | None = None
    if core is not None:
        among = core.table[core.table["spi"] == row["spi"]]
    return {
        "spi": row["spi"],
        "name": row["name"],
        "known": str(row["spi"]) in KNOWN_BEST,
        "also": list(row["also"]),
        "family": facts["family"],
        "directed": facts["directed"],
        **{name: row[name] for name in ("score", "low", "high", "rank", "p")},
        "estimated": row["source"] == "estimated",
        "track": scale.track(
            row["score"],
            row["low"],
            row["high"],
            str(row["spi"]),
            estimated=row["source"] == "estimated",
        ),
        "core": None if among is None or among.empty else among.iloc[0].to_dict(),
    }
