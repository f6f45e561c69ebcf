"""One piece of a computation: read a block of samples, compute a family, write the result.

A piece knows everything it needs and shares nothing with others, so any executor can do it
anywhere, twice if it must: the same bytes come out. A piece that would take too long is done in
parts, which are kept (:mod:`sclcs.compute.checkpoints`) until the last one puts it together.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.lengths import by_length
from sclcs.cohort.signals import SignalArray
from sclcs.compute.checkpoints import Checkpoints, PartOutcome
from sclcs.compute.cutting import Part
from sclcs.compute.known_rows import KnownRows, read_known
from sclcs.compute.region_parts import part_regions
from sclcs.numerics.arrays import Array
from sclcs.spi.engine import compute_block
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_writer import write_piece
from sclcs.spi.packing.ledger import Ledger
from sclcs.spi.signals import check_signals, sample_seeds, standardise
from sclcs.spi.status import OperatorOutcome, Status, judge_matrices

__all__ = ["PieceOrder", "PieceReport", "do_piece"]

Seeds = NDArray[np.uint64]


@dataclass(frozen=True)
class PieceOrder:
    """A piece of work with all that a worker needs to do it.

    Parameters
    ----------
    computation : str
        Unique to the computation; a worker keeps the signals of its last blocks by it.
    layout : StoreLayout
        Where to write.
    piece : Piece
        What to compute.
    signals : ndarray or LazySignals, shape (sample, region, time)
        The block's samples; a lazy view is read by the worker.
    seed : int
        The user's seed.
    memory_bytes : int
        Budget for intermediates.
    known : tuple of KnownRows
        Other stores that may hold some of the block's matrices.
    lengths : ndarray of int, optional
        Time points of each sample, where they may differ.
    part : Part, optional
        Which part of the piece; all of it by default.
    siblings : tuple of Part
        All parts of the piece, if it is cut.
    """

    computation: str
    layout: StoreLayout
    piece: Piece
    signals: SignalArray
    seed: int
    memory_bytes: int
    known: tuple[KnownRows, ...] = ()
    lengths: NDArray[np.int64] | None = None
    part: Part | None = None
    siblings: tuple[Part, ...] = ()


@dataclass(frozen=True)
class PieceReport:
    """What a finished piece took.

    Parameters
    ----------
    piece : Piece
        Which.
    matrices : int
        Number of matrices computed: operators times samples.
    seconds : float
        From start to end, reading and writing included.
    kernel_seconds : float
        CPU time inside the operators.
    planned : int
        Number of matrices that it was to bring, computed or copied.
    """

    piece: Piece
    matrices: int
    seconds: float
    kernel_seconds: float
    planned: int = 0


def do_piece(order: PieceOrder) -> PieceReport:
    """Do a piece of work, or a part of one; see the module's docstring."""
    started = time.perf_counter()
    if len(order.siblings) > 1:
        n_computed, seconds = _do_part(order)
    else:
        n_computed, seconds = _write(order, partial(_compute, order))
    planned = 0 if order.part is None else order.part.matrices
    return PieceReport(order.piece, n_computed, time.perf_counter() - started, seconds, planned)


#: From operators and the samples to compute to what became of them.
Compute = Callable[[list[str], "Flags"], dict[str, OperatorOutcome]]


def _write(order: PieceOrder, compute: Compute) -> tuple[int, float]:
    """Write a piece; return the number of matrices that were computed, and the seconds it took."""
    rows = order.layout.block_rows(order.piece.block)
    size = rows.stop - rows.start
    copied = _copies(order)
    outcomes: dict[str, OperatorOutcome] = {}
    n_computed, seconds = 0, 0.0
    for there, names in _alike(order.piece.operators, copied, size):
        found = compute(names, ~there)
        seconds += sum(outcome.seconds for outcome in found.values())
        n_computed += len(names) * int((~there).sum())
        for name in names:
            outcomes[name] = _joined(
                there, copied[name][1] if name in copied else None, found[name]
            )
    spent = {name: outcome.seconds for name, (_, outcome) in copied.items()}
    write_piece(order.layout, order.piece, outcomes, order.seed, spent)
    return n_computed, seconds


def _do_part(order: PieceOrder) -> tuple[int, float]:
    """Compute a part, unless it is there; put the piece together if it was the last one."""
    part, kept = order.part, Checkpoints(order.layout, order.piece, order.seed)
    if part is None:
        raise RuntimeError("a piece that is cut is done part by part")
    n_computed, seconds = 0, 0.0
    if kept.read(part) is None:
        found = _compute_part(order, part)
        kept.write(part, found)
        seconds = sum(outcome.seconds for outcome in found.values())
        counts = part.regions is None or part.regions[0] == 0  # else they are counted already
        n_computed = sum(len(outcome.rows) for outcome in found.values()) if counts else 0
    if not kept.missing(order.siblings):
        with kept.alone():
            if Ledger(order.layout).missing([order.piece]):
                _put_together(order, kept)
            kept.remove()
    return n_computed, seconds


