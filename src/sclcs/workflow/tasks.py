"""One task of a computation: read a block of samples, compute a family, write the result.

A task knows everything it needs and shares nothing with others, so any executor can run it
anywhere, twice if it must: the same bytes come out.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.signals import SignalArray
from sclcs.spi.context import Array
from sclcs.spi.engine import compute_block
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import FamilyTask
from sclcs.spi.fc_writer import write_task
from sclcs.spi.signals import check_signals, sample_seeds

__all__ = ["TaskOrder", "TaskReport", "run_task"]


@dataclass(frozen=True)
class TaskOrder:
    """A task with all that a worker needs to do it.

    Parameters
    ----------
    run : str
        Unique to the run; a worker keeps the signals of its last blocks by it.
    layout : StoreLayout
        Where to write.
    task : FamilyTask
        What to compute.
    signals : ndarray or LazySignals, shape (sample, region, time)
        The block's samples; a lazy view is read by the worker.
    seed : int
        The user's seed.
    memory_bytes : int
        Budget for intermediates.
    """

    run: str
    layout: StoreLayout
    task: FamilyTask
    signals: SignalArray
    seed: int
    memory_bytes: int


@dataclass(frozen=True)
class TaskReport:
    """What a finished task took.

    Parameters
    ----------
    task : FamilyTask
        Which.
    matrices : int
        Number of matrices computed: operators times samples.
    seconds : float
        From start to end, reading and writing included.
    kernel_seconds : float
        CPU time inside the operators.
    """

    task: FamilyTask
    matrices: int
    seconds: float
    kernel_seconds: float


def run_task(order: TaskOrder) -> TaskReport:
    """Do a task; see the module's docstring."""
    started = time.perf_counter()
    batch, seeds = _blocks.get(order)
    outcomes = compute_block(
        batch, order.task.operators, sample_seeds=seeds, memory_bytes=order.memory_bytes
    )
    write_task(order.layout, order.task, outcomes)
    return TaskReport(
        order.task,
        matrices=len(order.task.operators) * len(batch),
        seconds=time.perf_counter() - started,
        kernel_seconds=sum(outcome.seconds for outcome in outcomes.values()),
    )


class _RecentBlocks:
    """The blocks read last: the families of a block come one after another."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._blocks: OrderedDict[tuple[str, int], tuple[Array, NDArray[np.uint64]]] = OrderedDict()
        self._lock = threading.Lock()  # a Dask worker may run several threads

    def get(self, order: TaskOrder) -> tuple[Array, NDArray[np.uint64]]:
        """Return the signals and seeds of the order's block."""
        key = (order.run, order.task.block)
        with self._lock:
            if key not in self._blocks:
                batch = check_signals(np.asarray(order.signals))
                self._blocks[key] = (batch, sample_seeds(batch, order.seed))
            self._blocks.move_to_end(key)
            while len(self._blocks) > self._kept:
                self._blocks.popitem(last=False)
            return self._blocks[key]


_blocks = _RecentBlocks(kept=2)
