"""Fill an FC store: computation, flat list of pieces, executor, store."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.signals import LazySignals
from sclcs.compute.checkpoints import Checkpoints, forget_checkpoints
from sclcs.compute.computation import Computation, Coreset, open_computation
from sclcs.compute.cutting import LONGEST, Part, Scissors
from sclcs.compute.executors import Executor, ExecutorChoice, Handover, choose_executor
from sclcs.compute.known_rows import KnownRows, known_rows
from sclcs.compute.orders import make_orders
from sclcs.compute.pieces import PieceReport, do_piece
from sclcs.compute.shares import Work
from sclcs.compute.store_lock import Share, StoreLock
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, StoreInUseError
from sclcs.core.files import settle
from sclcs.core.progress import progress, track
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import (
    add_operators,
    forget_operators,
    outdated_operators,
    pack_pieces,
    remove_leftovers,
)
from sclcs.spi.own_operators import require_known_elsewhere
from sclcs.spi.packing.ledger import Ledger
from sclcs.spi.warmup import warm_up, warm_ups

__all__ = [
    "FillReport",
    "compute_store",
    "fill_store",
    "hand_over",
    "is_done",
    "missing_parts",
    "missing_work",
    "prepare_shares",
]


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
    only: Sequence[Part] | None = None,
    longest: float = LONGEST,
    fair: float = math.inf,
    report: Callable[[PieceReport], object] | None = None,
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
    only : sequence of Part, optional
        What the share has to do, if somebody has dealt it already.
    longest : float
        Predicted CPU seconds above which a piece is done in parts, which survive a kill.
    fair : float
        The same, as far as it can be cut by samples.
    report : callable, optional
        Is told of every piece, or part of one, that is done.

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
        reseeded = outdated_operators(store.layout.index().stamps, computation.stamps)
        _make_room(computation)
    try:
        work = _work(computation).cut(longest, fair)
        if share is not None and only is None:
            work = work.even(share.count)
        parts = _parts(work, share) if only is None else list(only)
        job = _Job(computation, work, executor, _known(computation, known))
        reports = job.do(parts, report or _tell_nobody, complete=share is None)
        done = job.finished(reports)
        pack_pieces(store.layout, None if share is None else done)
        settle(Ledger(store.layout).files(done))
        if share is None:
            remove_leftovers(store.layout)
            forget_checkpoints(store.layout)
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


def _tell_nobody(_report: PieceReport) -> None:
    pass


def missing_work(computation: Computation) -> Work:
    """Make room in a store and return the pieces that it lacks.

    Others may share that work afterwards: nothing has to be prepared any more.
    """
    lock = StoreLock(computation.store.path, None, computation.identity)
    with lock.preparing():
        _make_room(computation)
    lock.release()
    work = _work(computation)
    return replace(work, pieces=Ledger(computation.store.layout).missing(work.pieces))


def missing_parts(computation: Computation, work: Work) -> list[Part]:
    """Return what is neither in the store nor kept for it, of pieces that the store lacks."""
    layout, rest = computation.store.layout, []
    for piece in work.pieces:
        parts = work.scissors.cut(piece)
        if len(parts) > 1:
            kept = Checkpoints(layout, piece, computation.seed)
            # If all are kept the piece has to be put together: the last one again, at no cost.
            parts = kept.missing(parts) or parts[-1:]
        rest += parts
    return rest


def is_done(computation: Computation) -> bool:
    """Return whether the store holds everything, so that nobody needs to write to it.

    Chunks are not read here; whoever reads them later verifies their checksums.
    """
    known, wanted = computation.store.layout.index().stamps, computation.stamps
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


def _refuse_older_format(computation: Computation) -> None:
    store = computation.store
    if not store.layout.blocks_per_shard:
        raise InputError(
            f"{store.path} is a store of an older format (a file per operator and block): it can "
            f"be read and ranked, but nothing is added to it. `sclcs fc repack {store.path} --out "
            "NEW` makes a store of today's format with the same matrices; compute into that one."
        )


def _make_room(computation: Computation) -> None:
    if not is_done(computation):
        _refuse_older_format(computation)
    if computation.force:
        forget_operators(computation.store, computation.operators)
    add_operators(computation.store, computation.operators, computation.seed)


def _work(computation: Computation) -> Work:
    layout = computation.store.layout
    pieces = layout.pieces(computation.operators)
    return Work(pieces, Scissors(layout, computation.cohort.n_timepoints))


def _parts(work: Work, share: Share | None) -> list[Part]:
    """Return what there is to do, done or not.

    Shares are cut from the list of everything and not of what is missing: processes that start
    at different moments still agree on who does what.
    """
    return list(work.parts) if share is None else work.deal(share.count)[share.number - 1]


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


@dataclass(frozen=True)
class _Job:
    """A computation, how it is cut, who does it, and what other stores know."""

    computation: Computation
    work: Work
    executor: Executor
    known: list[KnownRows]

    @property
    def layout(self) -> StoreLayout:
        return self.computation.store.layout

    def do(
        self, parts: list[Part], tell: Callable[[PieceReport], object], *, complete: bool
    ) -> list[PieceReport]:
        """Do what is missing of some parts; all of it must be there then, if it was everything."""
        pieces = list(dict.fromkeys(part.piece for part in parts))
        missing = self._missing(pieces)
        todo = [part for part in parts if (part.piece.family, part.piece.block) in missing]
        if not todo:
            return []
        _refuse_older_format(self.computation)
        reports = []
        cohort = self.computation.cohort
        with self.executor:
            operators = {name for piece in missing.values() for name in piece.operators}
            with progress("Loading operators", 1) as ticker:
                self.executor.prepare(warm_ups(sorted(operators), cohort.n_timepoints))
                ticker.advance()
            orders = make_orders(self.computation, self.work.scissors, self.known, todo, missing)
            with progress("Computing matrices", sum(part.matrices for part in todo)) as ticker:
                for report in self.executor.run(do_piece, orders):
                    reports.append(report)
                    tell(report)
                    ticker.advance(report.planned)
        whole = (
            pieces
            if complete
            else [part.piece for part in parts if self.work.scissors.is_whole(part)]
        )
        _expect_complete(self.computation, whole)
        return reports

    def finished(self, reports: Sequence[PieceReport]) -> list[Piece]:
        """Return the pieces that are done now; of some that are cut, others do the rest."""
        pieces = list(dict.fromkeys(report.piece for report in reports))
        lacking = {(piece.family, piece.block) for piece in Ledger(self.layout).missing(pieces)}
        return [piece for piece in pieces if (piece.family, piece.block) not in lacking]

    def _missing(self, pieces: list[Piece]) -> dict[tuple[str, int], Piece]:
        """Return what the store lacks, by family and block."""
        missing = Ledger(self.layout).missing(pieces)
        if len(missing) < len(pieces):  # what is there must be what was written
            checked = track(pieces, "Checking what is computed already")
            missing = Ledger(self.layout).missing(checked, check=True)
        return {(piece.family, piece.block): piece for piece in missing}


def _expect_complete(computation: Computation, pieces: list[Piece]) -> None:
    left = Ledger(computation.store.layout).missing(pieces)
    if left:
        raise StoreInUseError(
            f"{len(left)} of {len(pieces)} pieces are not in {computation.store.path} although "
            "they were computed: another process changed the store. Run the same command again."
        )
