"""Stages of a budgeted run before the answer: the panel on everybody, the others on a core-set."""

from __future__ import annotations

from typing import Any

from sclcs.core.identity import Identity
from sclcs.runs.matrices import compute_matrices
from sclcs.runs.order import RunOrder
from sclcs.runs.stages import Stage
from sclcs.runs.waves import ask_in_waves, in_waves, make_inquiries

__all__ = ["core_part_stage", "panel_stage"]


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
