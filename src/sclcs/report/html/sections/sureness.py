"""How sure an answer is, said in sentences that the numbers decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from sclcs.benchmark.ranking import Ranking
from sclcs.benchmark.ranks import DECIMALS
from sclcs.report.html.formats import count, interval, number, percent
from sclcs.report.html.parts import RunParts
from sclcs.report.html.sections.tracks import score_of

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
    best, spi = lines.iloc[0], str(lines["spi"].iloc[0])
    chance, lead, unchecked = _against_chance(basis, best), _lead(lines), _unchecked(run, task, spi)
    confirmed, truth = _confirmed(run, task, spi), _truth(run, task, spi)
    found = (chance, lead, confirmed, unchecked, truth, _certificate(run, task))
    remarks = [remark for remark in found if remark is not None]
    doubt = "Clear, not confirmed" if run.confirmed(task) is None else "Best of those checked"
    sure = run.confirmed(task) is not None and unchecked is None
    return _verdict(chance, lead, "" if sure else doubt), remarks


def close_rivals(lines: pd.DataFrame) -> int | None:
    """Count the operators whose interval reaches that of the best; None without intervals."""
    low = float(lines["low"].iloc[0])
    if not np.isfinite(low):
        return None
    return int((lines["high"].iloc[1:] >= low).sum())


def _verdict(chance: Remark | None, lead: Remark, doubt: str) -> Remark:
    if chance is not None and chance.kind == "bad":
        return Remark("bad", "No better than chance")
    if lead.kind == "good":
        return Remark("caution", doubt) if doubt else Remark("good", "Clear winner")
    if lead.kind == "plain":
        return Remark("plain", "No intervals")
    return Remark("caution", "Close call")


def _against_chance(basis: Ranking, best: pd.Series) -> Remark | None:
    score = score_of(basis)
    if score.chance is None or not np.isfinite(best["low"]):
        return None
    if best["low"] > score.chance:
        return Remark(
            "good", f"Better than chance: the whole interval lies above {score.chance:g}."
        )
    return Remark(
        "bad",
        f"Even the best operator is not reliably better than chance: its interval "
        f"({interval(best['low'], best['high'])}) does not lie above {score.chance:g}. The order "
        "of operators then says little.",
    )


def _lead(lines: pd.DataFrame) -> Remark:
    rivals = close_rivals(lines)
    if rivals is None:
        return Remark("plain", "There are no intervals (the run drew no subjects again).")
    if rivals == 0:
        return Remark("good", "Ahead: no other operator's interval reaches that of the best.")
    who = (
        "the interval of 1 other operator overlaps"
        if rivals == 1
        else f"the intervals of {count(rivals)} other operators overlap"
    )
    return Remark(
        "caution",
        f"Close: {who} that of the best, so other subjects could put another one first.",
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
        f"Certificate: the core-set is expected to order operators it never saw with nDCG@"
        f"{name.removeprefix('ndcg@')} {number(ends['expected'])} "
        f"({percent(found['confidence'])} interval {interval(ends['low'], ends['high'])}; 1 is the "
        "order of everybody).",
    )


def _place(ranking: Ranking, spi: str) -> int | None:
    """Return one more than the number of operators with a higher score; ties share a place."""
    scores = ranking.scores.round(DECIMALS)
    if spi not in scores.index or not np.isfinite(scores[spi]):
        return None
    return 1 + int((scores > scores[spi]).sum())
