"""Stage 7 of a run: confirm the order of the best operators on the whole cohort."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sclcs.benchmark.consistency import consistency
from sclcs.benchmark.ranking import Ranking
from sclcs.core.identity import Identity, file_digest
from sclcs.runs.matrices import bring_back, seconds_of, spent_on
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import (
    all_winners,
    equivalents_of,
    rank_with,
    ranking_files,
    top_identity,
    winners,
)
from sclcs.runs.stages import Stage

__all__ = ["confirm_stage"]

CUTS = (5, 10, 20)


def confirm_stage(order: RunOrder) -> Stage:
    """Return the stage that ranks the best operators on everybody and compares."""
    folder, config = order.folder, order.config

    def identity() -> Identity:
        files = [folder.ranking_file(task) for task in config.tasks]
        if config.full_benchmark:
            files += [folder.truth_file(task) for task in config.tasks]
        compared = [file_digest(file) for file in files]
        return order.ranking_identity(top_identity(order), compared=compared, top_k=config.top_k)

    def work() -> None:
        operators = all_winners(order)
        guiding = order.panel if order.computes_panel else []
        bring_back(order, folder.whole_store, [*operators, *guiding])
        store = folder.whole_matrices
        for task in config.tasks:
            ranking = rank_with(order, store, operators, task)
            named = ranking.naming(equivalents_of(folder.ranking(task)))
            folder.write_table(named, folder.confirmed_file(task))
        tasks = {task: _confirmation(order, task) for task in config.tasks}
        folder.write_facts({"tasks": tasks, "costs": _costs(order)}, folder.confirmation_file)

    files = [folder.confirmed_file(task) for task in config.tasks]
    return Stage(
        "confirm",
        "Confirm their order there",
        identity,
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
        "effect": _effect_of_panel(order, task),
        "agreement": agreement,
        "truth": None if truth is None else consistency(truth, ranking, CUTS),
    }


def _effect_of_panel(order: RunOrder, task: str) -> dict[str, Any] | None:
    """Test the effect with operators that no score chose; None if the run has none of them.

    The winners were chosen with the labels that they would be tested with.
    """
    if not order.computes_panel:
        return None
    ranking = rank_with(order, order.folder.whole_matrices, order.panel, task, bootstrap=0)
    effect = ranking.findings.get("effect")
    return effect and effect | {"entries": ranking.findings["entries"]}


def _cuts(size: int) -> list[int]:
    return sorted({min(cut, size) for cut in CUTS})


def _inside(ranking: Ranking, name: str, on_everybody: pd.Series) -> bool | None:
    """Say whether the score on everybody is in the interval; None if there is no interval.

    Intervals of guided core-sets say nothing about everybody.
    """
    if ranking.ranks_only:
        return None
    row = ranking.table.set_index("spi").loc[name]
    if pd.isna(row["low"]) or pd.isna(on_everybody[name]):
        return None
    return bool(row["low"] <= on_everybody[name] <= row["high"])


def _costs(order: RunOrder) -> dict[str, Any]:
    """Return CPU seconds: what the two stages took, and what everything would have taken."""
    folder = order.folder
    n_samples, n_core = folder.check()["samples"], len(folder.core_set())
    core_store, whole_store = folder.core_matrices, folder.whole_matrices
    guiding = order.panel if order.computes_panel else []
    panel = spent_on(whole_store, guiding)
    core = spent_on(core_store, order.operators)
    top = spent_on(whole_store, [name for name in all_winners(order) if name not in guiding])
    search = _search_seconds(order)
    # What the core-set copied from the whole cohort was spent there.
    everything = seconds_of(core_store, order.operators) * n_samples / n_core
    measured = None
    if order.config.full_benchmark:
        measured = seconds_of(whole_store, order.operators)
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


def _search_seconds(order: RunOrder) -> float:
    """Return what choosing took besides the panel, which is computed in the same stage."""
    folder = order.folder
    record = folder.state()["stages"]["select"]
    spent = float(record["cpu_seconds"])
    panel = float(record["facts"].get("kernel_seconds", 0.0))
    training = folder.trained_encoder()
    if training is not None:  # it counts even if it came from the cache
        spent = max(spent, float(training.facts.get("seconds", 0.0)))
    return max(spent - panel, 0.0)
