"""``method="auto"``: the candidate core-set with the best certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.selection.guided.guide import Guide
from sclcs.selection.guided.method import PARAMETER_HELP, PARAMETERS, make_guide
from sclcs.selection.registry import SELECTORS, Choice, Selector, find_selector, register
from sclcs.selection.sample_order import id_order

__all__ = ["AUTO"]

CHEAP = ["random", "pairs", "stratified"]


def _choose(
    cohort: Cohort,
    size: int,
    seed: int,
    candidates: list[str],
    epochs: int | None,
    **parameters: Any,  # noqa: ANN401
) -> Choice:
    order = id_order(cohort)
    ordered = cohort.take(order)
    names = [candidates] if isinstance(candidates, str) else list(candidates)
    if "auto" in names:
        raise InputError("Expected methods other than auto as candidates of auto.")
    for name in names:
        find_selector(name)
    guide = make_guide(ordered, seed, **parameters)
    guided = guide.choose(size)
    found = {"guided": (guided.rows, guided.weights, guided.certificates)}
    for name in names:
        if name != "guided":
            rows = np.sort(_rows(guide, name, size, seed, epochs))
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
        "certificate": [item.to_dict() for item in certificates],
        "panel_used": guide.panel.operators,
    }
    by_row = np.argsort(rows)
    if weights is not None:
        weights = weights[by_row]
    return Choice(order[rows[by_row]], weights=weights, facts=facts)


def _rows(guide: Guide, name: str, size: int, seed: int, epochs: int | None) -> Any:  # noqa: ANN401
    selector = SELECTORS[name]
    options = {"epochs": epochs} if selector.needs_training and epochs is not None else {}
    return selector.choose(guide.cohort, size, seed, **selector.complete(options)).rows


_SHARED = {name: value for name, value in PARAMETERS.items() if name != "target_ndcg"}
AUTO = register(
    Selector(
        name="auto",
        summary="The best of guided and other methods by the certificate alone.",
        reference="ours; docs/guided.md",
        choose=_choose,
        parameters={"candidates": CHEAP, "epochs": None, **_SHARED},
        parameter_help={
            "candidates": "other methods to try beside guided; trained ones too, if named",
            "epochs": "of candidates that train",
            **PARAMETER_HELP,
        },
        needs_labels=True,
    )
)
