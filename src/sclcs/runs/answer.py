"""The answer of a budgeted run: what may be said, how sure it is, what it cost, what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sclcs.benchmark import Ranking
from sclcs.estimation import Estimate, Outlook, next_purchase
from sclcs.runs.purchases import KnownScores, Purchases

__all__ = ["make_answer"]

TOP = 10
SHOWN = 0.005  # probabilities below are not listed
ANOTHER_HOUR = 3600.0
MOST_BOUGHT = 20

_STOPPED = {
    "exact": "Everything was computed on everybody; nothing is estimated.",
    "settled": "Stopped because no other operator is expected to be better by more than a trifle.",
    "budget spent": "Stopped because the budget is spent.",
    "complete": "Stopped because every operator was computed.",
    "no effect": "Stopped because the operators on everybody show no effect: there is nothing that "
    "could be carried over to the others.",
}


def make_answer(
    purchases: Purchases,
    stopped: str,
    looks: Mapping[str, tuple[Estimate, Outlook]],
    rankings: Mapping[str, Ranking],
) -> dict[str, Any]:
    """Gather the answer as JSON values; it holds nothing that another run would measure anew.

    Parameters
    ----------
    purchases : Purchases
        After the last one.
    stopped : str
        Why it was the last one.
    looks : mapping
        The last estimates, by task.
    rankings : mapping
        By task, exact and estimated together.

    Returns
    -------
    dict
    """
    bought = purchases.order.allotment
    confirmed = sum(step["seconds"] for step in purchases.steps)
    spent = bought.panel_seconds + bought.core_seconds + confirmed
    return {
        "way": bought.way,
        "why": bought.reason,
        "stopped": stopped,
        "sentence": _STOPPED[stopped],
        "cost": {
            "budget": bought.budget,
            "panel": bought.panel_seconds,
            "core": bought.core_seconds,
            "confirmed": confirmed,
            "spent": spent,
            "everything": bought.everything,
            "share": spent / bought.everything,
        },
        "operators": {
            "exact": len(bought.panel) + sum(len(step["operators"]) for step in purchases.steps),
            "core": len(bought.core),
            "unseen": len(bought.unseen),
            "asked": len(purchases.order.operators),
            "core_samples": bought.core_samples,
        },
        "steps": purchases.steps,
        "tasks": {
            task: _task(view, looks.get(task), rankings[task])
            for task, view in purchases.views.items()
        },
        "another_hour": _another_hour(purchases, looks),
    }


def _task(
    view: KnownScores, found: tuple[Estimate, Outlook] | None, ranking: Ranking
) -> dict[str, Any]:
    rows, lines = ranking.best_set, ranking.groups
    exact = lines[(lines["source"] == "exact") & lines["score"].notna()]
    facts: dict[str, Any] = {
        "score": ranking.score,
        "effect_p": view.p,
        "effect": view.sees_something,
        "best_set": [] if not view.sees_something else rows["spi"].tolist(),
        "chosen": None if exact.empty else str(exact.iloc[0]["spi"]),
        "chosen_score": None if exact.empty else float(exact.iloc[0]["score"]),
        "best_minus_median": view.scale,
    }
    if found is None:
        return facts | {"probability_best": {}, "probability_top": {}, "regret": None}
    estimate, look = found
    return facts | {
        "probability_best": _listed(estimate.operators, look.best),
        "probability_top": _listed(estimate.operators, look.top),
        "own_weight": estimate.own_weight,
        "regret": look.regret,
        "regret_share": look.regret / view.scale,
    }


def _listed(operators: Sequence[str], probabilities: np.ndarray[Any, Any]) -> dict[str, float]:
    """Return probabilities that matter, the largest first."""
    order = np.argsort(-probabilities, kind="stable")
    return {
        operators[k]: round(float(probabilities[k]), 4) for k in order if probabilities[k] >= SHOWN
    }


def _another_hour(
    purchases: Purchases, looks: Mapping[str, tuple[Estimate, Outlook]]
) -> dict[str, Any] | None:
    """Return what an hour more would compute, and how much of the regret it would take away."""
    views = [view for view in purchases.open_tasks if view.task in looks]
    if not views or all(looks[view.task][1].regret <= 0 for view in views):
        return None
    outlooks, left = [looks[view.task][1] for view in views], ANOTHER_HOUR
    bundles, chosen = purchases.bundles(), list[int]()
    while bundles and len(chosen) < MOST_BOUGHT:
        place = next_purchase(
            outlooks,
            [view.scale for view in views],
            [bundle for bundle, _ in bundles],
            [seconds for _, seconds in bundles],
            left,
        )
        if place is None:
            break
        chosen += bundles[place][0]
        left -= bundles[place][1]
        bundles = [item for item in bundles if not set(item[0]) & set(chosen)]
    if not chosen:
        return None
    operators = purchases.geometry.operators
    gains = {
        view.task: look.gain_of(chosen) / view.scale
        for view, look in zip(views, outlooks, strict=True)
    }
    return {
        "operators": [operators[k] for k in chosen],
        "seconds": ANOTHER_HOUR - left,
        "gain_share": gains,
    }
