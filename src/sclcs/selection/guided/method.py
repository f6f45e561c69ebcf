"""``method="guided"``: a core-set that keeps the order of cheap operators, certified."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.selection.guided.guide import Guide, Guided, Settings
from sclcs.selection.guided.panel import make_panel
from sclcs.selection.guided.search import Constraints
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import id_order

__all__ = [
    "CURVE_RATIOS",
    "DEFAULT_PANEL",
    "GUIDED",
    "PARAMETERS",
    "PARAMETER_HELP",
    "make_guide",
    "make_settings",
]

#: Operators that guide unless others are asked for: the catalogue's set of this name.
DEFAULT_PANEL = "panel"
#: Sizes that are tried for a target.
CURVE_RATIOS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)
USUAL_STRATA = ("site", "diagnosis")

PARAMETERS: dict[str, Any] = {
    "task": "subject",
    "panel": DEFAULT_PANEL,
    "fc": None,
    "target_ndcg": None,
    "strata": None,
    "min_subjects": 0,
    "whole_subjects": False,
    "windows": None,
    "restarts": 2,
    "proposals": 20_000,
    "distrust": None,
    "weights": False,
    "k": 10,
    "confidence": 0.9,
    "memory_gb": 3.0,
    "n_jobs": 1,
}
PARAMETER_HELP = {
    "task": "what operators are ranked for: subject, a label column, or several",
    "panel": "operators computed on the whole cohort to guide: sets, families or identifiers",
    "fc": "an FC store that holds the panel, so that nothing is computed",
    "target_ndcg": "instead of a ratio: the smallest core-set whose certificate reaches it",
    "strata": "columns whose shares are kept; by default site, diagnosis and the tasks' labels",
    "min_subjects": "fewest subjects in the core-set",
    "whole_subjects": "all samples of a subject or none; at most the ratio's number of samples",
    "windows": "samples per subject to start from; 2 for fingerprinting, else 1",
    "restarts": "searches from different designs, of which the best is kept",
    "proposals": "swaps proposed per search",
    "distrust": "how little a changed slope is trusted; by default 0.1, or 3 for large effects",
    "weights": "whether the chosen samples get weights, which later scoring uses",
    "k": "cut-off of nDCG in the certificate",
    "confidence": "nominal coverage of the certificate's intervals",
    "memory_gb": "for similarities; if short, whole subjects are drawn as candidates",
    "n_jobs": "threads that compute the panel",
}


def make_guide(cohort: Cohort, seed: int, **parameters: Any) -> Guide:  # noqa: ANN401
    """Compute the panel on a cohort and prepare the search.

    Parameters
    ----------
    cohort : Cohort
        In alphabetical order of its sample ids.
    seed : int
    **parameters : object
        See :data:`PARAMETER_HELP`.

    Returns
    -------
    Guide
    """
    options = {**PARAMETERS, **parameters}
    tasks = _as_list(options["task"], "task")
    settings = make_settings(cohort, tasks, **parameters)
    panel = make_panel(
        cohort,
        tasks,
        _as_list(options["panel"], "panel"),
        fc=_open(options["fc"]),
        memory_gb=options["memory_gb"],
        n_jobs=options["n_jobs"],
        seed=seed,
    )
    return Guide(cohort, panel, settings, seed)


def make_settings(cohort: Cohort, tasks: Sequence[str], **parameters: Any) -> Settings:  # noqa: ANN401
    """Return how to search on a cohort for some tasks.

    Parameters
    ----------
    cohort : Cohort
        Whose columns are the strata, unless others are asked for.
    tasks : sequence of str
    **parameters : object
        See :data:`PARAMETER_HELP`.

    Returns
    -------
    Settings
    """
    options = {**PARAMETERS, **parameters}
    _check(options)
    constraints = Constraints(
        _strata(cohort, options["strata"], tasks),
        bool(options["whole_subjects"]),
        int(options["min_subjects"]),
    )
    windows = options["windows"] or (2 if "subject" in tasks else 1)
    names = ("restarts", "proposals", "distrust", "weights", "k", "confidence")
    return Settings(constraints, windows, **{name: options[name] for name in names})


def _choose(cohort: Cohort, size: int, seed: int, **parameters: Any) -> Choice:  # noqa: ANN401
    order = id_order(cohort)
    guide = make_guide(cohort.take(order), seed, **parameters)
    target = parameters["target_ndcg"]
    facts: dict[str, Any] = {}
    if target is None:
        guided = guide.choose(size)
    else:
        guided, facts = _smallest(guide, float(target))
    panel = guide.panel
    facts |= {"panel_used": panel.operators, "panel_left_out": panel.left_out}
    facts |= {"candidates": len(panel.rows), "strata_used": list(_kept(guide))}
    by_row = np.argsort(guided.rows)
    weights = None if guided.weights is None else guided.weights[by_row]
    return Choice(order[guided.rows[by_row]], weights=weights, facts=facts | guided.facts())


def _smallest(guide: Guide, target: float) -> tuple[Guided, dict[str, Any]]:
    """Try growing sizes until the certificate of every task reaches the target."""
    curve: list[dict[str, Any]] = []
    for ratio in CURVE_RATIOS:
        size = int(ratio * len(guide.cohort))
        if size < 1:
            continue
        guided = guide.choose(size)
        reached = min((item.ndcg[0] for item in guided.certificates), default=float("nan"))
        certificate = [item.to_dict() for item in guided.certificates]
        curve.append({"ratio": ratio, "expected": reached, "certificate": certificate})
        if reached >= target:
            return guided, {"ratio": ratio, "curve": curve}
    best = max((point["expected"] for point in curve), default=float("nan"))
    raise InputError(
        f"No core-set of up to {CURVE_RATIOS[-1]:.0%} of the samples is expected to reach an nDCG "
        f"of {target:g}; the best expects {best:.3f}. Lower the target or give a larger panel."
    )


def _kept(guide: Guide) -> tuple[str, ...]:
    return guide.settings.constraints.strata


def _strata(cohort: Cohort, asked: object, tasks: Sequence[str]) -> tuple[str, ...]:
    if asked is not None:
        columns = _as_list(asked, "strata")
        for name in columns:
            cohort.labels(name)
        return tuple(columns)
    usual = [name for name in USUAL_STRATA if name in cohort.samples]
    labels = [name for name in tasks if name != "subject"]
    for name in labels:
        cohort.labels(name)
    return tuple(dict.fromkeys([*usual, *labels]))


def _check(options: dict[str, Any]) -> None:
    for name, low in (("restarts", 1), ("proposals", 0), ("min_subjects", 0), ("k", 1)):
        value = options[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InputError(f"Expected {name} to be a whole number from {low}, got {value!r}.")
    for name in ("target_ndcg", "confidence"):
        value = options[name]
        if value is not None and not 0 < value < 1:
            raise InputError(f"Expected {name} between 0 and 1, for example 0.95, got {value!r}.")
    if not isinstance(options["weights"], bool):
        raise InputError(f"Expected weights to be true or false, got {options['weights']!r}.")
    distrust = options["distrust"]
    if distrust is not None and distrust < 0:
        raise InputError(f"Expected distrust of at least 0, got {distrust!r}.")


def _as_list(value: object, name: str) -> list[str]:
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",") if part.strip()]
    elif isinstance(value, list | tuple):
        parts = [str(part) for part in value]
    else:
        raise InputError(f"Expected {name} to be a name or several, got {value!r}.")
    if not parts and name != "strata":
        raise InputError(f"Expected at least one {name}, got none.")
    return parts


def _open(fc: Any) -> Any:  # noqa: ANN401
    if not isinstance(fc, str | os.PathLike):
        return fc
    from sclcs.spi.fc_store import FCStore

    return FCStore.open(fc)


GUIDED = register(
    Selector(
        name="guided",
        summary="Swapped until cheap operators keep their order; certified on left-out families.",
        reference="ours; docs/guided.md",
        choose=_choose,
        parameters=PARAMETERS,
        parameter_help=PARAMETER_HELP,
        needs_labels=True,
    )
)
