"""Fill an FC store: computation, flat list of pieces, executor, store."""

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
from sclcs.compute.computation import Computation, Coreset, open_computation
from sclcs.compute.executors import Executor, ExecutorChoice, Handover, choose_executor
from sclcs.compute.known_rows import KnownRows, known_rows
from sclcs.compute.pieces import PieceOrder, PieceReport, do_piece
from sclcs.compute.shares import Work
from sclcs.compute.store_lock import Share, StoreLock
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, StoreInUseError
from sclcs.core.files import settle
from sclcs.core.progress import progress, track
from sclcs.spi.engine import DEFAULT_MEMORY
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import (
    add_operators,
    forget_operators,
    outdated_operators,
    remove_leftovers,
)
from sclcs.spi.own_operators import require_known_elsewhere
from sclcs.spi.warmup import warm_up

__all__ = ["FillReport", "compute_store", "fill_store", "hand_over", "is_done", "prepare_shares"]


@dataclass(frozen=True)
class FillReport:
    """What was done to fill a store.

    Parameters
    ----------
    store : FCStore
        With everything that was asked for, unless a share of the work was done.
    operators : list of str
        What was asked for.
    pieces, matrices : int
        How much had to be computed; the rest was there already.
    seconds : float
        From start to end.
    kernel_seconds : float
        Sum over all processes of the CPU time inside operators.
    reseeded : list of str
        Operators that were there with another seed.
    """

    store: FCStore
    operators: list[str]
    pieces: int
    matrices: int
    seconds: float
    kernel_seconds: float
    reseeded: list[str]


@checked
def compute_store(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str],
    spis: str | Sequence[str] = "paper-fast",
    *,
    coreset: Coreset | None = None,
    on: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    seed: int = 0,
    force: bool = False,
    share: Share | None = None,
    block_size: int | None = None,
) -> FCStore:
    """Compute operators on a cohort into an FC store, or finish what was begun before.

    What is in the store already is kept, after its checksums are verified; everything else is
    computed. The store's content does not depend on the number of processes, the executor or
    how often the work was interrupted.

    Parameters
    ----------
    cohort : Cohort or path
        The samples.
    out : path-like
        The store: a new folder, or a store of the same cohort and core-set.
    spis : str or sequence of str
        Operators, see :func:`sclcs.spi.resolve`. They are added to those in the store.
    coreset : sequence of str or CoreSet, optional
        Compute on these samples only. The store keeps them in the order of the cohort.
    on : str, optional
        Who does the work: ``"local:4"`` (processes of this machine, -1 for one per processor),
        ``"dask:tcp://10.0.0.1:8786"`` (a Dask scheduler, whose workers must see the cohort and
        the store under the same paths). One process by default.
    jobs : int, optional
        ``jobs=4`` is short for ``on="local:4"``.
    scheduler : str, optional
        ``scheduler=ADDRESS`` is short for ``on="dask:ADDRESS"``.
    seed : int
        Seed of the operators that draw random numbers. Those that are in the store with
        another seed are computed again; no seed changes the others.
    force : bool
        Compute the operators again even if they are there.
    share : Share, optional
        Do only one of several equal parts of the work; other processes do the others.
    block_size : int, optional
        Samples per piece and chunk of a new store; by default chosen from the number of regions.

    Returns
    -------
    FCStore

    Raises
    ------
    InputError
        If the store belongs to another cohort, core-set or version of the operators.
    StoreInUseError
        If another process is computing into the store.

    Examples
    --------
    ``compute_store("cohort.zarr", "fc", "paper-fast", on="local:4")``
    """
    who = choose_executor(on, jobs=jobs, scheduler=scheduler)
    who.reach()
    computation = open_computation(
        cohort, out, spis, coreset=coreset, seed=seed, force=force, block_size=block_size
    )
    return fill_store(computation, who, share=share).store


def fill_store(
    computation: Computation,
    who: ExecutorChoice | None = None,
    *,
    share: Share | None = None,
    known: Sequence[FCStore | KnownRows] = (),
) -> FillReport:
    """Compute what a store still lacks.

    Parameters
    ----------
    computation : Computation
    who : ExecutorChoice, optional
        Who does the work; this process by default.
    share : Share, optional
        Which part of it.
    known : sequence of FCStore or KnownRows
        Other stores of the cohort, or rows that the caller knows to be of the same samples;
        matrices that one of them holds are copied.

    Returns
    -------
    FillReport
    """
    started = time.perf_counter()
    if computation.force and share is not None:
        raise InputError("A share cannot use --force: it would undo the work of the other shares.")
    executor = _executor(computation, who or choose_executor())
    store = computation.store
    lock = StoreLock(store.path, share, computation.identity)
    with lock.preparing():
        reseeded = outdated_operators(store.layout.stamps(), computation.stamps)
        _make_room(computation)
    try:
        reports = _compute_missing(
            computation, _pieces(computation, share), executor, _known(computation, known)
        )
        settle(store.layout.files([report.piece for report in reports]))
        if share is None:
            remove_leftovers(store.layout)
    finally:
        lock.release()
    return FillReport(
        store,
        computation.operators,
        pieces=len(reports),
        matrices=sum(report.matrices for report in reports),
        seconds=time.perf_counter() - started,
        kernel_seconds=sum(report.kernel_seconds for report in reports),
        reseeded=reseeded,
    )


