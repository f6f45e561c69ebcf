"""How good an estimate is: order, intervals, racing, and what confirming wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.consistency import agreement, regret
from sclcs.estimation import Estimate, krige, look_ahead, next_operator
from sclcs.experiments.estimates.truth import CONFIDENCE, Asked, Sample, Study, Truth
from sclcs.experiments.setup import Row

__all__ = ["CONFIRMED", "MEASURES", "measure_confirmation", "measure_estimate"]

Booleans = NDArray[np.bool_]
CONFIRMED = (0, 3, 8)
TOP = 5
MEASURES = (
    "halves_agree", "ndcg@10", "kendall", "coverage", "own_weight", "dropped", "kept",
    *(f"{name}_{k}" for k in CONFIRMED for name in ("regret", "in_best_set", "set_holds_best")),
    "steps_to_best", "says_no_effect",
)  # fmt: skip


def estimate_with(
    study: Study, asked: Asked, truth: Truth, sample: Sample, known: Booleans
) -> Estimate:
    """Estimate what is not known."""
    return krige(
        study.operators,
        sample.geometry.similarity,
        np.where(known, truth.scores, np.nan),
        study.families,
        chance=truth.chance,
        scale=sample.geometry.share_scale if asked.score == "share" else None,
        own=sample.own.get(asked),
    )


def measure_estimate(
    study: Study, asked: Asked, truth: Truth, sample: Sample, known: Booleans
) -> Row:
    """Compare an estimate with the truth, on the operators that were not known."""
    estimate = estimate_with(study, asked, truth, sample, known)
    held, scores = ~known, truth.scores
    low, high = estimate.interval(CONFIDENCE)
    top = min(TOP, int(held.sum()))
    limit = np.sort(low[held])[-top]
    dropped = held & (high < limit)
    order = agreement(scores[held], estimate.mean[held], (10,))
    truly = np.argsort(-np.where(held, scores, -np.inf))[:top]
    return {
        "effect_p": truth.p,
        "halves_agree": truth.halves_agree,
        "ndcg@10": order["ndcg@10"],
        "kendall": order["kendall"],
        "coverage": float(((low <= scores) & (scores <= high))[held].mean()),
        "own_weight": estimate.own_weight,
        "dropped": float(dropped.sum() / held.sum()),
        "kept": float(not dropped[truly].any()),
    }


def measure_confirmation(
    study: Study, asked: Asked, truth: Truth, sample: Sample, known: Booleans
) -> dict[str, Any]:
    """Confirm operators one after another, each at the same price."""
    now, found = known.copy(), dict[str, float]()
    scores = truth.scores
    best = int(scores.argmax())
    found["steps_to_best"] = float(max(CONFIRMED) + 1)
    for count in range(max(CONFIRMED) + 1):
        look = look_ahead(estimate_with(study, asked, truth, sample, now))
        chosen = int(np.where(now, scores, -np.inf).argmax())
        if now[best]:
            found["steps_to_best"] = min(found["steps_to_best"], float(count))
        if count in CONFIRMED:
            found[f"regret_{count}"] = regret(scores, scores[chosen])
            found[f"in_best_set_{count}"] = float(truth.best[chosen])
            found[f"set_holds_best_{count}"] = float(look.members[best])
        place = next_operator(look, np.where(now, np.inf, 1.0))
        if place is not None:
            now[place] = True
    return found
