"""What a budget buys: which operators run on everybody, which on a core-set of what size.

Everything here follows from the operators, the size of the cohort, the budget and the table of
costs that ships with the package: nothing is measured, so that the same call buys the same on
every machine, and a run that goes on after a stop keeps to what it began with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import BUDGET_RESERVE, Identity, InputError, write_json
from sclcs.cohort import Cohort
from sclcs.run_folder import Budget, RunFolder, parse_budget, percent_words, time_words
from sclcs.runs.costs import CohortShape, Pilots
from sclcs.runs.stages import Stage
from sclcs.spi import (
    OperatorCost,
    compute_batch,
    operator_cost,
    resolve,
    seconds_per_sample,
    warm_up,
)

if TYPE_CHECKING:
    from sclcs.runs.order import RunOrder

__all__ = [
    "ALLOTMENT_VERSION",
    "Allotment",
    "Costs",
    "allot",
    "budget_of",
    "budget_plan_stage",
    "plan_budget",
    "plan_costs",
    "record_speed",
    "recorded_speed",
    "smallest_budget",
]


#: Shares of the planned part: cheap operators on everybody, the others on the core-set; the rest
#: confirms the likely best on everybody.
PANEL_SHARE, CORE_SHARE = 0.25, 0.4
FEWEST_CORE, MOST_CORE = 16, 64
FEWEST_PANEL, FEWEST_PANEL_FAMILIES = 8, 4


@dataclass(frozen=True)
class Costs:
    """What operators cost on a cohort.

    Parameters
    ----------
    shape : CohortShape
    table : mapping of str to OperatorCost
        Of every operator that is asked for, per sample.
    """

    shape: CohortShape
    table: Mapping[str, OperatorCost]

    @classmethod
    def of(cls, operators: Iterable[str], shape: CohortShape, speed: float = 1.0) -> Costs:
        """Look operators up; `speed` is how many times slower this machine is than the table's."""
        table = {}
        for name in operators:
            cost = operator_cost(name, shape.regions, shape.timepoints)
            table[name] = OperatorCost(cost.family, speed * cost.alone, speed * cost.own)
        return cls(shape, table)

    def of_sample(self, operators: Iterable[str]) -> float:
        """Return the CPU seconds of operators on one sample."""
        return seconds_per_sample(self.table[name] for name in operators)

    def on_everybody(self, operators: Iterable[str]) -> float:
        """Return the CPU seconds of operators on the whole cohort."""
        return self.shape.samples * self.of_sample(operators)

    def cheapest_first(self) -> list[str]:
        """Return all operators, those that cost least per operator first.

        Operators of a family share work: after the first of them the others are cheap, so that
        a family is judged by its cheapest part.
        """
        families: dict[str, list[str]] = {}
        for name in sorted(self.table, key=lambda name: (self.table[name].own, name)):
            families.setdefault(self.table[name].family, []).append(name)
        parts = [part for members in families.values() for part in self._parts(members)]
        ordered = sorted(parts, key=lambda part: part[0])
        return [name for _, members in ordered for name in members]

    def _parts(self, members: list[str]) -> list[tuple[float, list[str]]]:
        """Cut a family into parts of rising cost per operator."""
        parts, left = [], members
        shared = max(self.table[name].alone - self.table[name].own for name in members)
        while left:
            total, best, size = shared, float("inf"), 0
            for count, name in enumerate(left, start=1):
                total += self.table[name].own
                if total / count <= best:
                    best, size = total / count, count
            parts.append((best, left[:size]))
            left, shared = left[size:], 0.0
        return parts


