"""The stages of a budgeted run that answer: estimate and confirm, then account for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sclcs.benchmark import Ranking
from sclcs.benchmark.consistency import consistency, regret
from sclcs.core.errors import NotFoundError
from sclcs.core.files import write_text
from sclcs.core.identity import Identity, file_digest
from sclcs.estimation import ESTIMATION_VERSION, Geometry, map_operators
from sclcs.run_folder import RunFolder
from sclcs.runs.answer import make_answer
from sclcs.runs.combined import combine
from sclcs.runs.matrices import bring_back, seconds_of, spent_on
from sclcs.runs.order import RunOrder
from sclcs.runs.purchases import Purchases
from sclcs.runs.rank import ranking_files
from sclcs.runs.stages import Stage
from sclcs.runs.waves import in_waves
from sclcs.spi.catalogue import catalogue

__all__ = ["account_stage", "estimate_stage", "exact_operators"]


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
