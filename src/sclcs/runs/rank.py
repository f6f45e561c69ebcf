"""Stages 4 to 6 of a run: operators on the core-set, their ranking, the best on everybody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sclcs.benchmark.rank import rank
from sclcs.benchmark.ranking import Ranking
from sclcs.cohort.coreset import CoreSet
from sclcs.core.identity import Identity, file_digest
from sclcs.core.provenance import sidecar_path
from sclcs.runs.matrices import bring_back, compute_matrices
from sclcs.runs.order import RunOrder
from sclcs.runs.stages import Stage
from sclcs.spi.fc_store import FCStore

__all__ = [
    "all_winners",
    "compute_core_stage",
    "compute_top_stage",
    "equivalents_of",
    "full_stage",
    "rank_stage",
    "rank_with",
    "ranking_files",
    "top_identity",
    "winners",
]


def compute_core_stage(order: RunOrder) -> Stage:
    """Return the stage that computes every operator on the core-set."""
    folder = order.folder

    def work() -> dict[str, Any]:
        ids = list(folder.core_set().sample_ids)
        return compute_matrices(order, folder.core_store, order.operators, ids)

    return Stage(
        "compute-core",
        f"Compute {len(order.operators)} operators on the core-set",
        lambda: core_identity(order),
        work,
        matrices=lambda: {folder.core_store: order.operators},
    )


def core_identity(order: RunOrder) -> Identity:
    """Return what the matrices on the core-set depend on."""
    return order.matrices_identity(order.operators, sorted(order.folder.core_set().sample_ids))


def rank_stage(order: RunOrder) -> Stage:
    """Return the stage that ranks the operators on the core-set."""
    folder, config = order.folder, order.config

    def work() -> None:
        core = folder.core_set()
        bring_back(order, folder.core_store, order.operators, list(core.sample_ids))
        for task in config.tasks:
            ranking = rank_with(order, folder.core_matrices, order.operators, task, core)
            folder.write_table(ranking, folder.ranking_file(task))

    files = [folder.ranking_file(task) for task in config.tasks]
    return Stage(
        "rank",
        "Rank them, with intervals",
        lambda: order.ranking_identity(core_identity(order), core=file_digest(folder.core_file)),
        work,
        lambda: ranking_files(files),
    )


def ranking_files(files: Sequence[Path]) -> list[Path]:
    """Return tables with their sidecars."""
    return [path for file in files for path in (file, sidecar_path(file))]


def rank_with(
    order: RunOrder,
    store: FCStore,
    operators: Sequence[str],
    task: str,
    core: CoreSet | None = None,
    **changes: Any,  # noqa: ANN401
) -> Ranking:
    """Rank operators of a store as the configuration says, but for some changes."""
    config = order.config
    asked = order.question_options(task)
    ranking = rank(
        store,
        order.target(task),
        list(operators),
        core,
        order.criterion(task),
        seed=config.seed,
        **config.ranking_options
        | {name: asked[name] for name in ("covariates", "harmonise")}
        | changes,
        n_jobs=order.processes,
    )
    ranking.expect_scores()
    return ranking


def winners(ranking: Ranking, top_k: int) -> list[str]:
    """Return the best operators, one of each group that is bound to tie."""
    lines = ranking.groups
    scored = lines[lines["score"].notna() & (lines["source"] != "estimated")]
    return [str(name) for name in scored["spi"].head(top_k)]


def all_winners(order: RunOrder) -> list[str]:
    """Return the best operators of all tasks, those of the first task first."""
    folder, top_k = order.folder, order.config.top_k
    found = [winners(folder.ranking(task), top_k) for task in order.config.tasks]
    return list(dict.fromkeys(name for names in found for name in names))


def top_identity(order: RunOrder) -> Identity:
    """Return what the best operators' matrices on the whole cohort depend on."""
    return order.matrices_identity(all_winners(order), None)


def compute_top_stage(order: RunOrder) -> Stage:
    """Return the stage that computes the best operators on the whole cohort."""
    folder = order.folder

    def work() -> dict[str, Any]:
        return compute_matrices(order, folder.whole_store, all_winners(order))

    return Stage(
        "compute-top",
        "Compute the best ones on the whole cohort",
        lambda: top_identity(order),
        work,
        matrices=lambda: {folder.whole_store: all_winners(order)},
    )


def full_stage(order: RunOrder) -> Stage:
    """Return the stage that computes and ranks every operator on everybody, for comparison."""
    folder, config = order.folder, order.config

    def work() -> dict[str, Any]:
        facts = compute_matrices(order, folder.whole_store, order.operators)
        for task in config.tasks:
            ranking = rank_with(order, folder.whole_matrices, order.operators, task)
            folder.write_table(ranking, folder.truth_file(task))
        return facts

    files = [folder.truth_file(task) for task in config.tasks]
    return Stage(
        "full-benchmark",
        "Compute and rank every operator on everybody, for comparison",
        lambda: order.ranking_identity(order.matrices_identity(order.operators, None)),
        work,
        lambda: ranking_files(files),
        lambda: {folder.whole_store: order.operators},
    )


def equivalents_of(ranking: Ranking) -> dict[str, list[str]]:
    """Return the operators that need not be computed again, by the one that stands for them."""
    groups = ranking.groups
    return dict(zip(groups["spi"], groups["also"], strict=True))
