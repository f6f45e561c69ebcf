"""Fill an FC store: what is missing is a flat list of pieces, which an executor does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sclcs._core import InputError, StoreInUseError, checked, progress, settle, takes, track
from sclcs.cohort import Cohort, LazySignals
from sclcs.settings import ComputeSettings
from sclcs.spi import require_known_elsewhere, warm_ups
from sclcs.store.computation import Computation, Coreset, open_computation
from sclcs.store.executors import Executor, ExecutorChoice, find_executor
from sclcs.store.fc_store import FCStore
from sclcs.store.layout import Piece, hold_store
from sclcs.store.work import KnownRows, PieceReport, do_piece, known_rows, make_orders
from sclcs.store.writer import (
    add_operators,
    forget_operators,
    note_complete,
    outdated_operators,
    remove_leftovers,
)

__all__ = [
    "FillReport",
    "compute_store",
    "fill_store",
    "is_done",
    "missing_work",
]

SECONDS_FOR_A_START = 60  # processes that share work start together and make room one by one


@dataclass(frozen=True)
class FillReport:
    """What was done to fill a store.

    Parameters
    ----------
    store : FCStore
        With everything that was asked for, unless only some pieces were to be done.
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
@takes(ComputeSettings)
def compute_store(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str],
    spis: str | Sequence[str] = "paper-fast",
    *,
    coreset: Coreset | None = None,
    **options: Any,  # noqa: ANN401 - fields of ComputeSettings
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
    coreset : sequence of str or CoreSet, optional
        Compute on these samples only. The store keeps them in the order of the cohort.
    {options}

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
    asked = ComputeSettings(**options)
    who = find_executor(asked.on)
    who.reach()
    computation = open_computation(
        cohort,
        out,
        spis,
        coreset=coreset,
        seed=asked.seed,
        force=asked.force,
        block_size=asked.block_size,
    )
    return fill_store(computation, who).store


def fill_store(
    computation: Computation,
    who: ExecutorChoice | None = None,
    *,
    known: Sequence[FCStore | KnownRows] = (),
    only: Sequence[Piece] | None = None,
    report: Callable[[PieceReport], object] | None = None,
) -> FillReport:
    """Compute what a store still lacks.

    Parameters
    ----------
    computation : Computation
    who : ExecutorChoice, optional
        Who does the work; this process by default.
    known : sequence of FCStore or KnownRows
        Other stores of the cohort, or rows that the caller knows to be of the same samples;
        matrices that one of them holds are copied.
    only : sequence of Piece, optional
        What to do, done or not, while other processes may do the rest. The store is not locked
        then: a piece that two of them do is the same piece.
    report : callable, optional
        Is given the report of every piece that is done.

    Returns
    -------
    FillReport
    """
    started = time.perf_counter()
    if computation.force and only is not None:
        raise InputError("Some pieces alone cannot use --force: it would undo those of others.")
    executor, store = _executor(computation, who or find_executor()), computation.store
    reseeded = outdated_operators(store.stamps, computation.stamps)
    fill = _Fill(computation, executor, _known(computation, known), report or (lambda _: None))
    if only is not None:
        if not _has_room(computation):
            with hold_store(store.path, SECONDS_FOR_A_START):
                _make_room(computation)
        reports = fill.do(only)
    else:
        with hold_store(store.path):
            _make_room(computation)
            reports = fill.do(store.layout.pieces(computation.operators))
            note_complete(store, computation.operators)
            remove_leftovers(store.layout)
    return FillReport(
        store,
        computation.operators,
        pieces=len(reports),
        matrices=sum(report.matrices for report in reports),
        seconds=time.perf_counter() - started,
        kernel_seconds=sum(report.kernel_seconds for report in reports),
        reseeded=reseeded,
    )


def missing_work(computation: Computation) -> list[Piece]:
    """Make room in a store and return the pieces that it lacks.

    Any processes may do them afterwards with :func:`fill_store`, each ``only`` its own; nothing
    has to be prepared any more. :func:`fill_store` without ``only`` ends the work.
    """
    with hold_store(computation.store.path):
        _make_room(computation)
    return computation.store.missing(computation.operators)


def is_done(computation: Computation) -> bool:
    """Return whether the store holds everything, so that nobody needs to write to it.

    Chunks are not read here; whoever reads them later verifies their checksums.
    """
    store = computation.store
    done = _has_room(computation) and not computation.force
    return done and not store.missing(computation.operators)


def _has_room(computation: Computation) -> bool:
    known, wanted = computation.store.stamps, computation.stamps
    there = wanted.keys() <= known.keys() and not outdated_operators(known, wanted)
    return there and not wanted.keys() & set(computation.store.not_kept)


def _make_room(computation: Computation) -> None:
    if computation.force:
        forget_operators(computation.store, computation.operators)
    add_operators(computation.store, computation.operators, computation.seed)


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
    return who.start(computation.store.path)


@dataclass(frozen=True)
class _Fill:
    """A computation, who does it, what other stores know and who is told."""

    computation: Computation
    executor: Executor
    known: list[KnownRows]
    tell: Callable[[PieceReport], object]

    def do(self, pieces: Sequence[Piece]) -> list[PieceReport]:
        """Do what is missing of some pieces."""
        store, cohort = self.computation.store, self.computation.cohort
        missing = self._missing(pieces)
        if not missing:
            return []
        reports = []
        with self.executor:
            operators = {name for piece in missing for name in piece.operators}
            with progress("Loading operators", 1) as ticker:
                self.executor.prepare(warm_ups(sorted(operators), cohort.n_timepoints))
                ticker.advance()
            orders = make_orders(store.layout, missing, cohort, self.computation.seed, self.known)
            with progress("Computing matrices", sum(map(self._size, missing))) as ticker:
                for report in self.executor.run(do_piece, orders):
                    reports.append(report)
                    self.tell(report)
                    ticker.advance(report.planned)
        left = store.missing_of(missing)
        if left:
            raise StoreInUseError(
                f"{len(left)} of {len(missing)} pieces are not in {store.path} although they were "
                "computed: another process changed the store. Run the same command again."
            )
        layout = store.layout
        settle(layout.piece_file(piece.family, piece.block) for piece in missing)
        return reports

    def _size(self, piece: Piece) -> int:
        rows = self.computation.store.layout.block_rows(piece.family, piece.block)
        return len(piece.operators) * int(rows.stop - rows.start)

    def _missing(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return what the store lacks; what is there must be what was written."""
        store = self.computation.store
        missing = store.missing_of(pieces)
        if len(missing) < len(pieces):
            return store.missing_of(track(pieces, "Checking what is computed already"), check=True)
        return missing
