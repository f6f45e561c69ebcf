"""The FC stores of a run: filled, continued, or replaced if they belong to something else."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import UnreadableFileError
from sclcs.core.files import explain_write_errors
from sclcs.spi.fc_records import read_record
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import forget_operators
from sclcs.spi.versions import operator_version
from sclcs.workflow.compute import run_plan
from sclcs.workflow.compute_plan import plan_compute
from sclcs.workflow.run.order import RunOrder
from sclcs.workflow.run.stages import WORKERS

__all__ = ["fill_store", "kernel_seconds", "remove_folder", "remove_trash"]

TRASH = ".trash-"


def fill_store(
    order: RunOrder,
    path: Path,
    cohort: Cohort,
    operators: Sequence[str],
    sample_ids: Sequence[str] | None = None,
    *,
    only: bool = False,
) -> dict[str, Any]:
    """Compute operators into a store of the run; what is there already is kept.

    Parameters
    ----------
    order : RunOrder
    path : Path
        The store. If it belongs to another cohort, core-set, seed or version of the
        operators, it is replaced.
    cohort : Cohort
    operators : sequence of str
    sample_ids : sequence of str, optional
        Only these samples.
    only : bool
        Take other operators out of the store.

    Returns
    -------
    dict
        Facts for the record of the stage.
    """
    seed = order.config.seed
    if path.exists() and not _fits(path, cohort, sample_ids, operators, seed):
        remove_folder(path)
    plan = plan_compute(cohort, path, list(operators), coreset=sample_ids, seed=seed)
    if only:
        _keep_only(plan.store, operators)
    elsewhere = order.config.scheduler is not None or order.processes > 1
    run = run_plan(plan, jobs=order.processes, scheduler=order.config.scheduler)
    return {
        "matrices": run.matrices,
        "kernel_seconds": run.kernel_seconds,
        WORKERS: run.kernel_seconds if elsewhere else 0.0,
    }


def _fits(
    path: Path,
    cohort: Cohort,
    sample_ids: Sequence[str] | None,
    operators: Iterable[str],
    seed: int,
) -> bool:
    """Say whether a store can be continued."""
    try:
        store = FCStore.open(path)
        versions = store.layout.versions()
    except (UnreadableFileError, OSError):
        return False
    kept = set(cohort.sample_ids if sample_ids is None else sample_ids)
    wanted = [name for name in cohort.sample_ids if name in kept]
    return (
        store.fingerprint == cohort.fingerprint
        and store.sample_ids == wanted
        and store.seed == seed
        and all(versions.get(n, operator_version(n)) == operator_version(n) for n in operators)
    )


def _keep_only(store: FCStore, operators: Sequence[str]) -> None:
    others = [name for name in store.operators if name not in set(operators)]
    forget_operators(store, others)
    for name in others:
        shutil.rmtree(store.layout.array_folder(name))
    for task in store.layout.tasks(others):
        record = store.layout.record_file(task.family, task.block)
        if not read_record(record):
            record.unlink(missing_ok=True)


def kernel_seconds(path: Path, operators: Iterable[str]) -> float:
    """Return the CPU time that operators of a store took, however often it was interrupted."""
    table = FCStore.open(path).status()
    return float(table["seconds"].reindex(list(operators)).fillna(0.0).sum())


def remove_folder(path: Path) -> None:
    """Remove a folder: at once as far as others can see, even if this process is killed."""
    if not path.exists():
        return
    with explain_write_errors(path):
        trash = path.with_name(f"{TRASH}{uuid.uuid4().hex[:8]}")
        path.rename(trash)
        shutil.rmtree(trash)


def remove_trash(home: Path) -> None:
    """Remove what processes left that were killed while they removed or wrote something."""
    for pattern in (f"{TRASH}*", ".*.partial"):
        for path in home.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
