"""What a ranking says, in sentences that a careful statistician would write."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from sclcs.benchmark.ranking import Ranking

__all__ = ["CANNOT_ANSWER", "entry_name", "sentences"]

ALPHA = 0.05
CANNOT_ANSWER = 0.2  # Kendall of halves below which the order of operators is not repeatable
ROUGHLY = 0.4


def sentences(ranking: Ranking) -> list[str]:
    """Return what may be said about a ranking, the most important first.

    Parameters
    ----------
    ranking : Ranking

    Returns
    -------
    list of str
        Whether there is an effect; whether the cohort can order operators at all; which could
        be the best; what the choice is worth on new subjects; whether classes scatter alike.
    """
    found = ranking.findings
    parts = [_effect(ranking, found.get("effect")), _order(found), _best(ranking, found)]
    parts += [_worth(ranking, found.get("worth")), _scatter(found.get("scatter"))]
    return [part for part in parts if part]


def entry_name(row: Mapping[Any, Any] | pd.Series) -> str:
    """Return an entry of a ranking as a person would name it.

    ``Pearson correlation (cov_EmpiricalCovariance) and 5 equivalents``
    """
    others = len(row["also"]) if "also" in row else 0
    name = f"{row['name']} ({row['spi']})"
    if not others:
        return name
    return f"{name} and {others} equivalent{'s' if others > 1 else ''}"


def _effect(ranking: Ranking, effect: dict[str, Any] | None) -> str:
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
            f"{effect['p']:.2g}, target permuted{where}). The order below is noise."
        )
    many = "1 of them sees" if effect["operators"] == 1 else f"{effect['operators']} of them see"
    return (
        f"There is an effect of {what} (family-wise p {_p(effect['p'])} over {n} operators, "
        f"target permuted{where}); {many} it beyond chance."
    )


def _order(found: dict[str, Any]) -> str:
    kendall = found.get("halves", {}).get("kendall")
    if kendall is None or math.isnan(kendall):
        return ""
    if kendall < CANNOT_ANSWER:
        return (
            f"This cohort cannot order the operators: halves of it agree at {kendall:.2f} "
            "(Kendall; 1 is the same order, 0 is chance)."
        )
    if kendall < ROUGHLY:
        return f"It can order the operators only roughly: halves of it agree at {kendall:.2f}."
    return f"Halves of the subjects agree on the order at {kendall:.2f} (Kendall)."


def _best(ranking: Ranking, found: dict[str, Any]) -> str:
    if "best_set" not in found:
        return ""
    rows = ranking.best_set
    percent = f"{found['best_set']['confidence']:.0%}"
    if len(rows) == 1:
        return f"The best operator is {entry_name(rows.iloc[0])} ({percent} confidence)."
    from sclcs.spi.names import best_known

    known = best_known(rows["spi"])
    row = rows.iloc[0] if known is None else rows[rows["spi"] == known].iloc[0]
    return (
        f"The data cannot tell these {len(rows)} operators apart ({percent} confidence that the "
        f"best is among them); the best known of them is {entry_name(row)}."
    )


def _worth(ranking: Ranking, worth: dict[str, Any] | None) -> str:
    if worth is None or not ranking.table["score"].notna().any():
        return ""
    own = float(ranking.table["score"].max())
    return (
        f"The winner's own score, {own:.3g}, is the largest of many. Chosen on half of the "
        f"subjects and scored on the other half it is {worth['new_subjects']:.3g} "
        f"({worth['low']:.3g} to {worth['high']:.3g})."
    )


def _scatter(scatter: dict[str, Any] | None) -> str:
    if scatter is None or not scatter["scatter_p"] < ALPHA:
        return ""
    more = f"{scatter['scatter'] - 1:.0%}" if scatter["scatter"] < 10 else "far"
    return (
        f"Matrices of {scatter['scatter_class']} scatter {more} more (p "
        f"{_p(scatter['scatter_p'])}): noise or motion may explain part of this."
    )


def _percent(p: float) -> str:
    return "nearly all" if p > 0.995 else f"{p:.0%}"


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"= {p:.2g}"
