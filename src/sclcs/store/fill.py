"""Fill an FC store: what is missing is a flat list of pieces, which an executor does."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from sclcs._core import (
    InputError,
    OutputExistsError,
    StoreInUseError,
    checked,
    name_first,
    progress,
    settle,
    takes,
    track,
)
from sclcs.cohort import Cohort, CoreSet, LazySignals
from sclcs.settings import ComputeSettings
from sclcs.spi import (
    Stamp,
    operator_cost,
    operator_stamps,
    require_known_elsewhere,
    resolve,
    seconds_per_sample,
    warm_ups,
)
from sclcs.store.executors import Executor, ExecutorChoice, find_executor
from sclcs.store.fc_store import FCStore
from sclcs.store.layout import Piece, StoreLayout, hold_store
from sclcs.store.work import KnownRows, PieceReport, do_piece, make_orders, rows_in
from sclcs.store.writer import (
    add_operators,
    create_store,
    forget_operators,
    note_complete,
    open_or_repair,
    outdated_operators,
    remove_leftovers,
)

SECONDS_FOR_A_START = 60  # processes that share work start together and make room one by one
MOST_SHARES = 100_000  # more than any batch system takes in one array


@dataclass(frozen=True)
class Computation:
    """Samples, operators and the store, checked against each other."""

    cohort: Cohort  # the samples to compute, in the order of the store
    operators: list[str]  # catalogue identifiers
    store: FCStore  # open; it may hold other operators, or these in part
    seed: int  # seed of the operators that draw random numbers
    force: bool  # whether the operators are computed again even if they are there

    @property
    def stamps(self) -> dict[str, Stamp]:
        """What decides the numbers of the operators."""
        return operator_stamps(self.operators, self.seed)

    def has_room(self) -> bool:
        """Say whether the store lists the operators, with today's stamps, to be kept."""
        known, wanted = self.store.stamps, self.stamps
        there = wanted.keys() <= known.keys() and not outdated_operators(known, wanted)
        return there and not wanted.keys() & set(self.store.not_kept)

    def make_room(self) -> None:
        """List the operators in the store; those that are computed again lose what there is."""
        if self.force:
            forget_operators(self.store, self.operators)
        add_operators(self.store, self.operators, self.seed)


@lru_cache(maxsize=4096)  # a large cohort has a million pieces of a few families
def _seconds_of_sample(operators: tuple[str, ...], regions: int, timepoints: int) -> float:
    return seconds_per_sample(operator_cost(name, regions, timepoints) for name in operators)


def piece_seconds(layout: StoreLayout, piece: Piece, n_timepoints: int) -> float:
    """Predict the CPU seconds of a piece, on the machine of the benchmark."""
    samples = layout.n_matrices(piece) / len(piece.operators)
    return samples * _seconds_of_sample(piece.operators, layout.n_regions, n_timepoints)


def share_of(computation: Computation, number: int, count: int) -> list[Piece]:
    """Return share `number` of `count` of all pieces, done or not; all cost about the same."""
    layout, times = computation.store.layout, computation.cohort.n_timepoints
    pieces = layout.pieces(computation.operators)
    costs = [piece_seconds(layout, piece, times) for piece in pieces]
    return [pieces[index] for index in deal(costs, count)[number - 1]]


def deal(costs: Sequence[float], count: int) -> list[list[int]]:
    """Deal indices into shares: the most expensive first, each to the share with least to do."""
    loads = [(0.0, share) for share in range(count)]  # a heap
    dealt: list[list[int]] = [[] for _ in range(count)]
    for index in sorted(range(len(costs)), key=lambda index: (-costs[index], index)):
        load, share = heappop(loads)
        dealt[share].append(index)
        heappush(loads, (load + costs[index], share))
    return [sorted(share) for share in dealt]


def parse_share(text: str) -> tuple[int, int]:
    """Read a share as written on the command line, for example ``3/8``."""
    number, slash, count = text.partition("/")
    if not (slash and number.strip().isdecimal() and count.strip().isdecimal()):
        raise InputError(f"Expected a share of the tasks as i/n, for example 3/8, got {text!r}.")
    if not 1 <= int(number) <= int(count) <= MOST_SHARES:
        raise InputError(
            f"Expected a share from 1/n to n/n with n at most {MOST_SHARES}, got {text!r}."
        )
    return int(number), int(count)


def open_computation(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str] | FCStore,
    spis: str | Sequence[str] = "paper-fast",
    *,
    coreset: Sequence[str] | CoreSet | None = None,
    seed: int = 0,
    force: bool = False,
    block_size: int | None = None,
) -> Computation:
    """Open or make the store; the parameters are those of :func:`sclcs.store.compute_store`.

    A store that is open already serves as well.
    """
    operators = resolve(spis)
    whole = cohort if isinstance(cohort, Cohort) else Cohort.open(cohort)
    chosen = _choose(whole, coreset)
    store = out if isinstance(out, FCStore) else _open(Path(out), chosen, whole, block_size)
    _refuse_to_mix(store, whole, chosen)
    return Computation(chosen, operators, store, seed, force)


def _open(path: Path, chosen: Cohort, whole: Cohort, block_size: int | None) -> FCStore:
    if not path.exists():
        # Another process of the same work may be quicker; the caller checks what it made.
        with suppress(OutputExistsError):
            return create_store(path, chosen, whole.fingerprint, block_size=block_size)
    return open_or_repair(path, chosen, whole)


