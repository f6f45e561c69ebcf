"""Fill an FC store: plan, flat list of tasks, executor, store."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.signals import LazySignals, SignalArray
from sclcs.core.errors import InputError, StoreInUseError
from sclcs.core.progress import task, track
from sclcs.spi.engine import DEFAULT_MEMORY
from sclcs.spi.fc_records import FamilyTask
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import add_operators, forget_operators, remove_leftovers
from sclcs.spi.versions import operator_version
from sclcs.spi.warmup import warm_up
from sclcs.workflow.compute_plan import ComputePlan, Coreset, plan_compute
from sclcs.workflow.executors import Executor
from sclcs.workflow.executors.dask import DaskExecutor
from sclcs.workflow.executors.local import LocalExecutor
from sclcs.workflow.store_lock import Share, StoreLock
from sclcs.workflow.tasks import TaskOrder, TaskReport, run_task

__all__ = ["ComputeRun", "compute_store", "is_done", "prepare_shares", "run_plan"]


@dataclass(frozen=True)
class ComputeRun:
    """What a run did.

    Parameters
    ----------
    store : FCStore
        With everything that was asked for, unless the run was a share of the work.
    operators : list of str
        What was asked for.
    tasks, matrices : int
        How much had to be computed; the rest was there already.
    seconds : float
        From start to end.
    kernel_seconds : float
        Sum over all processes of the CPU time inside operators.
    """

    store: FCStore
    operators: list[str]
    tasks: int
    matrices: int
    seconds: float
    kernel_seconds: float


def compute_store(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str],
    spis: str | Sequence[str] = "paper-fast",
    *,
    coreset: Coreset | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    seed: int = 0,
    force: bool = False,
    share: Share | None = None,
    block_size: int | None = None,
) -> FCStore:
    """Compute operators on a cohort into an FC store, or finish what another run began.

    What is in the store already is kept, after its checksums are verified; everything else is
    computed. The store's content does not depend on the number of jobs, the executor or how
    often the work was interrupted.

    Parameters
    ----------
    cohort : Cohort or path
        The samples.
    out : path-like
        The store: a new folder, or a store of the same cohort, core-set and seed.
    spis : str or sequence of str
        Operators, see :func:`sclcs.spi.resolve`. They are added to those in the store.
    coreset : sequence of str or CoreSet, optional
        Compute on these samples only. The store keeps them in the order of the cohort.
    jobs : int
        Number of processes; -1 for one per processor.
    scheduler : str, optional
        Address of a Dask scheduler to use instead of local processes. Its workers must see
        the cohort and the store under the same paths.
    seed : int
        Seed of the operators that draw random numbers.
    force : bool
        Compute the operators again even if they are there.
    share : Share, optional
        Do only one of several equal parts of the tasks; other processes do the others.
    block_size : int, optional
        Samples per task and chunk of a new store; by default chosen from the number of regions.

    Returns
    -------
    FCStore

    Raises
    ------
    InputError
        If the store belongs to another cohort, core-set, seed or version of the operators.
    StoreInUseError
        If another process is computing into the store.

    Examples
    --------
    ``compute_store("cohort.zarr", "fc", "paper-fast", jobs=4)``
    """
    plan = plan_compute(
        cohort, out, spis, coreset=coreset, seed=seed, force=force, block_size=block_size
    )
    return run_plan(plan, jobs=jobs, scheduler=scheduler, share=share).store


def run_plan(
    plan: ComputePlan, *, jobs: int = 1, scheduler: str | None = None, share: Share | None = None
) -> ComputeRun:
    """Compute what a plan still lacks; the parameters are those of :func:`compute_store`."""
    started = time.perf_counter()
    if plan.force and share is not None:
        raise InputError("A share cannot use --force: it would undo the work of the other shares.")
    executor = _executor(plan, jobs, scheduler)
    lock = StoreLock(plan.store.path, share, plan.operators)
    with lock.preparing():
        _make_room(plan)
    try:
        reports = _compute_missing(plan, _tasks(plan, share), executor)
        if share is None:
            remove_leftovers(plan.store.layout)
    finally:
        lock.release()
    return ComputeRun(
        plan.store,
        plan.operators,
        tasks=len(reports),
        matrices=sum(report.matrices for report in reports),
        seconds=time.perf_counter() - started,
        kernel_seconds=sum(report.kernel_seconds for report in reports),
    )


def is_done(plan: ComputePlan) -> bool:
    """Return whether the store holds everything, so that nobody needs to write to it.

    Chunks are not read here; whoever reads them later verifies their checksums.
    """
    known = plan.store.layout.versions()
    current = all(known.get(name) == operator_version(name) for name in plan.operators)
    return current and not plan.force and not plan.store.missing(plan.operators)


def prepare_shares(plan: ComputePlan) -> None:
    """Get a store ready for processes that share the work: room made, kernels compiled."""
    lock = StoreLock(plan.store.path, None, plan.operators)
    with lock.preparing():
        _make_room(plan)
        warm_up(plan.operators, plan.cohort.n_timepoints)
    lock.release()


def _make_room(plan: ComputePlan) -> None:
    if plan.force:
        forget_operators(plan.store, plan.operators)
    add_operators(plan.store, plan.operators)


def _tasks(plan: ComputePlan, share: Share | None) -> list[FamilyTask]:
    """Return the tasks of this run, done or not.

    Shares are cut from the list of all tasks and not of the missing ones: processes that
    start at different moments still agree on who does what.
    """
    tasks = plan.store.layout.tasks(plan.operators)
    return tasks if share is None else tasks[share.number - 1 :: share.count]


def _executor(plan: ComputePlan, jobs: int, scheduler: str | None) -> Executor:
    if scheduler is None:
        return LocalExecutor(jobs)
    if not isinstance(plan.cohort.signals, LazySignals):
        raise InputError(
            "Dask workers read the cohort from disk, but this one is in memory only; save it "
            "where they can see it and pass its path."
        )
    return DaskExecutor(scheduler)


def _compute_missing(
    plan: ComputePlan, tasks: list[FamilyTask], executor: Executor
) -> list[TaskReport]:
    layout = plan.store.layout
    missing = layout.missing(tasks)
    if len(missing) < len(tasks):  # what is there must be what was written
        missing = layout.missing(track(tasks, "Checking what is computed already"), check=True)
    if not missing:
        return []
    reports = []
    with executor:
        operators = {name for family_task in missing for name in family_task.operators}
        with task("Loading operators", 1) as ticker:
            executor.prepare(partial(warm_up, sorted(operators), plan.cohort.n_timepoints))
            ticker.advance()
        with task("Computing matrices", _count_matrices(plan, missing)) as ticker:
            for report in executor.run(run_task, _orders(plan, missing)):
                reports.append(report)
                ticker.advance(report.matrices)
    _expect_complete(plan, tasks)
    return reports


def _count_matrices(plan: ComputePlan, tasks: list[FamilyTask]) -> int:
    rows = [plan.store.layout.block_rows(t.block) for t in tasks]
    return sum(len(t.operators) * (r.stop - r.start) for t, r in zip(tasks, rows, strict=True))


def _orders(plan: ComputePlan, tasks: list[FamilyTask]) -> Iterator[TaskOrder]:
    run = uuid.uuid4().hex
    layout = plan.store.layout
    for family_task in tasks:
        signals = _block(plan.cohort.signals, layout.block_rows(family_task.block))
        yield TaskOrder(run, layout, family_task, signals, plan.seed, DEFAULT_MEMORY)


def _block(signals: SignalArray, rows: slice) -> SignalArray:
    if isinstance(signals, LazySignals):
        return signals.take(np.arange(rows.start, rows.stop))
    return signals[rows]


def _expect_complete(plan: ComputePlan, tasks: list[FamilyTask]) -> None:
    left = plan.store.layout.missing(tasks)
    if left:
        raise StoreInUseError(
            f"{len(left)} of {len(tasks)} tasks are not in {plan.store.path} although they were "
            "computed: another process changed the store. Run the same command again."
        )
