"""``method="auto"``: the candidate core-set with the best certificate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.errors import InputError
from sclcs.core.settings import Names, setting
from sclcs.selection.guided.guide import Guide
from sclcs.selection.guided.method import GuidingParameters, make_guide
from sclcs.selection.registry import SELECTORS, Choice, Selector, find_selector, register

__all__ = ["AUTO"]

Integers = NDArray[np.int64]

CHEAP = ["random", "pairs", "stratified"]


class AutoParameters(GuidingParameters):
    """Parameters of ``auto``."""

    candidates: Names = setting(
        "other methods to try beside guided; trained ones too, if named", CHEAP, min_length=0
    )
    epochs: int | None = setting("of candidates that train", None, ge=1)


def _choose(cohort: Cohort, size: int, seed: int, parameters: AutoParameters) -> Choice:
    order = id_order(cohort.sample_ids)
    ordered = cohort.take(order)
    names = parameters.candidates
    if "auto" in names:
        raise InputError("Expected methods other than auto as candidates of auto.")
    for name in names:
        find_selector(name)
    guide = make_guide(ordered, seed, parameters)
    guided = guide.choose(size)
    found = {"guided": (guided.rows, guided.weights, guided.certificates)}
    for name in names:
        if name != "guided":
            rows = np.sort(_rows(guide, name, size, seed, parameters.epochs))
            found[name] = (rows, None, guide.certify_rows(rows))
    expected = {
        name: float(np.mean([item.ndcg[0] for item in items] or [-1.0]))
        for name, (_, _, items) in found.items()
    }
    best = max(expected, key=lambda name: expected[name])
    rows, weights, certificates = found[best]
    facts = {
        "chosen": best,
        "expected_by_method": {name: v if v >= 0 else None for name, v in expected.items()},
        "score_searched": guided.searched,
        "certificate": [item.to_dict() for item in certificates],
        "panel_used": guide.panel.operators,
        "candidate_versions": {name: SELECTORS[name].version for name in ["guided", *names]},
    }
    by_row = np.argsort(rows)
    if weights is not None:
        weights = weights[by_row]
    return Choice(order[rows[by_row]], weights=weights, facts=facts)


def _rows(guide: Guide, name: str, size: int, seed: int, epochs: int | None) -> Integers:
    selector = SELECTORS[name]
    options = {"epochs": epochs} if selector.needs_training and epochs is not None else {}
    return selector.choose(guide.cohort, size, seed, selector.complete(options)).rows


AUTO = register(
    Selector(
        name="auto",
        summary="The best of guided and other methods by the certificate alone.",
        reference="ours; docs/guided.md",
        choose=_choose,
        parameters=AutoParameters,
        needs_labels=True,
        guided=True,
    )
)
