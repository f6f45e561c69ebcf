"""Stage 3 of a run: choose the core-set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sclcs._core import Identity, InputError, file_digest, sidecar_path
from sclcs.cohort import Cohort, CoreSet
from sclcs.coresets import VERSIONS as TRAINING_VERSIONS, EncoderParameters, select, training_of
from sclcs.runs.matrices import bring_back, compute_matrices, remove_folder, seconds_of, spent_on
from sclcs.runs.order import RunOrder
from sclcs.runs.stages import Stage
from sclcs.stats import Ranking, consistency, rank
from sclcs.store import FCStore

__all__ = [
    "all_winners",
    "compute_core_stage",
    "compute_top_stage",
    "confirm_stage",
    "equivalents_of",
    "full_stage",
    "rank_stage",
    "rank_with",
    "ranking_files",
    "select_stage",
    "top_identity",
    "winners",
]


def select_stage(order: RunOrder) -> Stage:
    """Return the stage that chooses the core-set."""
    folder, config = order.folder, order.config

    def work() -> None:
        remove_folder(folder.encoder_folder)
        cohort, parameters = order.cohort, _parameters(order)
        method, ratio = order.selector.name, order.core_ratio
        core = select(cohort, method, ratio, config.seed, **parameters)
        if not config.budgeted:  # which needs no labels on the core-set
            _expect_answers(order, cohort, core)
        folder.write_table(core, folder.core_file)
        if order.selector.network == "encoder":
            chosen = EncoderParameters(**parameters)
            training_of(cohort, config.seed, chosen).save(folder.encoder_folder)

    def outputs() -> list[Path]:
        made = [folder.core_file, sidecar_path(folder.core_file)]
        return [*made, folder.encoder_folder] if order.selector.network == "encoder" else made

    return Stage("select", "Choose the core-set", lambda: _identity(order), work, outputs)


def _identity(order: RunOrder) -> Identity:
    config = order.config
    parameters = {
        "method": order.selector.name,
        "ratio": order.core_ratio,
        **order.parameters.deciding(),
    }
    return Identity(
        "core-set",
        inputs={"cohort": order.folder.check()["fingerprint"]},
        parameters=parameters,
        versions=_versions(order),
        seeds={"choice": config.seed},
    )


def _versions(order: RunOrder) -> dict[str, Any]:
    """Return the versions of all that has a part in the choice."""
    found: dict[str, Any] = {order.selector.name: order.selector.version}
    if order.selector.network:
        found[order.selector.network] = TRAINING_VERSIONS[order.selector.network]
    return found


def _parameters(order: RunOrder) -> dict[str, Any]:
    """Return the parameters of the choice; a training is always kept, so that it is done once."""
    parameters = order.parameters.to_dict()
    if order.selector.network == "encoder" and parameters["cache"] is False:
        parameters["cache"] = str(order.folder.path / ".cache")
    return parameters


def _expect_answers(order: RunOrder, cohort: Cohort, core: CoreSet) -> None:
    """Raise before every operator is computed, if the core-set cannot rank them."""
    for task in order.config.tasks:
        reason = order.question(cohort.samples, task, core).degenerate
        if reason:
            raise InputError(
                f"The core-set of {len(core)} samples cannot rank operators for {reason} "
                "Raise the ratio, or choose another method."
            )


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
        bring_back(order, folder.whole_store, operators)
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
        "agreement": agreement,
        "truth": None if truth is None else consistency(truth, ranking, CUTS),
    }


def _cuts(size: int) -> list[int]:
    return sorted({min(cut, size) for cut in CUTS})


def _inside(ranking: Ranking, name: str, on_everybody: pd.Series) -> bool | None:
    """Say whether the score on everybody is in the interval; None if there is no interval.

    Intervals of core-sets chosen by labels and connectivity say nothing about everybody.
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
    core = spent_on(core_store, order.operators)
    top = spent_on(whole_store, all_winners(order))
    search = _search_seconds(order)
    # What the core-set copied from the whole cohort was spent there.
    everything = seconds_of(core_store, order.operators) * n_samples / n_core
    measured = None
    if order.config.full_benchmark:
        measured = seconds_of(whole_store, order.operators)
    two_stage = search + core + top
    return {
        "select": search,
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
    """Return what choosing took."""
    folder = order.folder
    spent = float(folder.state()["stages"]["select"]["cpu_seconds"])
    training = folder.trained_encoder()
    if training is not None:  # it counts even if it came from the cache
        spent = max(spent, float(training.info.get("seconds", 0.0)))
    return spent
