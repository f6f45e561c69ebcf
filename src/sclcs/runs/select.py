"""Stage 3 of a run: choose the core-set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.core.identity import Identity
from sclcs.core.provenance import sidecar_path
from sclcs.encoder.identity import VERSIONS as TRAINING_VERSIONS
from sclcs.runs.matrices import compute_matrices, remove_folder
from sclcs.runs.order import RunOrder
from sclcs.runs.stages import Stage
from sclcs.selection import find_selector, select
from sclcs.selection.perturbation import EncoderParameters, training_of
from sclcs.spi.fc_status import matrices_identity
from sclcs.spi.fc_store import FCStore

__all__ = ["select_stage"]


def select_stage(order: RunOrder) -> Stage:
    """Return the stage that chooses the core-set."""
    folder, config = order.folder, order.config

    def work() -> dict[str, Any]:
        remove_folder(folder.encoder_folder)
        facts: dict[str, Any] = {}
        if order.computes_panel:
            facts = compute_matrices(order, folder.whole_store, order.panel)
        cohort, parameters = order.cohort, _parameters(order)
        method, ratio = order.selector.name, order.core_ratio
        core = select(cohort, method, ratio, config.seed, **parameters)
        if not config.budgeted:  # which needs no labels on the core-set
            _expect_answers(order, cohort, core)
        folder.write_table(core, folder.core_file)
        if order.selector.network == "encoder":
            chosen = EncoderParameters(**parameters)
            training_of(cohort, config.seed, chosen).save(folder.encoder_folder)
        return facts

    def outputs() -> list[Path]:
        made = [folder.core_file, sidecar_path(folder.core_file)]
        return [*made, folder.encoder_folder] if order.selector.network == "encoder" else made

    def matrices() -> dict[Path, list[str]]:
        return {folder.whole_store: order.panel} if order.computes_panel else {}

    return Stage(
        "select",
        "Choose the core-set",
        lambda: _identity(order),
        work,
        outputs,
        matrices,
    )


def _identity(order: RunOrder) -> Identity:
    config = order.config
    parameters = {
        "method": order.selector.name,
        "ratio": order.core_ratio,
        **order.parameters.deciding(),
    }
    return Identity(
        "core-set",
        inputs={"cohort": order.folder.check()["fingerprint"], "panel": _panel_identity(order)},
        parameters=parameters,
        versions=_versions(order),
        seeds={"choice": config.seed},
    )


def _panel_identity(order: RunOrder) -> Identity | None:
    """Return what the matrices that guide are: computed here, or given by the user."""
    if not order.panel:
        return None
    if order.computes_panel:
        return order.matrices_identity(order.panel, None)
    return matrices_identity(FCStore.open(order.parameters.to_dict()["fc"]), order.panel)


def _versions(order: RunOrder) -> dict[str, Any]:
    """Return the versions of all that has a part in the choice."""
    rows = [order.selector]
    if order.selector.name == "auto":
        rows += [find_selector(name) for name in ("guided", "stratified")]
    found: dict[str, Any] = {row.name: row.version for row in rows}
    if order.selector.network:
        found[order.selector.network] = TRAINING_VERSIONS[order.selector.network]
    if order.selector.guided:
        found |= {f"score of {task}": order.criterion(task).version for task in order.config.tasks}
    return found


def _parameters(order: RunOrder) -> dict[str, Any]:
    """Return the parameters of the choice; a training is always kept, so that it is done once."""
    parameters = order.parameters.to_dict()
    if order.computes_panel:
        parameters["fc"] = order.folder.whole_matrices
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