@dataclass(frozen=True)
class Allotment:
    """What is done with a budget.

    Parameters
    ----------
    way : {"exact", "estimated"}
        Whether everything is computed on everybody.
    reason : str
        Why, for a person.
    budget, everything : float
        CPU seconds that may be spent, and that everything on everybody would cost.
    panel : list of str
        Operators that are computed on everybody.
    core : list of str
        Operators that are computed on the core-set.
    unseen : list of str
        Operators that are too expensive even for that: the shipped geometry speaks for them.
    core_samples : int
        Size of the core-set.
    panel_seconds, core_seconds, left_seconds : float
        CPU seconds of these parts, and what is left to confirm the likely best; a part of the
        budget is kept in reserve.
    """

    way: Literal["exact", "estimated"]
    reason: str
    budget: float
    everything: float
    panel: list[str]
    core: list[str]
    unseen: list[str]
    core_samples: int
    panel_seconds: float
    core_seconds: float
    left_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def allot(costs: Costs, budget: Budget, exact_below: float = 0.0) -> Allotment:
    """Divide a budget.

    Parameters
    ----------
    costs : Costs
    budget : Budget
    exact_below : float
        CPU seconds. If everything costs less it is computed, whatever the budget: an estimate
        would save nothing worth having.

    Returns
    -------
    Allotment
    """
    operators = list(costs.table)
    everything = costs.on_everybody(operators)
    allowed = budget.seconds_of(everything)
    if everything <= max(allowed, exact_below):
        return _everything(operators, everything, allowed)
    order = costs.cheapest_first()
    fewest = _fewest(costs, order)
    if allowed < _smallest_seconds(costs, fewest):
        raise InputError(
            f"The budget {budget.text} does not pay the panel; {smallest_budget(costs)}."
        )
    planned = (1 - BUDGET_RESERVE) * allowed
    panel = _panel(costs, order, fewest, PANEL_SHARE * planned)
    panel_seconds = costs.on_everybody(panel)
    others = [name for name in order if name not in set(panel)]
    core, size = _core(costs, others, CORE_SHARE * planned)
    core_seconds = size * costs.of_sample(core) if core else 0.0
    place = {name: k for k, name in enumerate(operators)}
    return Allotment(
        "estimated",
        f"everything on everybody would take {time_words(everything)} of CPU time, the budget is "
        f"{time_words(allowed)}",
        allowed,
        everything,
        sorted(panel, key=place.__getitem__),
        sorted(core, key=place.__getitem__),
        [name for name in operators if name not in {*panel, *core}],
        size,
        panel_seconds,
        core_seconds,
        planned - panel_seconds - core_seconds,
    )


def smallest_budget(costs: Costs, exact_below: float = 0.0) -> str:
    """Say which is the smallest budget that works."""
    everything = costs.on_everybody(costs.table)
    if everything <= exact_below:
        return f"any works here, because everything costs less than {time_words(exact_below)}"
    needed = _smallest_seconds(costs, _fewest(costs, costs.cheapest_first()))
    return (
        f"the smallest that works here is {percent_words(needed / everything)} of the full cost, "
        f"or {time_words(needed)}"
    )


def _smallest_seconds(costs: Costs, fewest: Sequence[str]) -> float:
    """Return the budget whose part for the panel pays the fewest operators."""
    return costs.on_everybody(fewest) / (PANEL_SHARE * (1 - BUDGET_RESERVE))


def _everything(operators: Sequence[str], everything: float, allowed: float) -> Allotment:
    if everything > allowed:
        reason = (
            f"everything on everybody was predicted to take {time_words(everything)} of CPU time, "
            "too little to save any"
        )
    else:
        reason = f"everything on everybody fits into the budget of {time_words(allowed)}"
    left = max(allowed - everything, 0.0)
    return Allotment(
        "exact", reason, allowed, everything, list(operators), [], [], 0, everything, 0.0, left
    )


def _fewest(costs: Costs, order: Sequence[str]) -> list[str]:
    """Return the cheapest operators from which anything can be estimated."""
    found: list[str] = []
    for name in order:
        found.append(name)
        families = {costs.table[one].family for one in found}
        if len(found) >= FEWEST_PANEL and len(families) >= FEWEST_PANEL_FAMILIES:
            break
    return found


def _panel(costs: Costs, order: Sequence[str], fewest: Sequence[str], seconds: float) -> list[str]:
    """Return the operators in order of cost that fit into the seconds."""
    panel = list(fewest)
    for name in order[len(fewest) :]:
        if costs.on_everybody([*panel, name]) <= seconds:
            panel.append(name)
    return panel


def _core(costs: Costs, others: Sequence[str], seconds: float) -> tuple[list[str], int]:
    """Return the operators for the core-set, and its size.

    As many operators as a small core-set allows; then as many samples as these operators allow.
    """
    most = min(MOST_CORE, costs.shape.samples)
    fewest = min(FEWEST_CORE, most)
    chosen: list[str] = []
    for name in others:
        if fewest * costs.of_sample([*chosen, name]) <= seconds:
            chosen.append(name)
    if not chosen:
        return [], 0
    size = int(seconds / costs.of_sample(chosen))
    return chosen, max(fewest, min(size, most))


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
    compute_batch(signals, operators)
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
