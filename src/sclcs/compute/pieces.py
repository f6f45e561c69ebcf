"""One piece of a computation: read a block of samples, compute a family, write the result.

A piece knows everything it needs and shares nothing with others, so any executor can do it
anywhere, twice if it must: the same bytes come out.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.lengths import by_length
from sclcs.cohort.signals import SignalArray
from sclcs.compute.known_rows import KnownRows, read_known
from sclcs.numerics.arrays import Array
from sclcs.spi.engine import compute_block
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_writer import write_piece
from sclcs.spi.signals import check_signals, sample_seeds
from sclcs.spi.status import OperatorOutcome, Status

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
    """

    computation: str
    layout: StoreLayout
    piece: Piece
    signals: SignalArray
    seed: int
    memory_bytes: int
    known: tuple[KnownRows, ...] = ()
    lengths: NDArray[np.int64] | None = None


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
    """

    piece: Piece
    matrices: int
    seconds: float
    kernel_seconds: float


def do_piece(order: PieceOrder) -> PieceReport:
    """Do a piece of work; see the module's docstring."""
    started = time.perf_counter()
    rows = order.layout.block_rows(order.piece.block)
    size = rows.stop - rows.start
    copied = _copies(order)
    outcomes: dict[str, OperatorOutcome] = {}
    n_computed, seconds = 0, 0.0
    for there, names in _alike(order.piece.operators, copied, size):
        found = _compute(order, names, ~there)
        seconds += sum(outcome.seconds for outcome in found.values())
        n_computed += len(names) * int((~there).sum())
        for name in names:
            outcomes[name] = _joined(
                there, copied[name][1] if name in copied else None, found[name]
            )
    spent = {name: outcome.seconds for name, (_, outcome) in copied.items()}
    write_piece(order.layout, order.piece, outcomes, order.seed, spent)
    return PieceReport(order.piece, n_computed, time.perf_counter() - started, seconds)


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


def _compute(order: PieceOrder, names: list[str], rows: Flags) -> dict[str, OperatorOutcome]:
    """Compute operators on some samples of the block."""
    if not rows.any():
        n_regions = order.layout.n_regions
        nothing = np.empty((0, n_regions, n_regions))
        return {name: OperatorOutcome(nothing, [], []) for name in names}
    found: list[tuple[NDArray[np.int64], dict[str, OperatorOutcome]]] = []
    for part in _blocks.get(order):
        chosen = rows[part.rows]
        if chosen.any():
            outcomes = compute_block(
                part.signals if chosen.all() else part.signals[chosen],
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
