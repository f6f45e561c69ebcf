"""Stages of a budgeted run before the answer: the panel on everybody, the others on a core-set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sclcs._core import Identity, NotFoundError, file_digest, write_text
from sclcs.decision import (
    ESTIMATION_VERSION,
    Estimate,
    Geometry,
    Outlook,
    map_operators,
    next_purchase,
)
from sclcs.run_folder import RunFolder
from sclcs.runs.matrices import bring_back, compute_matrices, seconds_of, spent_on
from sclcs.runs.order import RunOrder
from sclcs.runs.purchases import KnownScores, Purchases, combine
from sclcs.runs.stages import Stage
from sclcs.runs.two_stages import ranking_files
from sclcs.runs.waves import ask_in_waves, in_waves, make_inquiries
from sclcs.spi import catalogue
from sclcs.stats import Ranking, consistency, regret

__all__ = [
    "account_stage",
    "core_part_stage",
    "estimate_stage",
    "exact_operators",
    "make_answer",
    "panel_stage",
]


def panel_stage(order: RunOrder) -> Stage:
    """Return the stage that computes the panel, or everything, on the whole cohort."""
    folder, panel = order.folder, order.allotment.panel
    everything = order.allotment.way == "exact"

    def work() -> dict[str, Any]:
        if in_waves(order):
            return ask_in_waves(order, panel, make_inquiries(order)).facts
        return compute_matrices(order, folder.whole_store, panel)

    return Stage(
        "compute-all" if everything else "compute-panel",
        f"Compute {'all' if everything else 'the'} {len(panel)} "
        f"{'' if everything else 'cheap '}operators on everybody",
        lambda: order.matrices_identity(panel, None),
        work,
        matrices=lambda: {folder.whole_store: panel},
    )


def core_part_stage(order: RunOrder) -> Stage:
    """Return the stage that shows how the expensive operators lie between the cheap ones.

    The panel's matrices are copied from the whole cohort.
    """
    folder, bought = order.folder, order.allotment
    operators = [*bought.panel, *bought.core]

    def identity() -> Identity:
        return order.matrices_identity(operators, sorted(folder.core_set().sample_ids))

    def work() -> dict[str, Any]:
        ids = list(folder.core_set().sample_ids)
        return compute_matrices(order, folder.core_store, operators, ids)

    return Stage(
        "compute-core",
        f"Compute {len(bought.core)} expensive operators on the core-set",
        identity,
        work,
        matrices=lambda: {folder.core_store: operators},
    )


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


def estimate_stage(order: RunOrder) -> Stage:
    """Return the stage that estimates, confirms and ranks; its decisions need no clock.

    Killed in the middle, it makes the same decisions again; what they computed is there.
    """
    folder, config = order.folder, order.config
    exact = order.allotment.way == "exact"

    def identity() -> Identity:
        matrices = order.matrices_identity(order.allotment.panel, None)
        core = None if exact else file_digest(folder.core_file) if folder.core_file.exists() else ""
        return order.ranking_identity(
            matrices,
            allotment=order.allotment.to_dict(),
            core=core,
            estimation=ESTIMATION_VERSION,
        )

    def work() -> dict[str, Any]:
        bought = order.allotment
        if not in_waves(order):
            bring_back(order, folder.whole_store, bought.panel)
        if bought.core_samples:
            ids = list(folder.core_set().sample_ids)
            bring_back(order, folder.core_store, [*bought.panel, *bought.core], ids)
        purchases = Purchases(order)
        stopped = "exact" if exact else purchases.spend()
        looks = {} if exact else purchases.outlooks()
        rankings = {task: _rank(order, purchases, task, looks.get(task)) for task in config.tasks}
        for task, ranking in rankings.items():
            folder.write_table(ranking, folder.ranking_file(task))
        if not exact:
            _write_map(folder, purchases.whole_geometry)
        folder.write_facts(make_answer(purchases, stopped, looks, rankings), folder.answer_file)
        spent = {"scoring_seconds": purchases.scoring_seconds}
        before = {"scored_before": purchases.scored_before} if purchases.scored_before else {}
        return spent | before

    def outputs() -> list[Path]:
        made = ranking_files([folder.ranking_file(task) for task in config.tasks])
        return [*made, folder.answer_file, *([] if exact else [folder.geometry_file])]

    return Stage(
        "estimate",
        "Rank them" if exact else "Estimate the others, confirm the likely best, rank",
        identity,
        work,
        outputs,
        lambda: {folder.whole_store: exact_operators(order)},
    )


def exact_operators(order: RunOrder) -> list[str]:
    """Return the operators that the run has computed on everybody."""
    try:
        steps = order.folder.answer()["steps"]
    except NotFoundError:
        steps = []
    return [*order.allotment.panel, *(name for step in steps for name in step["operators"])]


def _rank(order: RunOrder, purchases: Purchases, task: str, found: Any) -> Ranking:  # noqa: ANN401
    bought = order.allotment
    return combine(
        purchases.exact_ranking(task),
        order.operators,
        purchases.names,
        found,
        n_samples=dict.fromkeys(bought.core, bought.core_samples),
        confidence=order.config.confidence,
    )


def _write_map(folder: RunFolder, geometry: Geometry) -> None:
    """Write where the operators lie to each other, in two dimensions."""
    places = map_operators(geometry.similarity)
    families = catalogue()["family"].reindex(list(geometry.operators)).fillna("own")
    table = pd.DataFrame(
        {
            "spi": geometry.operators,
            "family": families.to_numpy(),
            "x": np.round(places[:, 0], 6),
            "y": np.round(places[:, 1], 6),
        }
    )
    write_text(folder.geometry_file, table.to_csv(index=False, lineterminator="\n"))


def account_stage(order: RunOrder) -> Stage:
    """Return the stage that compares with the truth, if it is known, and adds up the costs."""
    folder, config = order.folder, order.config

    def identity() -> Identity:
        files = [folder.ranking_file(task) for task in config.tasks]
        if config.full_benchmark:
            files += [folder.truth_file(task) for task in config.tasks]
        return Identity("account", inputs={"compared": [file_digest(file) for file in files]})

    def work() -> None:
        tasks = {task: _against_truth(folder, task) for task in config.tasks}
        folder.write_facts({"tasks": tasks, "costs": _costs(order)}, folder.confirmation_file)

    return Stage("account", "Add up the costs", identity, work, lambda: [folder.confirmation_file])


def _against_truth(folder: RunFolder, task: str) -> dict[str, Any]:
    truth, ranking = folder.truth(task), folder.ranking(task)
    effect = ranking.findings.get("effect")
    if truth is None or not truth.scores.notna().any():
        return {"truth": None, "effect": effect}
    chosen = folder.answer()["tasks"][task]["chosen"]
    scores = truth.scores
    best = str(truth.groups["spi"].iloc[0])  # under the name people know
    members = set(truth.best_set["spi"])
    also = truth.groups.set_index("spi")["also"]
    equivalent = {name for member in members for name in [member, *also[member]]}
    return {
        "effect": effect,
        "truth": consistency(truth, ranking, (5, 10, 20)),
        "true_best": best,
        "chosen": chosen,
        "regret_share": regret(scores, scores[chosen]),
        "chosen_in_true_best_set": chosen in equivalent,
        "true_best_in_set": best in set(ranking.table.loc[ranking.table["best_set"], "spi"]),
    }


def _costs(order: RunOrder) -> dict[str, Any]:
    """Return CPU seconds: what the answer took, and what everything would have taken."""
    folder, bought = order.folder, order.allotment
    whole = folder.whole_matrices
    computed = exact_operators(order)
    others = [name for name in order.operators if name not in set(computed)]
    panel = spent_on(whole, bought.panel)
    top = spent_on(whole, [name for name in computed if name not in set(bought.panel)])
    core = everything = 0.0
    n_samples = folder.check()["samples"]
    if bought.core:
        core = spent_on(folder.core_matrices, bought.core)
        seen = [name for name in bought.core if name in set(others)]
        per_sample = seconds_of(folder.core_matrices, seen) / max(bought.core_samples, 1)
        everything += n_samples * per_sample
    unseen = [name for name in bought.unseen if name in set(others)]
    everything += seconds_of(whole, computed) + order.costs.on_everybody(unseen)
    measured = seconds_of(whole, order.operators) if order.config.full_benchmark else None
    spent = panel + core + top
    record = folder.state()["stages"].get("estimate", {})
    facts = record.get("facts", {})
    scoring = float(facts.get("scoring_seconds", 0.0))
    here = top + scoring - float(facts.get("scored_before", 0.0))
    return {
        "select": 0.0,
        "panel": panel,
        "core": core,
        "top": top,
        "two_stage": spent,
        "scoring": scoring,
        "estimate": max(float(record.get("cpu_seconds", 0.0)) - here, 0.0),
        "everything": everything,
        "everything_measured": measured,
        "saved": 1 - spent / max(measured or everything, 1e-12),
        "samples": n_samples,
        "core_samples": bought.core_samples,
        "operators": len(order.operators),
    }
