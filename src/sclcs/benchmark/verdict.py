"""What a ranking says, in sentences that a careful statistician would write."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sclcs.benchmark.findings import ALPHA

if TYPE_CHECKING:
    import pandas as pd

    from sclcs.benchmark.ranking import Ranking

__all__ = [
    "CANNOT_ANSWER",
    "Verdict",
    "answered",
    "effect_sentence",
    "entry_name",
    "find_verdict",
    "sentences",
]

LEARNED = ("predict", "predict_r2")  # scores of models that all subjects trained
CANNOT_ANSWER = 0.2  # Kendall of halves below which the order of operators is not repeatable
ROUGHLY = 0.4
Kind = Literal["ranks-only", "no-effect", "untestable", "cannot-answer", "one", "several", "order"]


@dataclass(frozen=True)
class Verdict:
    """The answer of a ranking in one sentence.

    Parameters
    ----------
    kind : str
        ``one`` operator is the best, or one of ``several``; the cohort ``cannot-answer``; there
        is ``no-effect``, or it is ``untestable``; ``ranks-only`` on a guided core-set; ``order``
        where subjects were not redrawn.
    text : str
        The sentence.
    """

    kind: Kind
    text: str


def find_verdict(ranking: Ranking) -> Verdict:
    """Return the answer of a ranking: whether there is one, and which operators it is.

    Parameters
    ----------
    ranking : Ranking

    Returns
    -------
    Verdict
    """
    effect, kendall = ranking.findings.get("effect"), _halves(ranking)
    if ranking.ranks_only:
        return Verdict("ranks-only", _ranks_only(ranking))
    if effect is not None and effect["p"] is None:
        return Verdict("untestable", effect_sentence(ranking))
    if effect is not None and effect["p"] >= ALPHA:
        return Verdict("no-effect", effect_sentence(ranking))
    if kendall is not None and kendall < CANNOT_ANSWER:
        text = (
            f"This cohort cannot answer the question: halves of it agree at {kendall:.2f} on the "
            "order of operators (Kendall; 1 is the same order, 0 is chance)."
        )
        return Verdict("cannot-answer", text)
    best = _best(ranking)
    if best:
        return Verdict("one" if len(ranking.best_set) == 1 else "several", best)
    return Verdict("order", _first(ranking))


def answered(ranking: Ranking) -> bool:
    """Say whether a ranking names operators that could be the best, and not only an order."""
    return find_verdict(ranking).kind in {"one", "several", "cannot-answer"}


def sentences(ranking: Ranking) -> list[str]:
    """Return what may be said about a ranking, the answer first.

    Parameters
    ----------
    ranking : Ranking

    Returns
    -------
    list of str
        The answer; whether there is an effect; whether the cohort can order operators at all;
        which could be the best; what the choice is worth on new subjects; whether classes
        scatter alike.
    """
    verdict, found = find_verdict(ranking), ranking.findings
    if verdict.kind == "ranks-only":
        return [verdict.text]
    parts = [verdict.text]
    if verdict.kind not in {"no-effect", "untestable"}:  # without an effect the order is noise
        order = "" if verdict.kind == "cannot-answer" else _order(ranking)
        parts += [effect_sentence(ranking), order, _best(ranking)]
        parts += [_worth(ranking, found.get("worth"))]
    parts += [_scatter(found.get("scatter"))]
    return list(dict.fromkeys(part for part in parts if part))


def entry_name(row: Mapping[Any, Any] | pd.Series) -> str:
    """Return an entry of a ranking as a person would name it.

    ``Pearson correlation (cov_EmpiricalCovariance) and 5 equivalents``
    """
    others = len(row["also"]) if "also" in row else 0
    name = f"{row['name']} ({row['spi']})"
    if not others:
        return name
    return f"{name} and {others} equivalent{'s' if others > 1 else ''}"


def effect_sentence(ranking: Ranking) -> str:
    """Say whether any operator sees the target; empty if nothing was permuted."""
    effect = ranking.findings.get("effect")
    if effect is None:
        return ""
    what = "persons" if ranking.task == "subject" else ranking.task
    where = f" within {effect['exchangeable']}" if effect["exchangeable"] else ""
    if effect["p"] is None:
        return (
            f"Whether any operator sees {what} cannot be tested: inside every group of "
            f"{effect['exchangeable']} all subjects have the same {what}, so the two cannot be "
            "told apart."
        )
    n = ranking.findings["entries"]
    if effect["p"] >= ALPHA:
        return (
            f"No operator sees {what}: the strongest of {n} would look as strong by chance in "
            f"{_percent(effect['p'])} of cohorts without any effect (family-wise p = "
            f"{effect['p']:.2g}, target permuted{where}). The order of operators is noise."
        )
    many = "1 of them sees" if effect["operators"] == 1 else f"{effect['operators']} of them see"
    seen = "Persons can be told apart" if what == "persons" else f"There is an effect of {what}"
    return (
        f"{seen} (family-wise p {_p(effect['p'])} over {n} operators, "
        f"target permuted{where}); {many} it beyond chance."
    )


def _halves(ranking: Ranking) -> float | None:
    kendall = ranking.findings.get("halves", {}).get("kendall")
    return None if kendall is None or math.isnan(kendall) else float(kendall)


def _order(ranking: Ranking) -> str:
    kendall = _halves(ranking)
    if kendall is None:
        return ""
    if kendall < ROUGHLY:
        return f"The cohort orders operators only roughly: halves of it agree at {kendall:.2f}."
    return f"Halves of the subjects agree on the order at {kendall:.2f} (Kendall)."


def _best(ranking: Ranking) -> str:
    found = ranking.findings
    if "best_set" not in found:
        return ""
    rows = ranking.best_set
    percent = f"{found['best_set']['confidence']:.0%}"
    if len(rows) == 1:
        return f"The best operator is {entry_name(rows.iloc[0])}, with {percent} confidence."
    from sclcs.spi.names import best_known

    known = best_known(rows["spi"])
    row = rows.iloc[0] if known is None else rows[rows["spi"] == known].iloc[0]
    which = "the first of them by score is" if known is None else "the best known of them is"
    return (
        f"The data cannot tell these {len(rows)} operators apart ({percent} confidence that the "
        f"best is among them); {which} {entry_name(row)}."
    )


def _first(ranking: Ranking) -> str:
    """Name the first operator where nothing says how sure that is."""
    rows = ranking.groups
    if rows.empty or math.isnan(rows["score"].iloc[0]):
        return "No operator has a score."
    return (
        f"First is {entry_name(rows.iloc[0])}; how sure that is was not asked (no redraws of "
        "subjects)."
    )


def _ranks_only(ranking: Ranking) -> str:
    rows = ranking.groups
    first = "" if rows.empty else f" First by rank is {entry_name(rows.iloc[0])}."
    return (
        "This core-set was chosen by labels and connectivity together, which enlarges effects: it "
        "says something about the order of operators and nothing about the size of effects."
        f"{first} "
        "Rank the first operators on everybody to know more."
    )


def _worth(ranking: Ranking, worth: dict[str, Any] | None) -> str:
    if ranking.score in LEARNED and "best_set" in ranking.findings:
        return (
            "What the choice is worth on new subjects is not estimated for predictions: every "
            "half of the subjects helped to train those of the other. Keep subjects apart to know."
        )
    if worth is None or not ranking.table["score"].notna().any():
        return ""
    own = float(ranking.table["score"].max())
    return (
        f"The winner's own score, {own:.3g}, is the largest of many. Chosen on half of the "
        f"subjects and scored on the other half it is {worth['new_subjects']:.3g} (mean of many "
        "divisions)."
    )


def _scatter(scatter: dict[str, Any] | None) -> str:
    if scatter is None or math.isnan(scatter["scatter_p"]):
        return ""
    if scatter["scatter_p"] >= ALPHA:
        return f"Classes scatter alike, as far as can be seen (p = {scatter['scatter_p']:.2g})."
    more = f"{scatter['scatter'] - 1:.0%}" if scatter["scatter"] < 10 else "far"
    return (
        f"Matrices of {scatter['scatter_class']} scatter {more} more (p "
        f"{_p(scatter['scatter_p'])}): noise or motion may explain part of this."
    )


def _percent(p: float) -> str:
    return "nearly all" if p > 0.995 else f"{p:.0%}"


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"= {p:.2g}"
