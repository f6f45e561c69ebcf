"""Stages 4 to 6 of a run: operators on the core-set, their ranking, the best on everybody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sclcs.benchmark.rank import rank
from sclcs.benchmark.ranking import Ranking
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.core.provenance import sidecar_path
from sclcs.spi.fc_store import FCStore
from sclcs.workflow.run.order import RunOrder
from sclcs.workflow.run.select import write_anew
from sclcs.workflow.run.stages import Stage
from sclcs.workflow.run.state import digest_file
from sclcs.workflow.run.stores import fill_store

__all__ = [
    "all_winners",
    "compute_core_stage",
    "compute_top_stage",
    "full_stage",
    "rank_stage",
    "rank_with",
    "ranking_files",
    "winners",
]


def compute_core_stage(order: RunOrder) -> Stage:
    """Return the stage that computes every operator on the core-set."""
    folder = order.folder

    def work() -> dict[str, Any]:
        ids = folder.core_set().sample_ids
        return fill_store(order, folder.core_store, order.cohort, order.operators, list(ids))

    return Stage(
        "compute-core",
        f"Compute {len(order.operators)} operators on the core-set",
        lambda: core_key(order),
        work,
        lambda: [folder.core_store],
    )


def core_key(order: RunOrder) -> dict[str, Any]:
    """Return what the matrices on the core-set depend on."""
    folder = order.folder
    return {
        "fingerprint": folder.check()["fingerprint"],
        "samples": sorted(folder.core_set().sample_ids),
        "operators": order.versions(order.operators),
        "seed": order.config.seed,
    }


def rank_stage(order: RunOrder) -> Stage:
    """Return the stage that ranks the operators on the core-set."""
    folder, config = order.folder, order.config

    def key() -> dict[str, Any]:
        return rank_key(order) | {"core": digest_file(folder.core_file), "of": core_key(order)}

    def work() -> None:
        core = folder.core_set()
        for task in config.tasks:
            ranking = rank_with(order, folder.core_matrices, order.operators, task, core)
            write_anew(ranking, folder.ranking_file(task))

    files = [folder.ranking_file(task) for task in config.tasks]
    return Stage("rank", "Rank them, with intervals", key, work, lambda: ranking_files(files))


def rank_key(order: RunOrder) -> dict[str, Any]:
    """Return what every ranking of the run depends on, besides the matrices."""
    config = order.config
    names = ("tasks", "score", "bootstrap", "confidence", "seed")
    return {name: getattr(config, name) for name in names}


def ranking_files(files: Sequence[Path]) -> list[Path]:
    """Return tables with their sidecars."""
    return [path for file in files for path in (file, sidecar_path(file))]


def rank_with(
    order: RunOrder,
    store: FCStore,
    operators: Sequence[str],
    task: str,
    core: CoreSet | None = None,
) -> Ranking:
    """Rank operators of a store as the configuration says."""
    config = order.config
    ranking = rank(
        store,
        task,
        list(operators),
        core,
        config.score,
        bootstrap=config.bootstrap,
        confidence=config.confidence,
        seed=config.seed,
        n_jobs=order.processes,
    )
    if not ranking.table["score"].notna().any():
        raise InputError(f"No operator can be ranked. {ranking.table['reason'].iloc[0]}".strip())
    return ranking


def winners(ranking: Ranking, top_k: int) -> list[str]:
    """Return the best operators, one of each group that is bound to tie."""
    scored = ranking.groups[ranking.groups["score"].notna()]
    return [str(name) for name in scored["spi"].head(top_k)]


def all_winners(order: RunOrder) -> list[str]:
    """Return the best operators of all tasks, those of the first task first."""
    folder, top_k = order.folder, order.config.top_k
    found = [winners(folder.ranking(task), top_k) for task in order.config.tasks]
    return list(dict.fromkeys(name for names in found for name in names))


def compute_top_stage(order: RunOrder) -> Stage:
    """Return the stage that computes the best operators on the whole cohort."""
    folder = order.folder

    def work() -> dict[str, Any]:
        return fill_store(order, folder.top_store, order.cohort, all_winners(order), only=True)

    return Stage(
        "compute-top",
        "Compute the best ones on the whole cohort",
        lambda: top_key(order),
        work,
        lambda: [folder.top_store],
    )


def top_key(order: RunOrder) -> dict[str, Any]:
    """Return what the best operators' matrices depend on."""
    return {
        "fingerprint": order.folder.check()["fingerprint"],
        "operators": order.versions(all_winners(order)),
        "seed": order.config.seed,
    }


def full_stage(order: RunOrder) -> Stage:
    """Return the stage that computes and ranks every operator on everybody, for comparison."""
    folder, config = order.folder, order.config

    def key() -> dict[str, Any]:
        operators = order.versions(order.operators)
        facts = {"fingerprint": folder.check()["fingerprint"], "operators": operators}
        return facts | rank_key(order)

    def work() -> dict[str, Any]:
        facts = fill_store(order, folder.all_store, order.cohort, order.operators)
        store = FCStore.open(folder.all_store)
        for task in config.tasks:
            ranking = rank_with(order, store, order.operators, task)
            write_anew(ranking, folder.truth_file(task))
        return facts

    files = [folder.truth_file(task) for task in config.tasks]
    return Stage(
        "full-benchmark",
        "Compute and rank every operator on everybody, for comparison",
        key,
        work,
        lambda: [folder.all_store, *ranking_files(files)],
    )