def _compute_part(order: PieceOrder, part: Part) -> dict[str, PartOutcome]:
    """Compute the samples of a part that no other store holds."""
    rows = order.layout.block_rows(order.piece.block)
    inside = np.zeros(rows.stop - rows.start, dtype=np.bool_)
    inside[slice(*part.rows)] = True
    regions = _regions(order, part)
    found: dict[str, PartOutcome] = {}
    for there, names in _alike(part.operators, _copies(order), len(inside)):
        wanted = inside & ~there
        places = np.flatnonzero(wanted)
        for name, outcome in _compute(order, names, wanted, regions).items():
            errors = _errors(outcome, places, _constant(order, places, regions))
            found[name] = PartOutcome(places, outcome.matrices, errors, outcome.seconds)
    return found


def _regions(order: PieceOrder, part: Part) -> NDArray[np.int64] | None:
    if part.regions is None:
        return None
    return part_regions(order.layout.n_regions, part.regions[1], part.regions[0])


def _constant(
    order: PieceOrder, places: NDArray[np.int64], regions: NDArray[np.int64] | None
) -> list[list[int]]:
    """Return the constant regions of samples, as they are counted in a part of the regions."""
    found: dict[int, list[int]] = {}
    for batch in _blocks.get(order):
        chosen = np.isin(batch.rows, places)
        if chosen.any():
            signals = (
                batch.signals[chosen] if regions is None else batch.signals[chosen][:, regions]
            )
            constant = standardise(np.ascontiguousarray(signals)).constant_regions
            found |= dict(zip(batch.rows[chosen].tolist(), constant, strict=True))
    return [found[place] for place in places.tolist()]


def _errors(
    outcome: OperatorOutcome, places: NDArray[np.int64], constant: list[list[int]]
) -> dict[int, tuple[str, str]]:
    """Return what is wrong beyond what the values show: an error, too few time points."""
    judged = zip(*judge_matrices(outcome.matrices, constant), strict=True)
    stated = zip(outcome.status, outcome.reason, strict=True)
    return {
        int(place): (str(status), why)
        for place, (status, why), shown in zip(places, stated, judged, strict=True)
        if (status, why) != shown
    }


def _put_together(order: PieceOrder, kept: Checkpoints) -> None:
    """Write a piece from its parts; one that turns out to be damaged is done again here."""
    parts = []
    for part in order.siblings:
        found = kept.read(part)
        parts.append(
            (_regions(order, part), _compute_part(order, part) if found is None else found)
        )

    def from_parts(names: list[str], rows: Flags) -> dict[str, OperatorOutcome]:
        places = np.flatnonzero(rows)
        constant = _constant(order, places, None)
        own = {
            name: [(regions, found[name]) for regions, found in parts if name in found]
            for name in names
        }
        return {
            name: _from_parts(own[name], places, order.layout.n_regions, constant) for name in names
        }

    _write(order, from_parts)


def _from_parts(
    parts: list[tuple[NDArray[np.int64] | None, PartOutcome]],
    places: NDArray[np.int64],
    n_regions: int,
    constant: list[list[int]],
) -> OperatorOutcome:
    """Put the matrices of an operator together, and judge them as if they had never been cut."""
    matrices = np.full((len(places), n_regions, n_regions), np.nan)
    position = {int(place): k for k, place in enumerate(places)}
    errors: dict[int, tuple[str, str]] = {}
    for regions, part in parts:
        chosen = np.arange(n_regions) if regions is None else regions
        into = np.array([position[int(place)] for place in part.rows], dtype=np.int64)
        matrices[np.ix_(into, chosen, chosen)] = part.matrices
        for place, error in part.errors.items():
            errors.setdefault(place, error)
    for place in errors:  # an error anywhere leaves nothing of the sample
        matrices[position[place]] = np.nan
    status, reason = judge_matrices(matrices, constant)
    for place, (state, why) in errors.items():
        status[position[place]], reason[position[place]] = Status(state), why
    return OperatorOutcome(matrices, status, reason, sum(part.seconds for _, part in parts))


Flags = NDArray[np.bool_]
#: By operator: which samples of the block are known, and what became of these.
Copies = dict[str, tuple[Flags, OperatorOutcome]]


