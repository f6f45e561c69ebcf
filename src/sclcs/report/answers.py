"""The sections of a report: each turns parts of a run into facts for its template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from sclcs._core import ALPHA, SCORE_DECIMALS, SMALL_REGRET, checked
from sclcs.cohort import cautions
from sclcs.report.costs import run_costs
from sclcs.report.drawing import Scale, count, percent, score_scale
from sclcs.report.page import Content
from sclcs.report.parts import RunParts, catalogue_row
from sclcs.run_folder import RunFolder
from sclcs.spi import KNOWN_BEST
from sclcs.stats import (
    Ranking,
    Verdict,
    between_sentence,
    effect_sentence,
    entry_name,
    find_verdict,
    sentences,
    without_effect,
)

__all__ = ["Judgement", "Remark", "answer_section", "judge", "run_answers", "task_answer"]


Kind = Literal["good", "caution", "bad", "plain"]

#: Badge of each verdict on operators that were all looked at.
BADGES: Mapping[str, tuple[Kind, str]] = {
    "one": ("good", "Clear winner"),
    "several": ("caution", "Several could be the best"),
    "cannot-answer": ("bad", "Cannot be answered"),
    "alone": ("plain", "One operator"),
    "no-effect": ("bad", "No effect found"),
    "untestable": ("bad", "Cannot be tested"),
    "ranks-only": ("caution", "Ranks only"),
    "order": ("plain", "No intervals"),
}


@dataclass(frozen=True)
class Remark:
    """A sentence and whether it is good news.

    Parameters
    ----------
    kind : {"good", "caution", "bad", "plain"}
    text : str
    """

    kind: Kind
    text: str


@dataclass(frozen=True)
class Judgement:
    """How sure the answer for a task is.

    Parameters
    ----------
    badge : Remark
        In two or three words.
    headline : str
        The answer in one sentence.
    remarks : list of Remark
        What it rests on.
    effect : Remark, optional
        The one of these that says whether there is an effect; None if that was not tested.
    """

    badge: Remark
    headline: str
    remarks: list[Remark]
    effect: Remark | None = None


def judge(run: RunParts, task: str, basis: Ranking) -> Judgement:
    """Say what may be said about a task.

    Parameters
    ----------
    run : RunParts
    task : str
    basis : Ranking
        That the answer is read from.

    Returns
    -------
    Judgement
    """
    verdict, confirmed = find_verdict(basis), run.confirmed(task)
    chosen = confirmed is not None and basis is confirmed  # a few operators, chosen by a core-set
    effect = _chosen_effect(run, task, basis) if chosen else _plain_effect(basis)
    best = str(basis.groups["spi"].iloc[0])
    others = [
        _confirmed(run, task, basis.groups.iloc[0]),
        _unchecked(run, task) if chosen else None,
        _truth(run, task, best) if confirmed is not None and not chosen else None,
        *_design(run, task, basis),
        *_estimated(run, task, basis),
    ]
    said = {verdict.text, *([effect.text] if effect else [])}
    rest = [
        _remark(text) for text in sentences(basis) if text not in {*said, effect_sentence(basis)}
    ]
    remarks = [effect, *rest, *others]
    shown = [item for item in remarks if item is not None and item.text != verdict.text]
    headline = _of_checked(basis, verdict) if chosen else verdict.text
    badge = _badge(run, task, verdict, chosen, effect)
    if effect is not None and effect.kind == "bad":  # nothing else can be said about noise
        true_anyway = set(without_effect(basis))
        headline, shown = effect.text, [item for item in rest if item.text in true_anyway]
        shown += _design(run, task, basis)
    return Judgement(badge, headline, shown, effect)


def _badge(
    run: RunParts, task: str, verdict: Verdict, chosen: bool, effect: Remark | None
) -> Remark:
    kind, words = BADGES[verdict.kind]
    if effect is not None and effect.kind == "bad":
        kind, words = BADGES["no-effect"] if verdict.kind != "untestable" else (kind, words)
    elif verdict.kind in {"one", "several"} and effect is not None and effect.kind == "caution":
        kind, words = "caution", "Effect not sure"
    elif verdict.kind == "one" and chosen:
        kind, words = "caution", "Best of those checked"
    elif run.budgeted:
        pass  # the best are exact, or the sentences say so
    elif verdict.kind in {"one", "several"} and run.confirmed(task) is None and run.core:
        kind, words = "caution", "Not confirmed"
    return Remark(kind, words)


def _of_checked(basis: Ranking, verdict: Verdict) -> str:
    """Say of whom the verdict is, where only a few operators were computed on everybody."""
    if verdict.kind not in {"one", "several"} or len(basis.groups) < 2:
        return verdict.text
    n = len(basis.groups)
    return (
        f"Of the {n} operators computed on everybody: {verdict.text[0].lower()}{verdict.text[1:]}"
    )


def _remark(text: str) -> Remark:
    """Return a sentence of a ranking; those that warn are marked."""
    warns = ("This cohort cannot", "The cohort orders operators only", "Matrices of")
    warned = text.startswith(warns) or "Scores contain that part" in text
    return Remark("caution" if warned else "plain", text)


def _plain_effect(basis: Ranking) -> Remark | None:
    """Say whether there is an effect at all: permutations decide, never intervals."""
    effect = basis.findings.get("effect")
    if effect is None or basis.ranks_only:
        return None
    good = effect["p"] is not None and effect["p"] < ALPHA
    return Remark("good" if good else "bad", effect_sentence(basis))


def _chosen_effect(run: RunParts, task: str, basis: Ranking) -> Remark | None:
    """Say whether there is an effect, where the operators were chosen with the same labels.

    A test of the winners alone would forget that they were chosen. All operators on a core-set
    were not, unless labels and connectivity chose its samples.
    """
    own = _plain_effect(basis)
    if own is None or own.kind == "bad":
        return own  # not even the winners see anything
    what = "persons" if task == "subject" else task
    core = run.ranking(task)
    effect = None if core is None or core.ranks_only else core.findings.get("effect")
    if core is None or effect is None or effect["p"] is None:
        return Remark("caution", f"{own.text} {_TOO_SMALL}")
    if effect["p"] < ALPHA:
        return Remark("good", f"On the core-set already: {effect_sentence(core)}")
    return Remark(
        "caution",
        f"On the core-set, where all {core.findings['entries']} operators were tested, none sees "
        f"{what} beyond chance (p = {effect['p']:.2g}). On everybody the chosen ones do, but "
        f"{_TOO_SMALL[0].lower()}{_TOO_SMALL[1:]}",
    )


_TOO_SMALL = (
    "They were chosen with the same labels, so that p is too small; --full-benchmark tests all."
)


def _confirmed(run: RunParts, task: str, best: pd.Series) -> Remark | None:
    ranking = run.ranking(task)
    if ranking is None or run.core is None or run.budgeted:
        return None
    if run.confirmed(task) is None and run.truth(task) is None:
        return Remark(
            "caution",
            "Not confirmed on the whole cohort yet: this order comes from the core-set alone.",
        )
    place = _place(ranking, str(best["spi"]))
    if place is None:
        return None
    if place == 1:
        return Remark("good", "Confirmed: first on the core-set and first on the whole cohort.")
    return Remark(
        "caution",
        f"Corrected by the whole cohort: {entry_name(best)} is first there and had place {place} "
        f"of {int(ranking.groups['score'].notna().sum())} on the core-set.",
    )


def _unchecked(run: RunParts, task: str) -> Remark | None:
    """Count operators that the core-set cannot tell from the best and that nobody looked at."""
    ranking, confirmed = run.ranking(task), run.confirmed(task)
    if ranking is None or confirmed is None:
        return None
    lines = ranking.groups
    lines = lines[lines["score"].notna()]
    checked = set(confirmed.table["spi"])
    seen = [
        spi in checked or not checked.isdisjoint(also)
        for spi, also in zip(lines["spi"], lines["also"], strict=True)
    ]
    left = lines[~np.array(seen, dtype=bool)]
    if not ranking.ranks_only and lines["best_p"].notna().any():
        left = left[left["best_set"]]
    if left.empty:
        return None
    who = f"{count(len(left))} more {'operator' if len(left) == 1 else 'operators'}"
    why = "by the core-set's redraws, " if not ranking.ranks_only else ""
    return Remark(
        "caution",
        f"Not all checked: {why}{who} could be as good, but only the first {len(checked)} were "
        "computed on everybody. A larger top_k checks more.",
    )


def _truth(run: RunParts, task: str, best: str) -> Remark | None:
    """Say what the two stages alone would have answered, where every operator is known."""
    confirmed, truth = run.confirmed(task), run.truth(task)
    if confirmed is None or truth is None:
        return None
    chosen = str(confirmed.groups["spi"].iloc[0])
    place = _place(truth, chosen)
    if place is None:
        return None
    if chosen == best or place == 1:
        return Remark("good", "Checked: two stages alone would have found the same best operator.")
    scored = truth.table[truth.table["score"].notna()]
    share = float((scored["score"] < truth.scores[chosen]).mean())
    return Remark(
        "plain",
        f"Checked: two stages alone would have answered {chosen}, which has place {place} of "
        f"{len(scored)} on everybody (better than {percent(share)} of them).",
    )


def _design(run: RunParts, task: str, basis: Ranking) -> list[Remark]:
    """Say what else may explain the effect: what the label goes with and is not taken out."""
    problems = run.check.get("design", [])
    if between_sentence(basis):  # which says of the site what the check would say again
        problems = [entry for entry in problems if entry["kind"] != "goes-with-site"]
    return [Remark("caution", text) for text in cautions(problems, task, run.config.taken_out)]


def _estimated(run: RunParts, task: str, basis: Ranking) -> list[Remark]:
    """Say what is estimated, what stopping now may cost, and why the run stopped."""
    facts = run.answer.get("tasks", {}).get(task)
    if not facts:
        return []
    if run.answer["way"] == "exact":
        return [Remark("good", f"Nothing is estimated: {run.answer['why']}.")]
    if not facts["effect"]:
        return [Remark("bad", run.answer["sentence"])]
    lines = basis.groups
    guessed = int(((lines["source"] == "estimated") & lines["score"].notna()).sum())
    known = int(((lines["source"] == "exact") & lines["score"].notna()).sum())
    said = [
        Remark(
            "plain",
            f"{count(known)} scores are exact, {count(guessed)} are estimated from operators like "
            f"them. {run.answer['sentence']}",
        )
    ]
    if facts["regret"] is not None:
        small = facts["regret_share"] < SMALL_REGRET
        said.append(
            Remark(
                "good" if small else "caution",
                "Taking the best exact operator is expected to lose "
                f"{percent(facts['regret_share'], 1)} of best minus median against all.",
            )
        )
    return [*said, *_how_right(run, task)]


def _how_right(run: RunParts, task: str) -> list[Remark]:
    """Say how right the estimate was, where everything was computed afterwards."""
    found = run.confirmation.get("tasks", {}).get(task, {})
    if not found.get("true_best"):
        return []
    inside = "is" if found["true_best_in_set"] else "is not"
    return [
        Remark(
            "good" if found["true_best_in_set"] else "bad",
            f"Everything was computed afterwards: the true best is {found['true_best']}, which "
            f"{inside} among those that could be the best; taking {found['chosen']} loses "
            f"{percent(found['regret_share'], 1)} of best minus median.",
        )
    ]


def _place(ranking: Ranking, spi: str) -> int | None:
    """Return one more than the number of entries with a higher score; ties share a place."""
    scores = ranking.scores.round(SCORE_DECIMALS)
    if spi not in scores.index or not np.isfinite(scores[spi]):
        return None
    return 1 + int((ranking.groups["score"].round(SCORE_DECIMALS) > scores[spi]).sum())


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
