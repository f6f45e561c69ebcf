"""How sure an answer is, said in sentences that the numbers decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from sclcs.benchmark.criteria import CRITERIA
from sclcs.benchmark.findings import ALPHA
from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.ranks import DECIMALS
from sclcs.benchmark.verdict import (
    Verdict,
    between_sentence,
    effect_sentence,
    entry_name,
    find_verdict,
    sentences,
    without_effect,
)
from sclcs.cohort.design import cautions
from sclcs.report.html.formats import count, interval, number, percent
from sclcs.report.html.parts import RunParts

__all__ = ["Judgement", "Remark", "judge"]

SMALL_REGRET = 0.02  # of best minus median: what a bar of ESTIMATION 6 allows

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
        _certificate(run, task),
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

    A test of the winners alone would forget that they were chosen. The panel was not, nor were
    all operators on a core-set that no score chose.
    """
    own = _plain_effect(basis)
    if own is None or own.kind == "bad":
        return own  # not even the winners see anything
    what = "persons" if task == "subject" else task
    panel = run.confirmation.get("tasks", {}).get(task, {}).get("effect")
    if panel is not None and panel["p"] is not None:
        return _panel_effect(panel, what)
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


def _panel_effect(panel: Mapping[str, Any], what: str) -> Remark:
    where = f" within {panel['exchangeable']}" if panel["exchangeable"] else ""
    tested = f"tested with the {panel['entries']} operators of the panel, which no score chose"
    if panel["p"] < ALPHA:
        p = "below 0.001" if panel["p"] < 0.001 else f"= {panel['p']:.2g}"
        text = f"There is an effect of {what} (family-wise p {p}, target permuted{where}, {tested})"
        return Remark("good", f"{text}.")
    return Remark(
        "bad",
        f"No effect of {what} is shown (family-wise p = {panel['p']:.2g}, target "
        f"permuted{where}, {tested}); the order of operators may be noise.",
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
    taken_out = {*run.config.covariates, run.config.within, run.config.harmonise}
    problems = run.check.get("design", [])
    if between_sentence(basis):  # which says of the site what the check would say again
        problems = [entry for entry in problems if entry["kind"] != "goes-with-site"]
    return [Remark("caution", text) for text in cautions(problems, task, taken_out)]


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


def _certificate(run: RunParts, task: str) -> Remark | None:
    found = run.certificate(task)
    if found is None:
        return None
    name = next((key for key in found if key.startswith("ndcg@")), None)
    if name is None:
        return None
    ends = found[name]
    return Remark(
        "plain",
        f"Certificate: the core-set is expected to order operators it never saw"
        f"{_certified_score(found)} with nDCG@{name.removeprefix('ndcg@')} "
        f"{number(ends['expected'])} ({percent(found['confidence'])} interval "
        f"{interval(ends['low'], ends['high'])}; 1 is the order of everybody)."
        f"{_searched_score(run, found)}",
    )


def _certified_score(certificate: Mapping[str, Any]) -> str:
    score = CRITERIA.get(str(certificate.get("score")))
    return "" if score is None else f" by {score.label}"


def _searched_score(run: RunParts, certificate: Mapping[str, Any]) -> str:
    """Say what the search followed, if it was not the score that is certified."""
    searched = "" if run.core is None else run.core.parameters.get("score_searched", "")
    if not searched or searched == certificate.get("score"):
        return ""
    words = CRITERIA[searched].label if searched in CRITERIA else searched
    return f" The search for it followed {words}, which swaps can update."


def _place(ranking: Ranking, spi: str) -> int | None:
    """Return one more than the number of entries with a higher score; ties share a place."""
    scores = ranking.scores.round(DECIMALS)
    if spi not in scores.index or not np.isfinite(scores[spi]):
        return None
    return 1 + int((ranking.groups["score"].round(DECIMALS) > scores[spi]).sum())