def _copies(order: PieceOrder) -> Copies:
    """Read what other stores hold; the first that has an operator serves."""
    found: Copies = {}
    for known in order.known:
        for name, outcome in read_known(known, order.piece, order.seed).items():
            found.setdefault(name, (known.rows >= 0, outcome))
    return found


def _alike(
    operators: tuple[str, ...], copied: Mapping[str, tuple[Flags, OperatorOutcome]], size: int
) -> list[tuple[Flags, list[str]]]:
    """Group operators that are known on the same samples: they are computed together."""
    nothing = np.zeros(size, dtype=np.bool_)
    groups: dict[bytes, tuple[Flags, list[str]]] = {}
    for name in operators:
        there = copied[name][0] if name in copied else nothing
        groups.setdefault(there.tobytes(), (there, []))[1].append(name)
    return list(groups.values())


def _compute(
    order: PieceOrder,
    names: list[str],
    rows: Flags,
    regions: NDArray[np.int64] | None = None,
) -> dict[str, OperatorOutcome]:
    """Compute operators on some samples of the block, on all regions or some."""
    if not rows.any():
        n_regions = order.layout.n_regions if regions is None else len(regions)
        nothing = np.empty((0, n_regions, n_regions))
        return {name: OperatorOutcome(nothing, [], []) for name in names}
    found: list[tuple[NDArray[np.int64], dict[str, OperatorOutcome]]] = []
    for part in _blocks.get(order):
        chosen = rows[part.rows]
        if chosen.any():
            signals = part.signals if chosen.all() else part.signals[chosen]
            outcomes = compute_block(
                signals if regions is None else np.ascontiguousarray(signals[:, regions]),
                names,
                sample_seeds=part.seeds[chosen],
                memory_bytes=order.memory_bytes,
            )
            found.append((part.rows[chosen], outcomes))
    if len(found) == 1:
        return found[0][1]
    order_of_rows = np.argsort(np.concatenate([places for places, _ in found]))
    return {name: _in_order([part[name] for _, part in found], order_of_rows) for name in names}


def _in_order(parts: list[OperatorOutcome], order: NDArray[np.int64]) -> OperatorOutcome:
    """Join what became of samples of different lengths, in the order of the block."""
    status = [state for part in parts for state in part.status]
    reason = [why for part in parts for why in part.reason]
    return OperatorOutcome(
        np.concatenate([part.matrices for part in parts])[order],
        [status[place] for place in order],
        [reason[place] for place in order],
        sum(part.seconds for part in parts),
    )


def _joined(
    there: Flags, copied: OperatorOutcome | None, computed: OperatorOutcome
) -> OperatorOutcome:
    """Put what was copied and what was computed into the order of the block."""
    if copied is None:
        return computed
    matrices = np.empty((len(there), *copied.matrices.shape[1:]))
    matrices[there], matrices[~there] = copied.matrices, computed.matrices
    status: list[Status] = []
    reason: list[str] = []
    sources = {True: iter(zip(copied.status, copied.reason, strict=True))}
    sources[False] = iter(zip(computed.status, computed.reason, strict=True))
    for known in there.tolist():
        state, why = next(sources[known])
        status.append(state)
        reason.append(why)
    return OperatorOutcome(matrices, status, reason, copied.seconds + computed.seconds)


@dataclass(frozen=True)
class _Part:
    """The samples of a block that have one length."""

    rows: NDArray[np.int64]
    signals: Array
    seeds: Seeds


def _parts(order: PieceOrder) -> list[_Part]:
    signals = np.asarray(order.signals)
    everything = np.full(len(signals), signals.shape[2], dtype=np.int64)
    parts = []
    for length, rows in by_length(everything if order.lengths is None else order.lengths):
        whole = len(rows) == len(signals) and length == signals.shape[2]
        batch = check_signals(signals if whole else signals[rows][:, :, :length])
        parts.append(_Part(rows, batch, sample_seeds(batch, order.seed)))
    return parts


class _RecentBlocks:
    """The blocks read last: the families of a block come one after another."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._blocks: OrderedDict[tuple[str, int], list[_Part]] = OrderedDict()
        self._lock = threading.Lock()  # a Dask worker may run several threads

    def get(self, order: PieceOrder) -> list[_Part]:
        """Return the signals and seeds of the order's block, by their length."""
        key = (order.computation, order.piece.block)
        with self._lock:
            if key not in self._blocks:
                self._blocks[key] = _parts(order)
            self._blocks.move_to_end(key)
            while len(self._blocks) > self._kept:
                self._blocks.popitem(last=False)
            return self._blocks[key]


_blocks = _RecentBlocks(kept=2)