def _choose(cohort: Cohort, coreset: Sequence[str] | CoreSet | None) -> Cohort:
    if len(cohort) == 0:
        raise InputError("The cohort has no samples: there is nothing to compute.")
    if coreset is None:
        return cohort
    if isinstance(coreset, CoreSet):
        coreset.require_cohort(cohort.fingerprint, cohort.provenance)
    ids = list(coreset.sample_ids if isinstance(coreset, CoreSet) else coreset)
    kept = set(ids)
    if len(kept) < len(ids):
        twice = sorted(name for name in kept if ids.count(name) > 1)
        raise InputError(f"The core-set names samples twice: {name_first(twice)}.")
    if not ids:
        raise InputError("The core-set is empty: there is nothing to compute.")
    cohort.take(ids)  # names the samples that are not in the cohort
    return cohort.take([name for name in cohort.sample_ids if name in kept])


def _refuse_to_mix(store: FCStore, whole: Cohort, chosen: Cohort) -> None:
    """Refuse a store that belongs to another cohort or core-set."""
    if store.fingerprint != whole.fingerprint:
        problem = (
            f"another cohort: fingerprint {store.fingerprint[:8]}, this one has "
            f"{whole.fingerprint[:8]}"
        )
    elif store.sample_ids != chosen.sample_ids:
        only_here = [name for name in chosen.sample_ids if name not in set(store.sample_ids)]
        problem = f"another core-set: {len(store)} samples, this one has {len(chosen)}" + (
            f", among them {name_first(only_here)}" if only_here else ""
        )
    else:
        return
    raise InputError(f"The FC store {store.path} was made from {problem}; choose another folder.")


@checked
@takes(ComputeSettings)
def compute_store(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str],
    spis: str | Sequence[str] = "paper-fast",
    *,
    coreset: Sequence[str] | CoreSet | None = None,
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


@dataclass(frozen=True)
class FillReport:
    """What was done to fill a store."""

    store: FCStore  # with everything that was asked for, unless only some pieces were to be done
    operators: list[str]  # what was asked for
    pieces: int  # how many had to be done; the rest was there already
    matrices: int  # how many had to be computed
    seconds: float  # from start to end
    kernel_seconds: float  # sum over all processes of the CPU time inside operators
    reseeded: list[str]  # operators that were there with another seed


def fill_store(
    computation: Computation,
    who: ExecutorChoice | None = None,
    *,
    known: Sequence[FCStore | KnownRows] = (),
    only: Sequence[Piece] | None = None,
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
    """
    started = time.perf_counter()
    if computation.force and only is not None:
        raise InputError("A share cannot use --force: it would undo the work of the other shares.")
    executor, store = _executor(computation, who or find_executor()), computation.store
    reseeded = outdated_operators(store.stamps, computation.stamps)
    others = _known(computation, known)
    if only is not None:
        if not computation.has_room():
            with hold_store(store.path, SECONDS_FOR_A_START):
                computation.make_room()
        reports = _fill(computation, executor, others, only)
    else:
        with hold_store(store.path):
            computation.make_room()
            pieces = store.layout.pieces(computation.operators)
            reports = _fill(computation, executor, others, pieces)
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


def is_done(computation: Computation) -> bool:
    """Return whether the store holds everything, so that nobody needs to write to it.

    Chunks are not read here; whoever reads them later verifies their checksums.
    """
    done = computation.has_room() and not computation.force
    return done and not computation.store.missing(computation.operators)


def _known(computation: Computation, others: Sequence[FCStore | KnownRows]) -> list[KnownRows]:
    """Return where other stores hold samples of the computation, the largest first."""
    store, found = computation.store, []
    for other in others if not computation.force else ():
        if isinstance(other, KnownRows):
            found.append(other)
        elif other.fingerprint == store.fingerprint:
            rows = rows_in(other, store.sample_ids)
            found += [rows] if rows else []
    return sorted(found, key=lambda known: -int((known.rows >= 0).sum()))


def _executor(computation: Computation, who: ExecutorChoice) -> Executor:
    if who.kind.elsewhere or who.processes > 1:
        require_known_elsewhere(computation.operators, str(who))
    if who.kind.elsewhere and not isinstance(computation.cohort.signals, LazySignals):
        raise InputError(
            f"Workers of {who.kind.name} read the cohort from disk, but this one is in memory "
            "only; save it where they can see it and pass its path."
        )
    return who.start(computation.store.path)


def _fill(
    computation: Computation,
    executor: Executor,
    known: Sequence[KnownRows],
    pieces: Sequence[Piece],
) -> list[PieceReport]:
    """Do what is missing of some pieces."""
    store, cohort = computation.store, computation.cohort
    layout, missing, reports = store.layout, _missing(store, pieces), list[PieceReport]()
    if not missing:
        return []
    with executor:
        operators = sorted({name for piece in missing for name in piece.operators})
        with progress("Loading operators", 1) as ticker:
            executor.prepare(warm_ups(operators, cohort.n_timepoints))
            ticker.advance()
        orders = make_orders(layout, missing, cohort, computation.seed, known)
        with progress("Computing matrices", sum(map(layout.n_matrices, missing))) as ticker:
            for report in executor.run(do_piece, orders):
                reports.append(report)
                ticker.advance(layout.n_matrices(report.piece))
    left = store.missing_of(missing)
    if left:
        raise StoreInUseError(
            f"{len(left)} of {len(missing)} pieces are not in {store.path} although they were "
            "computed: another process changed the store. Run the same command again."
        )
    settle(layout.piece_file(piece.family, piece.block) for piece in missing)
    return reports


def _missing(store: FCStore, pieces: Sequence[Piece]) -> list[Piece]:
    """Return what the store lacks; what is there must be what was written."""
    missing = store.missing_of(pieces)
    if len(missing) < len(pieces):
        return store.missing_of(track(pieces, "Checking what is computed already"), check=True)
    return missing
