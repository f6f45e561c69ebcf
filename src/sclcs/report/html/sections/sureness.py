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
from sclcs.report.html.formats import count, interval, number, percent
from sclcs.report.html.parts import RunParts

__all__ = ["Remark", "close_rivals", "judge"]

Kind = Literal["good", "caution", "bad", "plain"]


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


def judge(
    run: RunParts, task: str, basis: Ranking, lines: pd.DataFrame
) -> tuple[Remark, list[Remark]]:
    """Say how sure the first place of a ranking is.

    Parameters
    ----------
    run : RunParts
    task : str
    basis : Ranking
        That the answer is read from.
    lines : DataFrame
        Its operators with a score, best first.

    Returns
    -------
    tuple of Remark and list of Remark
        The verdict in two or three words, and what it rests on.
    """
    spi = str(lines["spi"].iloc[0])
    chance, lead, unchecked = _effect(basis), _lead(lines), _unchecked(run, task, spi)
    confirmed, truth = _confirmed(run, task, spi), _truth(run, task, spi)
    found = (chance, lead, confirmed, unchecked, truth, _certificate(run, task))
    remarks = [remark for remark in found if remark is not None]
    doubt = "Clear, not confirmed" if run.confirmed(task) is None else "Best of those checked"
    sure = run.confirmed(task) is not None and unchecked is None
    return _verdict(chance, lead, "" if sure else doubt), remarks


def close_rivals(lines: pd.DataFrame) -> int | None:
    """Count the operators that the data cannot tell from the best; None without redraws."""
    if not lines["best_p"].notna().any():
        return None
    return int(lines["best_set"].sum()) - 1


def _verdict(chance: Remark | None, lead: Remark, doubt: str) -> Remark:
    if chance is not None and chance.kind == "bad":
        return Remark("bad", "No effect found")
    if lead.kind == "good":
        return Remark("caution", doubt) if doubt else Remark("good", "Clear winner")
    if lead.kind == "plain":
        return Remark("plain", "No intervals")
    return Remark("caution", "Close call")


def _effect(basis: Ranking) -> Remark | None:
    """Say whether there is an effect at all: permutations decide, never intervals."""
    effect = basis.findings.get("effect")
    if effect is None:
        return None
    good = effect["p"] is not None and effect["p"] < ALPHA
    return Remark("good" if good else "bad", basis.answer[0])


def _lead(lines: pd.DataFrame) -> Remark:
    rivals = close_rivals(lines)
    if rivals is None:
        return Remark("plain", "There are no intervals (the run drew no subjects again).")
    if rivals == 0:
        return Remark("good", "Ahead: no other of these operators could be the best.")
    who = "1 other operator" if rivals == 1 else f"{count(rivals)} other operators"
    return Remark(
        "caution",
        f"Close: the data cannot tell {who} from the best, so other subjects could put another "
        "one first.",
    )


def _confirmed(run: RunParts, task: str, best: str) -> Remark | None:
    ranking = run.ranking(task)
    if run.confirmed(task) is None:
        return Remark(
            "caution",
            "Not confirmed on the whole cohort yet: this order comes from the core-set alone.",
        )
    if ranking is None:
        return None
    place = _place(ranking, best)
    if place is None:
        return None
    if place == 1:
        return Remark("good", "Confirmed: first on the core-set and first on the whole cohort.")
    return Remark(
        "caution",
        f"Corrected by the whole cohort: on the core-set it had place {place} of "
        f"{int(ranking.table['score'].notna().sum())}.",
    )


def _unchecked(run: RunParts, task: str, best: str) -> Remark | None:
    """Count operators that the core-set cannot tell from the best and that nobody looked at."""
    ranking, confirmed = run.ranking(task), run.confirmed(task)
    if ranking is None or confirmed is None or run.truth(task) is not None:
        return None
    lines = ranking.groups
    own = ranking.table.loc[ranking.table["spi"] == best, "low"]
    low = float(own.iloc[0]) if len(own) else float("nan")
    checked = set(confirmed.table["spi"])
    seen = [
        spi in checked or not checked.isdisjoint(also)
        for spi, also in zip(lines["spi"], lines["also"], strict=True)
    ]
    left = int(((lines["high"] >= low) & ~np.array(seen, dtype=bool)).sum())
    if left == 0:
        return None
    return Remark(
        "caution",
        f"Not all checked: by the core-set's intervals, {count(left)} more "
        f"{'operator' if left == 1 else 'operators'} could be as good, but only the best "
        f"{len(checked)} were computed on everybody. A larger top_k checks more.",
    )


def _truth(run: RunParts, task: str, best: str) -> Remark | None:
    truth = run.truth(task)
    place = None if truth is None else _place(truth, best)
    if truth is None or place is None:
        return None
    scored = truth.table[truth.table["score"].notna()]
    share = float((scored["score"] < truth.scores[best]).mean())
    return Remark(
        "good" if place == 1 else "plain",
        f"Checked: with every operator on everybody it has place {place} of {len(scored)} "
        f"(better than {percent(share)} of them).",
    )


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
    """Return one more than the number of operators with a higher score; ties share a place."""
    scores = ranking.scores.round(DECIMALS)
    if spi not in scores.index or not np.isfinite(scores[spi]):
        return None
    return 1 + int((scores > scores[spi]).sum())
