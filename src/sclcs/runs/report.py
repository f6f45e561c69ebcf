"""The last stage of a run: the page for a person."""

from __future__ import annotations

import sclcs
from sclcs.core.identity import Identity
from sclcs.report import run_report
from sclcs.runs.matrices import bring_back
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import all_winners
from sclcs.runs.stages import Stage

__all__ = ["report_stage"]


def report_stage(order: RunOrder, before: list[str]) -> Stage:
    """Return the stage that writes the report of what the stages before it have made."""
    folder = order.folder

    def identity() -> Identity:
        records = folder.state()["stages"]
        made = [records[name].get(part, {}) for name in before for part in ("outputs", "matrices")]
        return Identity(
            "report",
            inputs={"made": made},
            parameters=order.config.model_dump(exclude={"out"}),
            versions={"sclcs": sclcs.__version__},
        )

    def work() -> None:
        # Its pictures are the winners'; if they go now, they are computed once more.
        bring_back(order, folder.whole_store, all_winners(order))
        run_report(folder).save_as_html(folder.report_file)

    return Stage("report", "Write the report", identity, work, lambda: [folder.report_file])
