from .check import describe_outputs, gather_participants, process_participant
from .costs import CohortShape, Cost
from .demo import compare_core_sets, run_demo
from .pipeline import carry_out, run
from .plan import CostPlan, predict_costs
from .result import RunResult
from .stages import Stage, StoppedInStageError

__all__ = [
    "CohortShape",
    "Cost",
    "CostPlan",
    "RunResult",
    "Stage",
    "StoppedInStageError",
    "carry_out",
    "compare_core_sets",
    "describe_outputs",
    "gather_participants",
    "predict_costs",
    "process_participant",
    "run",
    "run_demo",
]
