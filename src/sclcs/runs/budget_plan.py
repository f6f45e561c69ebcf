"""Stage 2 of a budgeted run: what the budget buys, and how fast this machine is."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.compute.pilot import CohortShape, Pilots
from sclcs.core.errors import InputError
from sclcs.core.files import write_json
from sclcs.core.identity import Identity
from sclcs.run_folder import RunFolder
from sclcs.run_folder.budget import Budget, parse_budget
from sclcs.runs.allotment import Allotment, Costs, allot, smallest_budget
from sclcs.runs.stages import Stage
from sclcs.spi import compute
from sclcs.spi.sets import resolve
from sclcs.spi.warmup import warm_up

if TYPE_CHECKING:
    from sclcs.runs.order import RunOrder

__all__ = [
    "ALLOTMENT_VERSION",
    "budget_of",
    "budget_plan_stage",
    "plan_budget",
    "plan_costs",
    "record_speed",
    "recorded_speed",
]

#: Raised when the same budget would be spent differently.
ALLOTMENT_VERSION = 2
SPEED_FILE = "speed.json"
YARDSTICK = "panel"
PILOT_SAMPLES = 8
REPEATS = 3


def budget_of(order: RunOrder, costs: Costs) -> Budget:
    """Read the budget of a run; one that cannot be read is told the smallest that works."""
    try:
        return parse_budget(str(order.config.budget))
    except InputError as error:
        smallest = smallest_budget(costs, order.config.exact_below)
        raise InputError(f"{str(error).rstrip('.')}; {smallest}.") from error


def plan_costs(order: RunOrder) -> Costs:
    """Return what the operators of a run cost, as its budget counts.

    A share of the full cost needs no clock. For a time, the speed of this machine is measured
    once and kept in the folder.
    """
    shape = CohortShape.of(order.given)
    costs = Costs.of(order.operators, shape)
    budget = budget_of(order, costs)
    speed = recorded_speed(order.folder) if budget.share is None else None
    return costs if speed is None else Costs.of(order.operators, shape, speed)


def plan_budget(order: RunOrder) -> Allotment:
    """Return what the budget of a run buys."""
    return allot(order.costs, budget_of(order, order.costs), order.config.exact_below)


def recorded_speed(folder: RunFolder) -> float | None:
    """Return how many times slower this machine is than the table's, if it was measured."""
    try:
        return float(json.loads((folder.path / SPEED_FILE).read_text(encoding="utf-8"))["speed"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_speed(folder: RunFolder, cohort: Cohort) -> None:
    """Measure how fast this machine is, unless the folder knows; half a second of cheap work."""
    if recorded_speed(folder) is not None:
        return
    operators = resolve(YARDSTICK)
    own = CohortShape.of(cohort)
    pilot = Pilots(cohort, PILOT_SAMPLES, own.regions, own.timepoints)
    part = pilot.take(PILOT_SAMPLES, own.regions, own.timepoints)
    signals = np.asarray(part.signals, dtype=np.float64)
    warm_up(operators, own.timepoints)
    # The first call loads modules, which took a hundred times as long as the work of a few samples.
    spent = min([_seconds_for(signals, operators) for _ in range(1 + REPEATS)][1:])
    expected = Costs.of(operators, CohortShape.of(part)).on_everybody(operators)
    write_json(folder.path / SPEED_FILE, {"speed": float(f"{max(spent / expected, 0.01):.2g}")})


def _seconds_for(signals: NDArray[np.float64], operators: list[str]) -> float:
    begun = time.process_time()
    compute(signals, operators)
    return time.process_time() - begun


def budget_plan_stage(order: RunOrder) -> Stage:
    """Return the stage that writes down what the budget buys."""
    folder = order.folder

    def identity() -> Identity:
        return Identity(
            "plan",
            inputs={"allotment": order.allotment.to_dict()},
            versions={"allotment": ALLOTMENT_VERSION},
        )

    def work() -> None:
        bought = order.allotment
        folder.write_facts(
            {
                "shape": asdict(CohortShape.of(order.given)),
                "operators": order.operators,
                "full": {"cpu_seconds": bought.everything},
                "budget": {"asked": order.config.budget, **bought.to_dict()},
            },
            folder.plan_file,
        )

    title = (
        "Plan: everything, exactly"
        if order.allotment.way == "exact"
        else f"Plan: {len(order.allotment.panel)} operators on everybody, "
        f"{len(order.allotment.core)} more on {order.allotment.core_samples} samples"
    )
    return Stage("plan", title, identity, work, lambda: [folder.plan_file])
