"""Runs: from a cohort to the best operators and a report, in stages that are done once.

The room is called ``runs``, not ``run``: ``sclcs.run`` is the function that users call, and a
package of that name would take its place as soon as anything inside it is imported.
"""

from sclcs.runs.pipeline import carry_out, run
from sclcs.runs.plan import CostPlan, predict_costs
from sclcs.runs.result import RunResult
from sclcs.runs.stages import Stage, StoppedInStageError

__all__ = [
    "CostPlan",
    "RunResult",
    "Stage",
    "StoppedInStageError",
    "carry_out",
    "predict_costs",
    "run",
]
