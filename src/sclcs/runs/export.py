"""The best operators' matrices in other formats, if a run is asked for them."""

from __future__ import annotations

from sclcs.compute import export_matrices
from sclcs.core.identity import Identity
from sclcs.runs.matrices import bring_back, remove_folder
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import all_winners, top_identity
from sclcs.runs.stages import Stage

__all__ = ["export_stage"]

#: Raised when the same matrices would be written differently.
EXPORT_VERSION = 2


def export_stage(order: RunOrder) -> Stage:
    """Return the stage that writes the matrices of the best operators for other programs."""
    folder, formats = order.folder, order.config.export

    def identity() -> Identity:
        return Identity(
            "export",
            inputs={"matrices": top_identity(order)},
            parameters={"formats": formats},
            versions={"export": EXPORT_VERSION},
        )

    def work() -> None:
        remove_folder(folder.export_folder)
        bring_back(order, folder.whole_store, all_winners(order))
        for name in formats:
            place = folder.export_folder / name
            export_matrices(folder.whole_matrices, place, name, all_winners(order))

    return Stage("export", "Export their matrices", identity, work, lambda: [folder.export_folder])
