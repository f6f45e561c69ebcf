"""``method="guided"``: a core-set that keeps the order of cheap operators, certified."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.settings import Names, Settings, as_list, setting
from sclcs.selection.by_subject import usual_strata
from sclcs.selection.guided.guide import Guide, SearchSettings
from sclcs.selection.guided.panel import make_panel
from sclcs.selection.guided.search import Constraints
from sclcs.selection.registry import Choice, Selector, register

__all__ = [
    "DEFAULT_PANEL",
    "GUIDED",
    "GuidingParameters",
    "choose_guided",
    "make_guide",
    "search_settings",
]

#: Operators that guide unless others are asked for: the catalogue's set of this name.
DEFAULT_PANEL = "panel"


class GuidingParameters(Settings):
    """Parameters of every method that operators on the whole cohort guide."""

    task: Names = setting(
        "what operators are ranked for: subject, a label column, or several",
        ["subject"],
        min_length=1,
    )
    score: str | None = setting(
        "what operators are ranked by, see `sclcs rank --help`; None for a task's default",
        None,
    )
    panel: Names = setting(
        "operators computed on the whole cohort to guide: sets, families or identifiers",
        [DEFAULT_PANEL],
        min_length=1,
    )
    fc: Any = setting(
        "an FC store that holds the panel, so that nothing is computed", None, decides=False
    )
    strata: Annotated[list[str] | None, BeforeValidator(as_list)] = setting(
        "columns whose shares are kept; by default the tasks' labels, diagnosis and site", None
    )
    min_subjects: int = setting("fewest subjects in the core-set", 0, ge=0)
    whole_subjects: bool = setting(
        "all samples of a subject or none; at most the ratio's number of samples", False
    )
    windows: int | None = setting(
        "samples per subject to start from; 2 for fingerprinting, else 1", None, ge=1
    )
    restarts: int = setting("searches from different starts, of which the best is kept", 2, ge=1)
    proposals: int = setting("swaps proposed per search", 20_000, ge=0)
    distrust: float | None = setting(
        "how little a changed slope is trusted; by default 0.1, or 3 for large effects", None, ge=0
    )
    weights: bool = setting(
        "whether the chosen samples get weights, which later scoring uses", False
    )
    k: int = setting("cut-off of nDCG in the certificate", 10, ge=1)
    confidence: float = setting("nominal coverage of the certificate's intervals", 0.9, gt=0, lt=1)
    memory_gb: float = setting(
        "for similarities; if short, whole subjects are drawn as candidates", 3.0, gt=0
    )
    n_jobs: int = setting("threads that compute the panel", 1, decides=False)


def make_guide(cohort: Cohort, seed: int, parameters: GuidingParameters) -> Guide:
    """Compute the panel on a cohort and prepare the search.

    Parameters
    ----------
    cohort : Cohort
        In alphabetical order of its sample ids.
    seed : int
    parameters : GuidingParameters

    Returns
    -------
    Guide
    """
    settings = search_settings(cohort, parameters)
    panel = make_panel(
        cohort,
        parameters.task,
        parameters.panel,
        score=parameters.score,
        fc=_open(parameters.fc),
        memory_gb=parameters.memory_gb,
        n_jobs=parameters.n_jobs,
        seed=seed,
    )
    return Guide(cohort, panel, settings, seed)


def search_settings(cohort: Cohort, parameters: GuidingParameters) -> SearchSettings:
    """Return how to search on a cohort, whose columns are the strata unless others are named."""
    tasks = parameters.task
    constraints = Constraints(
        _strata(cohort, parameters.strata, tasks),
        parameters.whole_subjects,
        parameters.min_subjects,
    )
    windows = parameters.windows or (2 if "subject" in tasks else 1)
    names = ("restarts", "proposals", "distrust", "weights", "k", "confidence")
    return SearchSettings(
        constraints, windows, **{name: getattr(parameters, name) for name in names}
    )


def choose_guided(cohort: Cohort, size: int, seed: int, parameters: GuidingParameters) -> Choice:
    """Choose a core-set that keeps the order of the panel, with its certificate.

    Parameters
    ----------
    cohort : Cohort
    size : int
        Number of samples.
    seed : int
    parameters : GuidingParameters

    Returns
    -------
    Choice
    """
    order = id_order(cohort.sample_ids)
    guide = make_guide(cohort.take(order), seed, parameters)
    guided = guide.choose(size)
    panel = guide.panel
    facts: dict[str, Any] = {"panel_used": panel.operators, "panel_left_out": panel.left_out}
    strata = list(guide.settings.constraints.strata)
    facts |= {"candidates": len(panel.rows), "strata_used": strata}
    by_row = np.argsort(guided.rows)
    weights = None if guided.weights is None else guided.weights[by_row]
    return Choice(order[guided.rows[by_row]], weights=weights, facts=facts | guided.facts())


def _strata(cohort: Cohort, asked: list[str] | None, tasks: Sequence[str]) -> tuple[str, ...]:
    if asked is not None:
        for name in asked:
            cohort.labels(name)
        return tuple(asked)
    labels = [name for name in tasks if name != "subject"]
    for name in labels:
        cohort.labels(name)
    usual = usual_strata(cohort.samples.columns, labels)
    return tuple(dict.fromkeys([*usual, *usual_strata(cohort.samples.columns)]))


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
        choose=choose_guided,
        parameters=GuidingParameters,
        version=2,
        needs_labels=True,
        guided=True,
    )
)
