"""Stage 3 of a run: choose the core-set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sclcs.benchmark.design import make_design
from sclcs.benchmark.tasks import make_task
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.core.provenance import sidecar_path
from sclcs.selection.guided.panel import panel_operators
from sclcs.selection.perturbation import training_of
from sclcs.selection.select import select
from sclcs.workflow.run.order import RunOrder
from sclcs.workflow.run.stages import Stage
from sclcs.workflow.run.stores import fill_store, remove_folder

__all__ = ["select_stage", "write_anew"]

#: Parameters that say where results are kept or how fast they come.
NO_PART_OF_RESULT = ("cache", "fc", "n_jobs", "device", "memory_gb")


def select_stage(order: RunOrder) -> Stage:
    """Return the stage that chooses the core-set."""
    folder, config = order.folder, order.config

    def key() -> dict[str, Any]:
        left_out = NO_PART_OF_RESULT[:-1] if order.guided else NO_PART_OF_RESULT
        return {
            "fingerprint": folder.check()["fingerprint"],
            "method": config.method,
            "parameters": {k: v for k, v in order.parameters.items() if k not in left_out},
            "ratio": config.ratio if config.target_ndcg is None else None,
            "seed": config.seed,
            "panel": order.versions(_panel(order)),
        }

    def work() -> dict[str, Any]:
        cohort = order.cohort
        remove_folder(folder.encoder_folder)
        facts = _prepare_panel(order, cohort)
        core = _choose(order, cohort)
        _expect_pairs(cohort, core, config.tasks)
        write_anew(core, folder.core_file)
        if order.trains_encoder:
            training_of(cohort, config.seed, _with_cache(order)).save(folder.encoder_folder)
        return facts

    def outputs() -> list[Path]:
        made = [folder.core_file, sidecar_path(folder.core_file)]
        return made + [p for p in (folder.encoder_folder, folder.panel_store) if p.exists()]

    return Stage("select", "Choose the core-set", key, work, outputs)


def _panel(order: RunOrder) -> list[str]:
    """Return the operators that guide; none if the user gave their matrices."""
    if not order.guided or order.parameters["fc"] is not None:
        return []
    return panel_operators(order.parameters["panel"])


def _prepare_panel(order: RunOrder, cohort: Cohort) -> dict[str, Any]:
    panel = _panel(order)
    if panel:
        return fill_store(order, order.folder.panel_store, cohort, panel)
    remove_folder(order.folder.panel_store)
    return {}


def _choose(order: RunOrder, cohort: Cohort) -> CoreSet:
    parameters = _with_cache(order)
    if _panel(order):
        parameters["fc"] = str(order.folder.panel_store)
    return select(cohort, order.config.method, order.config.ratio, order.config.seed, **parameters)


def _with_cache(order: RunOrder) -> dict[str, Any]:
    """Return the parameters; a training is always kept, so that it is done once."""
    parameters = dict(order.parameters)
    if order.trains_encoder and parameters["cache"] is False:
        parameters["cache"] = str(order.folder.path / ".cache")
    return parameters


def _expect_pairs(cohort: Cohort, core: CoreSet, tasks: list[str]) -> None:
    """Raise before every operator is computed, if the core-set cannot rank them."""
    for name in tasks:
        reason = make_design(cohort.samples, make_task(name), core).degenerate
        if reason:
            raise InputError(
                f"The core-set of {len(core)} samples cannot rank operators for {reason} "
                "Raise the ratio, or choose another method."
            )


def write_anew(result: Any, path: Path) -> None:  # noqa: ANN401 (a CoreSet or a Ranking)
    """Save a table with its sidecar in place of the one of an earlier run."""
    path.unlink(missing_ok=True)
    sidecar_path(path).unlink(missing_ok=True)
    result.save(path)
