"""A few seconds of the real work: what every family costs here, on samples of the cohort.

Families run through a temporary FC store, so that reading, computing, compressing and writing
all count, in CPU time, which other work on the machine disturbs least. What would take too long
is tried on fewer regions or time points and scaled by its law.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.compute.pieces import PieceOrder, do_piece
from sclcs.compute.pilot import CohortShape, Pilots
from sclcs.core.arguments import checked_methods
from sclcs.core.progress import track
from sclcs.spi.cost_laws import CostLaw, cost_law
from sclcs.spi.engine import DEFAULT_MEMORY
from sclcs.spi.fc_layout import block_size_for
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_writer import add_operators, create_store
from sclcs.spi.own_operators import known_elsewhere
from sclcs.spi.runner import family_members
from sclcs.spi.warmup import warm_up

__all__ = ["Calibration", "FamilyCost", "Start", "calibrate"]

FEWEST_REGIONS, FEWEST_TIMEPOINTS = 24, 70
LONGEST_SAMPLE = 0.4  # seconds; a family that needs more per sample is tried on a smaller one

_START = """
import json, sys, time, zarr
import sclcs.cli.main, sclcs.compute.fill
from sclcs.spi.warmup import warm_up
from sclcs.compute.calibration import peak_memory
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


@checked_methods
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
    counts = [int(np.clip(seconds / (2 * together), 1, block_size_for(size[0]))) for size in sizes]
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
        layout = self.store.layout
        files = layout.shard_files(names, 0, layout.index()).values()
        entries = len(names) * len(self.cohort) * self.cohort.n_regions**2
        return FamilyCost(
            family,
            members=len(names),
            pilot=(self.cohort.n_regions, self.cohort.n_timepoints),
            samples=len(self.cohort),
            whole=whole / len(self.cohort),
            single=single / len(self.cohort),
            bytes_per_entry=sum(file.stat().st_size for file in files) / entries,
        )

    def _seconds(self, family: str, names: Sequence[str]) -> float:
        """Return the mean CPU seconds of two tries: one meets cold caches, one warm ones.

        What takes long is tried once: caches hardly matter then.
        """
        piece = Piece(family, 0, tuple(names))
        unique, signals = uuid.uuid4().hex, self.cohort.signals
        order = PieceOrder(unique, self.store.layout, piece, signals, 0, DEFAULT_MEMORY)
        taken = []
        for _ in range(2):
            begun = time.process_time()
            do_piece(order)
            taken.append(time.process_time() - begun)
            if taken[0] > LONGEST_SAMPLE / 2:
                break
        return float(np.mean(taken))


def peak_memory() -> int:
    """Return the most memory that this process has held, in bytes.

    Linux's ``ru_maxrss`` would count the process that started this one, too.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(
            int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")
        )
    except (OSError, StopIteration):
        import resource

        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest * (1 if sys.platform == "darwin" else 1024)


def _measure_start(operators: Sequence[str], timepoints: int) -> Start:
    """Start a process as a run does; the kernels are compiled by now."""
    known = known_elsewhere(operators)
    command = [sys.executable, "-c", _START, json.dumps(known), str(timepoints)]
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, text=True, capture_output=True)
    cpu_seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return Start(time.perf_counter() - begun, cpu_seconds, int(peak))
