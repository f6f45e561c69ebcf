"""The answer first: the best operators of each task, how sure that is, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from sclcs.benchmark.ranking import Ranking
from sclcs.report.html.parts import RunParts, catalogue_row
from sclcs.report.html.section import Content
from sclcs.report.html.sections.costs import run_costs
from sclcs.report.html.sections.sureness import Remark, judge
from sclcs.report.html.sections.tracks import Scale, score_scale

__all__ = ["answer_section", "task_answer"]

SHOWN = 5


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
    confirmed = run.confirmed(task)
    basis = confirmed or run.ranking(task)
    if basis is None:
        return None
    lines = basis.groups
    return TaskAnswer(task, basis, confirmed is not None, lines[lines["score"].notna()])


def answer_section(run: RunParts) -> Content:
    """Make the section."""
    answers = [_facts(run, task) for task in run.tasks]
    return Content(
        "answer.jinja",
        {
            "answers": answers,
            "costs": run_costs(run),
            "cohort": run.check.get("cohort"),
            "core": run.core,
            "description": run.config.description,
        },
    )


def _facts(run: RunParts, task: str) -> dict[str, Any]:
    found = task_answer(run, task)
    if found is None:
        return {
            "task": task,
            "verdict": Remark("caution", "Not ranked yet"),
            "rows": [],
            "remarks": [],
        }
    if found.lines.empty:
        reasons = [str(reason) for reason in found.basis.table["reason"].unique() if reason]
        why = f"No operator has a score. {reasons[0] if reasons else ''}"
        verdict = Remark("bad", "No answer")
        return {"task": task, "verdict": verdict, "rows": [], "remarks": [Remark("bad", why)]}
    verdict, remarks = judge(run, found.task, found.basis, found.lines)
    scale = score_scale(found.basis, found.lines.head(SHOWN))
    core = run.ranking(task)
    tied = {} if core is None else dict(zip(core.groups["spi"], core.groups["also"], strict=True))
    return {
        "task": task,
        "verdict": verdict,
        "remarks": remarks,
        "rows": [
            _row(row, scale, core) | {"also": tied.get(row["spi"], row["also"])}
            for _, row in found.lines.head(SHOWN).iterrows()
        ],
        "scale": scale,
        "everybody": found.everybody,
        "samples": int(found.lines["n_samples"].max()),
        "operators": 0 if core is None else int(core.table["score"].notna().sum()),
    }


def _row(row: pd.Series, scale: Scale, core: Ranking | None) -> dict[str, Any]:
    facts = catalogue_row(str(row["spi"]))
    among: pd.DataFrame | None = None
    if core is not None:
        among = core.table[core.table["spi"] == row["spi"]]
    return {
        "spi": row["spi"],
        "description": facts["description"],
        "family": facts["family"],
        "directed": facts["directed"],
        "score": row["score"],
        "low": row["low"],
        "high": row["high"],
        "track": scale.track(row["score"], row["low"], row["high"], str(row["spi"])),
        "core": None if among is None or among.empty else among.iloc[0].to_dict(),
    }
