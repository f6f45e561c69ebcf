"""What computing costs here: measured in seconds, carried to other sizes by laws."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import comb
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np

from sclcs._core import InputError, show_progress, track
from sclcs.cohort import LENGTH_COLUMN, Cohort
from sclcs.spi import DEFAULT_MEMORY, CostLaw, cost_law, family_members, known_elsewhere, warm_up
from sclcs.store import Piece, add_operators, block_size_for, create_store, do_piece, make_orders

__all__ = [
    "Calibration",
    "CohortShape",
    "Cost",
    "FamilyCost",
    "Pilots",
    "Start",
    "calibrate",
    "cost_of_work",
    "total_cost",
]


@dataclass(frozen=True)
class CohortShape:
    """How large a cohort is.

    Parameters
    ----------
    samples, regions, timepoints : int
        A sample is what operators are computed on: a scan, or a window of one.
    """

    samples: int
    regions: int
    timepoints: int

    def __post_init__(self) -> None:
        if self.samples < 1 or self.regions < 2 or self.timepoints < 2:
            raise InputError(
                "Expected at least 1 sample, 2 regions and 2 time points, got "
                f"{self.samples}, {self.regions} and {self.timepoints}."
            )

    @classmethod
    def of(cls, cohort: Cohort | CohortShape) -> CohortShape:
        """Return the shape of a cohort."""
        if isinstance(cohort, CohortShape):
            return cohort
        usual = cohort.n_timepoints if not len(cohort) else round(float(cohort.lengths.mean()))
        return cls(len(cohort), cohort.n_regions, usual)


class Pilots:
    """Small cohorts to try things on: parts of a real one, or of one that is simulated once.

    Parameters
    ----------
    cohort : Cohort or CohortShape
        The cohort, or how large it will be.
    samples, regions, timepoints : int
        The largest pilot that will be asked for.
    """

    def __init__(
        self, cohort: Cohort | CohortShape, samples: int, regions: int, timepoints: int
    ) -> None:
        if isinstance(cohort, Cohort):
            self._source = cohort
        else:
            from sclcs.cohort import simulate_cohort

            with show_progress(visible=False):
                self._source = simulate_cohort(samples, 1, regions, length=timepoints, seed=0)

    def take(self, samples: int, regions: int, timepoints: int) -> Cohort:
        """Return some samples, regions (both spread evenly) and the first time points."""
        source = self._source
        rows = np.unique(np.linspace(0, len(source) - 1, min(samples, len(source))).astype(int))
        places = np.unique(np.linspace(0, source.n_regions - 1, regions).astype(int))
        part = source.take(rows).keep_regions([source.regions[place] for place in places])
        # Samples of unequal length are tried at the length of the shortest; costs are scaled.
        kept = min(timepoints, int(part.lengths.min()))
        table = part.samples.drop(columns=LENGTH_COLUMN, errors="ignore")
        return Cohort(np.asarray(part.signals)[:, :, :kept], table, part.regions, part.tr)


FEWEST_REGIONS, FEWEST_TIMEPOINTS = 24, 70
LONGEST_SAMPLE = 0.4  # seconds; a family that needs more per sample is tried on a smaller one

_START = """
import json, sys, time, zarr
import sclcs.cli.main, sclcs.store.fill
from sclcs.spi.engine import warm_up
from sclcs._core.platform import peak_memory
warm_up(json.loads(sys.argv[1]), int(sys.argv[2]))
print(json.dumps([time.process_time(), peak_memory()]))
"""


@dataclass(frozen=True)
class FamilyCost:
    """What a family costs.

    Parameters
    ----------
    family : str
        The family.
    members : int
        How many of its operators are asked for.
    pilot : tuple of int
        Regions and time points of the samples on which it was tried.
    samples : int
        How many samples were tried together.
    whole, single : float
        CPU seconds per sample of all its members together, and of one of them alone.
    bytes_per_entry : float
        On disk, per entry of a matrix.
    """

    family: str
    members: int
    pilot: tuple[int, int]
    samples: int
    whole: float
    single: float
    bytes_per_entry: float

    @property
    def law(self) -> CostLaw:
        """How the cost grows."""
        return cost_law(self.family)


@dataclass(frozen=True)
class Start:
    """What every new process needs before it works.

    Parameters
    ----------
    wall_seconds, cpu_seconds : float
        To import and to load the compiled kernels.
    memory_bytes : int
        What it holds then.
    """

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Calibration:
    """What was measured.

    Parameters
    ----------
    families : list of FamilyCost
        One per family.
    start : Start
        Of a process.
    room_seconds : float
        CPU seconds to make room for one operator in a store.
    seconds : float
        How long the calibration took.
    simulated : bool
        Whether the families were tried on simulated signals.
    """

    families: list[FamilyCost]
    start: Start
    room_seconds: float
    seconds: float
    simulated: bool

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self)


def calibrate(
    cohort: Cohort | CohortShape,
    operators: Sequence[str],
    shape: CohortShape,
    *,
    seconds: float = 5.0,
) -> Calibration:
    """Measure what families cost on this machine.

    Parameters
    ----------
    cohort : Cohort or CohortShape
        Whose samples are tried; simulated ones if only a shape is known.
    operators : sequence of str
        Catalogue identifiers.
    shape : CohortShape
        The size that is planned; families are tried at this size if the cohort has it and
        they are quick enough.
    seconds : float
        About how long to try.

    Returns
    -------
    Calibration
    """
    started = time.perf_counter()
    own = CohortShape.of(cohort)
    members = family_members(operators)
    warm_up(operators, min(own.timepoints, shape.timepoints))
    laws = [cost_law(family) for family in members]
    regions = min(own.regions, shape.regions)
    sizes = [_pilot(law, regions, own.timepoints) for law in laws]
    together = sum(law.seconds_at(*size) for law, size in zip(laws, sizes, strict=True))
    blocks = [block_size_for(family, *size) for family, size in zip(members, sizes, strict=True)]
    counts = [int(np.clip(seconds / (2 * together), 1, block)) for block in blocks]
    largest = (max(size[0] for size in sizes), max(size[1] for size in sizes))
    pilots = Pilots(cohort, max(counts), *largest)
    kinds = [(count, *size) for count, size in zip(counts, sizes, strict=True)]
    with tempfile.TemporaryDirectory(prefix="sclcs-plan-") as folder:
        # The same number of samples for all: the most expensive families, which decide the
        # sum, are measured as well as the others.
        trials = {
            kind: _Trial(
                Path(folder) / str(number),
                pilots.take(*kind),
                [
                    name
                    for k, f in zip(kinds, members, strict=True)
                    if k == kind
                    for name in members[f]
                ],
            )
            for number, kind in enumerate(dict.fromkeys(kinds))
        }
        work = zip(kinds, members.items(), strict=True)
        families = [
            trials[kind].measure(family, names)
            for kind, (family, names) in track(work, "Trying operators", len(members))
        ]
    return Calibration(
        families,
        start=_measure_start(operators, own.timepoints),
        room_seconds=sum(trial.room_seconds for trial in trials.values()) / len(operators),
        seconds=time.perf_counter() - started,
        simulated=not isinstance(cohort, Cohort),
    )


def _pilot(law: CostLaw, regions: int, timepoints: int) -> tuple[int, int]:
    """Return the regions and time points on which a family is quick enough to try."""
    excess = law.seconds_at(regions, timepoints) / LONGEST_SAMPLE
    if excess > 1 and law.exponent_regions > 0:
        fewer = int(regions / excess ** (1 / law.exponent_regions))
        regions = max(fewer, min(regions, FEWEST_REGIONS))
    excess = law.seconds_at(regions, timepoints) / (4 * LONGEST_SAMPLE)
    if excess > 1 and law.exponent_timepoints > 0:
        fewer = int(timepoints / excess ** (1 / law.exponent_timepoints))
        timepoints = max(fewer, min(timepoints, FEWEST_TIMEPOINTS))
    return regions, timepoints


class _Trial:
    """A temporary store in which the families are tried that take samples of one size."""

    def __init__(self, folder: Path, cohort: Cohort, operators: Sequence[str]) -> None:
        self.cohort = cohort
        self.store = create_store(folder, cohort, "pilot", block_size=len(cohort))
        begun = time.process_time()
        add_operators(self.store, operators)
        self.room_seconds = time.process_time() - begun

    def measure(self, family: str, names: Sequence[str]) -> FamilyCost:
        """Try a family: all its members together, and one alone."""
        whole = self._seconds(family, names)
        middle = names[len(names) // 2]
        single = whole if len(names) == 1 else min(whole, self._seconds(family, [middle]))
        used = self.store.layout.piece_file(family, 0).stat().st_size
        entries = len(names) * len(self.cohort) * self.cohort.n_regions**2
        return FamilyCost(
            family,
            members=len(names),
            pilot=(self.cohort.n_regions, self.cohort.n_timepoints),
            samples=len(self.cohort),
            whole=whole / len(self.cohort),
            single=single / len(self.cohort),
            bytes_per_entry=used / entries,
        )

    def _seconds(self, family: str, names: Sequence[str]) -> float:
        """Return the mean CPU seconds of two tries: one meets cold caches, one warm ones.

        What takes long is tried once: caches hardly matter then.
        """
        piece = Piece(family, 0, tuple(names))
        (order,) = make_orders(self.store.layout, [piece], self.cohort)
        taken = []
        for _ in range(2):
            begun = time.process_time()
            do_piece(order)
            taken.append(time.process_time() - begun)
            if taken[0] > LONGEST_SAMPLE / 2:
                break
        return float(np.mean(taken))


def _measure_start(operators: Sequence[str], timepoints: int) -> Start:
    """Start a process as a run does; the kernels are compiled by now."""
    known = known_elsewhere(operators)
    command = [sys.executable, "-c", _START, json.dumps(known), str(timepoints)]
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, text=True, capture_output=True)
    cpu_seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return Start(time.perf_counter() - begun, cpu_seconds, int(peak))


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
    blocks = [
        min(shape.samples, block_size_for(family.family, shape.regions, shape.timepoints))
        for family in families
    ]
    # `seconds` are by family, or those of so many expensive operators of any family.
    longest = max(blocks) * max(seconds) if worst else max(map(mul, blocks, seconds))
    work = shape.samples * sum(seconds)
    room = wanted * measured.room_seconds
    start = measured.start
    processes = min(jobs, sum(-(-shape.samples // block) for block in blocks))
    overhead = start.cpu_seconds * (processes + (processes > 1)) + room
    # The last tasks do not end together: on average half of the longest is waited for.
    waiting = 0.5 * longest * (1 - 1 / processes)
    wall = max(work / processes + waiting, longest)
    entries = shape.samples * shape.regions**2
    bytes_per_entry = sum(f.bytes_per_entry * f.members for f in families) / count
    return Cost(
        cpu_seconds=work + overhead,
        wall_seconds=wall + room + start.wall_seconds * (1 + (processes > 1)),
        memory_bytes=_memory(families, shape, blocks, start.memory_bytes),
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


def _memory(
    families: Sequence[FamilyCost], shape: CohortShape, blocks: Sequence[int], base: int
) -> int:
    """Return the peak of one process: what it holds anyway, a block, results, intermediates."""
    signals = 3 * 2 * max(blocks) * shape.regions * shape.timepoints * _FLOAT64
    largest = max(f.members * rows for f, rows in zip(families, blocks, strict=True))
    results = 2 * largest * shape.regions**2 * _FLOAT64
    intermediates = min(DEFAULT_MEMORY, results)
    return int(base + signals + results + intermediates)