def is_done(computation: Computation) -> bool:
    """Return whether the store holds everything, so that nobody needs to write to it.

    Chunks are not read here; whoever reads them later verifies their checksums.
    """
    known, wanted = computation.store.layout.stamps(), computation.stamps
    current = wanted.keys() <= known.keys() and not outdated_operators(known, wanted)
    return (
        current and not computation.force and not computation.store.missing(computation.operators)
    )


def prepare_shares(computation: Computation) -> None:
    """Get a store ready for processes that share the work: room made, kernels compiled."""
    lock = StoreLock(computation.store.path, None, computation.identity)
    with lock.preparing():
        _make_room(computation)
        warm_up(computation.operators, computation.cohort.n_timepoints)
    lock.release()


def hand_over(computation: Computation, who: ExecutorChoice, command: Sequence[str]) -> Handover:
    """Write down the work for somebody else to start.

    Parameters
    ----------
    computation : Computation
    who : ExecutorChoice
        Of a kind that hands over.
    command : sequence of str
        Arguments of ``sclcs`` that do one share of the work, with absolute paths.

    Returns
    -------
    Handover
    """
    if who.kind.hand_over is None:
        raise InputError(f"Work on {who} is done at once; there is nothing to hand over.")
    require_known_elsewhere(computation.operators, str(who))
    prepare_shares(computation)
    path = computation.store.path
    folder = path.with_name(f"{path.name}-{who.kind.name}")
    return who.kind.hand_over(who.argument, _work(computation), command, folder)


def _make_room(computation: Computation) -> None:
    if computation.force:
        forget_operators(computation.store, computation.operators)
    add_operators(computation.store, computation.operators, computation.seed)


def _work(computation: Computation) -> Work:
    layout = computation.store.layout
    pieces = layout.pieces(computation.operators)
    return Work(pieces, layout, computation.cohort.n_timepoints)


def _pieces(computation: Computation, share: Share | None) -> list[Piece]:
    """Return the pieces to do, done or not.

    Shares are cut from the list of all pieces and not of the missing ones: processes that
    start at different moments still agree on who does what.
    """
    work = _work(computation)
    return list(work.pieces) if share is None else work.deal(share.count)[share.number - 1]


def _known(computation: Computation, others: Sequence[FCStore | KnownRows]) -> list[KnownRows]:
    store = computation.store
    if computation.force:
        return []
    found = [
        other
        if isinstance(other, KnownRows)
        else known_rows(other, store.sample_ids, store.fingerprint)
        for other in others
    ]
    useful = [rows for rows in found if rows is not None]
    return sorted(useful, key=lambda known: -int((known.rows >= 0).sum()))  # the largest first


def _executor(computation: Computation, who: ExecutorChoice) -> Executor:
    if who.kind.elsewhere or who.processes > 1:
        require_known_elsewhere(computation.operators, str(who))
    if who.kind.elsewhere and not isinstance(computation.cohort.signals, LazySignals):
        raise InputError(
            f"Workers of {who.kind.name} read the cohort from disk, but this one is in memory "
            "only; save it where they can see it and pass its path."
        )
    return who.start()


def _compute_missing(
    computation: Computation, pieces: list[Piece], executor: Executor, known: list[KnownRows]
) -> list[PieceReport]:
    layout = computation.store.layout
    missing = layout.missing(pieces)
    if len(missing) < len(pieces):  # what is there must be what was written
        missing = layout.missing(track(pieces, "Checking what is computed already"), check=True)
    if not missing:
        return []
    reports = []
    with executor:
        operators = {name for piece in missing for name in piece.operators}
        with progress("Loading operators", 1) as ticker:
            executor.prepare(partial(warm_up, sorted(operators), computation.cohort.n_timepoints))
            ticker.advance()
        with progress("Computing matrices", _count_matrices(computation, missing)) as ticker:
            for report in executor.run(do_piece, _orders(computation, missing, known)):
                reports.append(report)
                ticker.advance(_count_matrices(computation, [report.piece]))
    _expect_complete(computation, pieces)
    return reports


def _count_matrices(computation: Computation, pieces: list[Piece]) -> int:
    rows = [computation.store.layout.block_rows(piece.block) for piece in pieces]
    return sum(len(p.operators) * (r.stop - r.start) for p, r in zip(pieces, rows, strict=True))


def _orders(
    computation: Computation, pieces: list[Piece], known: list[KnownRows]
) -> Iterator[PieceOrder]:
    unique = uuid.uuid4().hex
    layout = computation.store.layout
    for piece in pieces:
        rows = layout.block_rows(piece.block)
        yield PieceOrder(
            unique,
            layout,
            piece,
            _block(computation.cohort.signals, rows),
            computation.seed,
            DEFAULT_MEMORY,
            tuple(other.of_block(rows) for other in known),
            computation.cohort.lengths[rows],
        )


def _block(signals: SignalArray, rows: slice) -> SignalArray:
    if isinstance(signals, LazySignals):
        return signals.take(np.arange(rows.start, rows.stop))
    return signals[rows]


def _expect_complete(computation: Computation, pieces: list[Piece]) -> None:
    left = computation.store.layout.missing(pieces)
    if left:
        raise StoreInUseError(
            f"{len(left)} of {len(pieces)} pieces are not in {computation.store.path} although "
            "they were computed: another process changed the store. Run the same command again."
        )
