"""Filling FC stores: what is computed, in which pieces, by whom, and what it costs."""

from sclcs.compute.batch import BatchJob, BatchSystem
from sclcs.compute.calibration import Calibration, FamilyCost, calibrate
from sclcs.compute.computation import Computation, open_computation
from sclcs.compute.cost import Cost, cost_of_work, total_cost
from sclcs.compute.executors import (
    ExecutorChoice,
    ExecutorKind,
    choose_executor,
    executor_kinds,
    find_executor,
)
from sclcs.compute.executors.slurm import SlurmConfig
from sclcs.compute.exports import Export, export_matrices
from sclcs.compute.fill import (
    FillReport,
    compute_store,
    fill_store,
    hand_over,
    is_done,
    missing_parts,
    missing_work,
)
from sclcs.compute.pilot import CohortShape
from sclcs.compute.store_lock import Share
from sclcs.spi.fc_store import FCStore

__all__ = [
    "BatchJob",
    "BatchSystem",
    "Calibration",
    "CohortShape",
    "Computation",
    "Cost",
    "ExecutorChoice",
    "ExecutorKind",
    "Export",
    "FCStore",
    "FamilyCost",
    "FillReport",
    "Share",
    "SlurmConfig",
    "calibrate",
    "choose_executor",
    "compute_store",
    "cost_of_work",
    "executor_kinds",
    "export_matrices",
    "fill_store",
    "find_executor",
    "hand_over",
    "is_done",
    "missing_parts",
    "missing_work",
    "open_computation",
    "total_cost",
]
