"""Stage 7 of a run: confirm the order of the best operators on the whole cohort."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sclcs.benchmark.consistency import consistency
from sclcs.benchmark.ranking import Ranking
from sclcs.core.files import write_json
from sclcs.core.provenance import plain
from sclcs.workflow.run.order import RunOrder
from sclcs.workflow.run.rank import (
    all_winners,
    rank_key,
    rank_with,
    ranking_files,
    top_key,
    winners,
)
from sclcs.workflow.run.select import write_anew
from sclcs.workflow.run.stages import Stage
from sclcs.workflow.run.state import digest_file
from sclcs.workflow.run.stores import kernel_seconds

__all__ = ["confirm_stage"]

CUTS = (5, 10, 20)


def confirm_stage(order: RunOrder) -> Stage:
    """Return the stage that ranks the best operators on everybody and compares."""
    folder, config = order.folder, order.config

    def key() -> dict[str, Any]:
        files = [folder.ranking_file(task) for task in config.tasks]
        if config.full_benchmark:
            files += [folder.truth_file(task) for task in config.tasks]
        facts = {"rankings": [digest_file(file) for file in files], "top_k": config.top_k}
        return rank_key(order) | top_key(order) | facts

    def work() -> None:
        store, operators = folder.top_matrices, all_winners(order)
        for task in config.tasks:
            write_anew(rank_with(order, store, operators, task), folder.confirmed_file(task))
        tasks = {task: _confirmation(order, task) for task in config.tasks}
        write_json(folder.confirmation_file, plain({"tasks": tasks, "costs": _costs(order)}))

    files = [folder.confirmed_file(task) for task in config.tasks]
    return Stage(
        "confirm",
        "Confirm their order there",
        key,
        work,
        lambda: [*ranking_files(files), folder.confirmation_file],
    )


def _confirmation(order: RunOrder, task: str) -> dict[str, Any]:
    """Compare the order of a task's winners on the core-set with that on everybody."""
    folder = order.folder
    ranking, confirmed, truth = folder.ranking(task), folder.confirmed(task), folder.truth(task)
    best = winners(ranking, order.config.top_k)
    on_everybody = confirmed.scores.reindex(best)
    agreement = None
    if on_everybody.notna().any():
        agreement = consistency(on_everybody, ranking.scores.reindex(best), _cuts(len(best)))
    confirmed_best = str(on_everybody.idxmax()) if on_everybody.notna().any() else None
    return {
        "winners": best,
        "best": {"core": best[0], "confirmed": confirmed_best},
        "same_best": confirmed_best == best[0],
        "inside_interval": _inside(ranking, best[0], on_everybody),
        "agreement": agreement,
        "truth": None if truth is None else consistency(truth, ranking, CUTS),
    }


def _cuts(size: int) -> list[int]:
    return sorted({min(cut, size) for cut in CUTS})


def _inside(ranking: Ranking, name: str, on_everybody: pd.Series) -> bool | None:
    """Say whether the score on everybody is in the interval; None if there is no interval."""
    row = ranking.table.set_index("spi").loc[name]
    if pd.isna(row["low"]) or pd.isna(on_everybody[name]):
        return None
    return bool(row["low"] <= on_everybody[name] <= row["high"])


def _costs(order: RunOrder) -> dict[str, Any]:
    """Return CPU seconds: what the two stages took, and what everything would have taken."""
    folder = order.folder
    n_samples, n_core = folder.check()["samples"], len(folder.core_set())
    core = kernel_seconds(folder.core_store, order.operators)
    top = kernel_seconds(folder.top_store, all_winners(order))
    panel = 0.0
    if folder.panel_store.exists():
        panel = kernel_seconds(folder.panel_store, _operators_of_panel(order))
    search = _search_seconds(order, panel)
    everything = core * n_samples / n_core
    measured = None
    if order.config.full_benchmark:
        measured = kernel_seconds(folder.all_store, order.operators)
    two_stage = search + panel + core + top
    return {
        "select": search,
        "panel": panel,
        "core": core,
        "top": top,
        "two_stage": two_stage,
        "everything": everything,
        "everything_measured": measured,
        "saved": 1 - two_stage / (measured or everything),
        "samples": n_samples,
        "core_samples": n_core,
        "operators": len(order.operators),
    }


def _search_seconds(order: RunOrder, panel: float) -> float:
    """Return what choosing took besides the panel, which is computed in the same stage."""
    folder = order.folder
    spent = float(folder.state()["stages"]["select"]["cpu_seconds"])
    training = folder.encoder_run()
    if training is not None:  # it counts even if it came from the cache
        spent = max(spent, float(training.facts.get("seconds", 0.0)))
    return max(spent - panel, 0.0)


def _operators_of_panel(order: RunOrder) -> list[str]:
    from sclcs.spi.fc_store import FCStore

    return FCStore.open(order.folder.panel_store).operators
