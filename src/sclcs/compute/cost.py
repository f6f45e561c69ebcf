"""From what families cost to what a piece of work costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from sclcs.compute.calibration import Calibration, FamilyCost
from sclcs.compute.pilot import CohortShape
from sclcs.spi.engine import DEFAULT_MEMORY
from sclcs.spi.fc_layout import block_size_for

__all__ = ["Cost", "cost_of_work", "total_cost"]

_FLOAT64 = 8


@dataclass(frozen=True)
class Cost:
    """What a piece of work costs.

    Parameters
    ----------
    cpu_seconds : float
        Over all processes.
    wall_seconds : float
        From start to end.
    memory_bytes : int
        Of one process, at most.
    disk_bytes : int
        Of the matrices that stay.
    """

    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    disk_bytes: int


def total_cost(parts: Sequence[Cost]) -> Cost:
    """Return the cost of pieces of work, one after another."""
    return Cost(
        cpu_seconds=sum(part.cpu_seconds for part in parts),
        wall_seconds=sum(part.wall_seconds for part in parts),
        memory_bytes=max(part.memory_bytes for part in parts),
        disk_bytes=sum(part.disk_bytes for part in parts),
    )


def cost_of_work(
    measured: Calibration,
    shape: CohortShape,
    *,
    jobs: int,
    top_k: int | None = None,
    worst: bool = False,
) -> Cost:
    """Predict the cost of computing operators on samples into a store.

    Parameters
    ----------
    measured : Calibration
        Of the operators.
    shape : CohortShape
        How many samples of what size.
    jobs : int
        Processes.
    top_k : int, optional
        Compute only so many of the operators, nobody knows yet which: any of them with the
        same probability. All by default.
    worst : bool
        Take the most expensive ones instead.

    Returns
    -------
    Cost
    """
    families = measured.families
    count = sum(family.members for family in families)
    wanted = count if top_k is None else top_k
    seconds = _per_sample(families, shape, count, top_k, worst)
    block = block_size_for(shape.regions)
    blocks = -(-shape.samples // block)
    longest = min(block, shape.samples) * max(seconds)
    work = shape.samples * sum(seconds)
    room = wanted * measured.room_seconds
    start = measured.start
    processes = min(jobs, blocks * len(families))
    overhead = start.cpu_seconds * (processes + (processes > 1)) + room
    # The last tasks do not end together: on average half of the longest is waited for.
    waiting = 0.5 * longest * (1 - 1 / processes)
    wall = max(work / processes + waiting, longest)
    entries = shape.samples * shape.regions**2
    bytes_per_entry = sum(f.bytes_per_entry * f.members for f in families) / count
    return Cost(
        cpu_seconds=work + overhead,
        wall_seconds=wall + room + start.wall_seconds * (1 + (processes > 1)),
        memory_bytes=_memory(families, shape, block, start.memory_bytes),
        disk_bytes=int(wanted * entries * bytes_per_entry),
    )


def _per_sample(
    families: Sequence[FamilyCost], shape: CohortShape, count: int, top_k: int | None, worst: bool
) -> list[float]:
    """Return the expected CPU seconds per sample of each family."""
    growth = [f.law.growth(f.pilot, (shape.regions, shape.timepoints)) for f in families]
    if top_k is None:
        return [f.whole * g for f, g in zip(families, growth, strict=True)]
    if worst:
        alone = [
            f.single * g for f, g in zip(families, growth, strict=True) for _ in range(f.members)
        ]
        return sorted(alone, reverse=True)[:top_k]
    return [_expected(f, count, top_k) * g for f, g in zip(families, growth, strict=True)]


def _expected(family: FamilyCost, count: int, top_k: int) -> float:
    """Return the cost of a family's share of `top_k` operators drawn from all.

    One member costs what the family shares and its own part; the others add their parts.
    """
    others = count - family.members
    touched = 1 - comb(others, top_k) / comb(count, top_k)
    drawn = top_k * family.members / count
    own = (family.whole - family.single) / max(1, family.members - 1)
    return touched * (family.single - own) + drawn * own


def _memory(families: Sequence[FamilyCost], shape: CohortShape, block: int, base: int) -> int:
    """Return the peak of one process: what it holds anyway, a block, results, intermediates."""
    rows = min(block, shape.samples)
    signals = 3 * 2 * rows * shape.regions * shape.timepoints * _FLOAT64
    results = 2 * max(f.members for f in families) * rows * shape.regions**2 * _FLOAT64
    intermediates = min(DEFAULT_MEMORY, results)
    return int(base + signals + results + intermediates)
