"""The matrices of a run: computed once, copied where another store of the run has them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sclcs._core import SclcsError, UnreadableFileError, explain_write_errors, remove_partials
from sclcs.runs.order import RunOrder
from sclcs.runs.stages import WORKERS
from sclcs.store import (
    FCStore,
    drop_matrices,
    fill_store,
    forget_operators,
    hold_store,
    open_computation,
    open_or_repair,
    outdated_operators,
)

__all__ = [
    "bring_back",
    "compute_matrices",
    "drop_from",
    "remove_folder",
    "remove_trash",
    "seconds_of",
    "spent_on",
]

TRASH = ".trash-"


def compute_matrices(
    order: RunOrder,
    path: Path,
    operators: Sequence[str],
    sample_ids: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Compute operators into a store of the run; what is good there is kept.

    Parameters
    ----------
    order : RunOrder
    path : Path
        The store. If it belongs to another cohort or core-set it is replaced (samples that
        both core-sets have are copied); operators of another version or seed are taken out.
    operators : sequence of str
    sample_ids : sequence of str, optional
        Only these samples; all by default.

    Returns
    -------
    dict
        Facts for the record of the stage.
    """
    cohort, who = order.cohort, order.config.executor
    store = _continued(order, path, sample_ids)
    if store is None:
        _put_aside(order, path)
    computation = open_computation(
        cohort,
        path if store is None else store,
        list(operators),
        coreset=sample_ids,
        seed=order.config.seed,
    )
    forget_operators(
        computation.store,
        outdated_operators(computation.store.stamps, computation.stamps),
    )
    known = _others(order, path)
    report = fill_store(computation, who, known=known)
    remove_folder(_aside(path))
    elsewhere = who.kind.elsewhere or who.processes > 1
    return {
        "matrices": report.matrices,
        "kernel_seconds": report.kernel_seconds,
        WORKERS: report.kernel_seconds if elsewhere else 0.0,
    }


def bring_back(
    order: RunOrder,
    path: Path,
    operators: Sequence[str],
    sample_ids: Sequence[str] | None = None,
) -> None:
    """Compute matrices again that were not kept and are needed now; see :func:`compute_matrices`.

    Operators that were never in the store are left out of it.
    """
    gone = set(order.folder.open_store(path).not_kept) if path.exists() else set()
    again = [name for name in operators if name in gone]
    if again:
        compute_matrices(order, path, again, sample_ids)


def drop_from(store: FCStore, operators: Sequence[str]) -> int:
    """Remove matrices of operators from a store that nobody else writes to; return the bytes."""
    with hold_store(store.path):
        return drop_matrices(store, operators)


def _continued(order: RunOrder, path: Path, sample_ids: Sequence[str] | None) -> FCStore | None:
    """Return the store if it is of these samples; None if a new one has to be made."""
    if not path.exists():
        return None
    try:
        store = order.folder.open_store(path)
    except (UnreadableFileError, OSError):
        store = None
    cohort = order.cohort
    kept = set(cohort.sample_ids if sample_ids is None else sample_ids)
    wanted = [name for name in cohort.sample_ids if name in kept]
    if store is None or store.fingerprint != cohort.fingerprint:
        # The matrices may be good although the table is damaged, or has been labelled since.
        try:
            store = open_or_repair(path, cohort.take(wanted), cohort)
        except (SclcsError, OSError):
            return None
    same = store.fingerprint == cohort.fingerprint and store.sample_ids == wanted
    return store if same else None


def _aside(path: Path) -> Path:
    return path.with_name(f".previous-{path.name}")


def _put_aside(order: RunOrder, path: Path) -> None:
    """Make room for a new store; what another core-set shares with it can be copied."""
    try:
        useful = order.folder.open_store(path).fingerprint == order.cohort.fingerprint
    except (UnreadableFileError, OSError):
        useful = False
    if useful and not _aside(path).exists():
        path.rename(_aside(path))
    else:
        remove_folder(path)


def _others(order: RunOrder, path: Path) -> list[FCStore]:
    """Return the other stores of the folder."""
    found = []
    for other in [_aside(path), *sorted(order.folder.path.glob("fc*.zarr"))]:
        if other != path and other.exists():
            try:
                found.append(order.folder.open_store(other))
            except (UnreadableFileError, OSError):
                continue
    return found


def seconds_of(store: FCStore, operators: Iterable[str]) -> float:
    """Return the CPU time that the matrices of operators took, wherever it was spent."""
    return float(store.status()["seconds"].reindex(list(operators)).fillna(0.0).sum())


def spent_on(store: FCStore, operators: Iterable[str]) -> float:
    """Return the CPU time that was spent for this store, without what was copied into it."""
    table = store.status()
    spent = table["seconds"] - table["copied_seconds"]
    return float(spent.reindex(list(operators)).fillna(0.0).sum())


def remove_folder(path: Path) -> None:
    """Remove a folder: at once as far as others can see, even if this process is killed."""
    if not path.exists():
        return
    with explain_write_errors(path):
        trash = path.with_name(f"{TRASH}{uuid.uuid4().hex[:8]}")
        path.rename(trash)
        if trash.is_dir():
            shutil.rmtree(trash)
        else:
            trash.unlink()


def remove_trash(home: Path) -> None:
    """Remove what processes left that were killed while they removed or wrote something."""
    for path in home.glob(f"{TRASH}*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    remove_partials(home)
