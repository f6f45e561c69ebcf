"""The best operators' matrices in other formats, if a run is asked for them."""

from __future__ import annotations

from typing import Any

from sclcs.workflow.export import export_matrices
from sclcs.workflow.run.order import RunOrder
from sclcs.workflow.run.rank import all_winners, top_key
from sclcs.workflow.run.stages import Stage
from sclcs.workflow.run.stores import remove_folder

__all__ = ["export_stage"]


def export_stage(order: RunOrder) -> Stage:
    """Return the stage that writes the matrices of the best operators for other programs."""
    folder, formats = order.folder, order.config.export

    def key() -> dict[str, Any]:
        return top_key(order) | {"formats": formats}

    def work() -> None:
        remove_folder(folder.export_folder)
        for name in formats:
            export_matrices(folder.top_store, folder.export_folder / name, name, all_winners(order))

    return Stage("export", "Export their matrices", key, work, lambda: [folder.export_folder])
