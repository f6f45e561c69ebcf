"""Matrices that another store of the same cohort holds already: copied, not computed again.

A run computes an operator on the core-set first and perhaps on everybody later, or the other way
round. Seeds and kernels know nothing of the block a sample is in, so its matrix is the same.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import DamagedStoreError
from sclcs.cohort import Cohort, LazySignals, SignalArray, by_length
from sclcs.spi import (
    DEFAULT_MEMORY,
    Array,
    OperatorOutcome,
    Status,
    check_signals,
    compute_block,
    operator_facts,
    operator_stamps,
    sample_seeds,
)
from sclcs.store.fc_store import FCStore
from sclcs.store.layout import Piece, StoreLayout
from sclcs.store.pieces import StoredChunk, find_chunks, read_rows
from sclcs.store.writer import write_piece

__all__ = [
    "KnownRows",
    "PieceOrder",
    "PieceReport",
    "do_piece",
    "known_rows",
    "make_orders",
    "read_known",
    "rows_in",
]


Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Where samples are in another store.

    Parameters
    ----------
    layout : StoreLayout
        Of the other store.
    rows : array of int
        Row there of every sample; -1 for samples that are not there.
    """

    layout: StoreLayout
    rows: Integers

    def of_block(self, rows: slice) -> KnownRows:
        """Return the same for some samples."""
        return KnownRows(self.layout, self.rows[rows])


def known_rows(store: FCStore, sample_ids: Sequence[str], fingerprint: str) -> KnownRows | None:
    """Return where samples are in a store; None if it is of another cohort or has none of them."""
    if store.fingerprint != fingerprint:
        return None
    return rows_in(store, sample_ids)


def rows_in(store: FCStore, sample_ids: Sequence[str]) -> KnownRows | None:
    """Return where samples are in a store that is known to be of the same signals."""
    rows = store.samples.index.get_indexer(pd.Index(list(sample_ids))).astype(np.int64)
    return KnownRows(store.layout, rows) if (rows >= 0).any() else None


def read_known(known: KnownRows, piece: Piece, seed: int) -> dict[str, OperatorOutcome]:
    """Read what another store holds of a piece.

    Parameters
    ----------
    known : KnownRows
        For the samples of the piece's block.
    piece : Piece
    seed : int
        The user's.

    Returns
    -------
    dict of str to OperatorOutcome
        By operator, on the samples that are there, in order; the seconds are what these took
        there. Operators that were not computed on all of them, or by other code or with another
        seed, or that are damaged, are left out.
    """
    rows = known.rows[known.rows >= 0]
    if not len(rows):
        return {}
    layout, today = known.layout, operator_stamps(piece.operators, seed)
    size = layout.grid(piece.family).block_size
    blocks, counts = np.unique(rows // size, return_counts=True)
    records = {block: find_chunks(layout, piece.family, block) for block in blocks.tolist()}
    weights = {
        block: count / _length(layout.block_rows(piece.family, block))
        for block, count in zip(blocks.tolist(), counts.tolist(), strict=True)
    }
    stamps, found = layout.metadata().stamps, {}
    for name in piece.operators:
        chunks = {block: record[name] for block, record in records.items() if name in record}
        if stamps.get(name) == today[name] and len(chunks) == len(records):
            outcome = _read(layout, name, rows, chunks, weights)
            if outcome is not None:
                found[name] = outcome
    return found


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _read(
    layout: StoreLayout,
    operator: str,
    rows: Integers,
    chunks: Mapping[int, StoredChunk],
    weights: Mapping[int, float],
) -> OperatorOutcome | None:
    """Read an operator on some rows; None if a chunk is damaged or was not kept."""
    try:
        matrices = read_rows(layout, operator, rows, chunks).astype(np.float64)
    except DamagedStoreError:
        return None
    size = layout.grid(operator_facts()[operator].family).block_size
    states = []
    for row in rows.tolist():
        block, inside = divmod(row, size)
        states.append(chunks[block].entry.exceptions.get(inside, (str(Status.OK), "")))
    seconds = sum(chunk.entry.seconds * weights[block] for block, chunk in chunks.items())
    status = [Status(state) for state, _ in states]
    return OperatorOutcome(matrices, status, [why for _, why in states], seconds)


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

    def __str__(self) -> str:
        return f"{self.piece.family} on block {self.piece.block} of {self.layout.path}"


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


def make_orders(
    layout: StoreLayout,
    pieces: Iterable[Piece],
    cohort: Cohort,
    seed: int = 0,
    known: Sequence[KnownRows] = (),
) -> Iterator[PieceOrder]:
    """Yield the orders of pieces one by one: a large cohort never has all in memory."""
    unique = uuid.uuid4().hex
    for piece in pieces:
        rows = layout.block_rows(piece.family, piece.block)
        signals = cohort.signals
        lazy = isinstance(signals, LazySignals)
        yield PieceOrder(
            unique,
            layout,
            piece,
            signals.take(np.arange(rows.start, rows.stop)) if lazy else signals[rows],
            seed,
            DEFAULT_MEMORY,
            tuple(other.of_block(rows) for other in known),
            cohort.lengths[rows],
        )


def do_piece(order: PieceOrder) -> PieceReport:
    """Do a piece of work; see the module's docstring."""
    started = time.perf_counter()
    rows = order.layout.block_rows(order.piece.family, order.piece.block)
    size = rows.stop - rows.start
    copied = _copies(order)
    outcomes: dict[str, OperatorOutcome] = {}
    n_computed, seconds = 0, 0.0
    for there, names in _alike(order.piece.operators, copied, size):
        found = _compute(order, names, ~there)
        seconds += sum(outcome.seconds for outcome in found.values())
        n_computed += len(names) * int((~there).sum())
        for name in names:
            before = copied[name][1] if name in copied else None
            outcomes[name] = _joined(there, before, found[name])
    spent = {name: outcome.seconds for name, (_, outcome) in copied.items()}
    write_piece(order.layout, order.piece, outcomes, order.seed, spent)
    taken, planned = time.perf_counter() - started, len(order.piece.operators) * size
    return PieceReport(order.piece, n_computed, taken, seconds, planned)


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
        nothing = np.empty((0, order.layout.n_regions, order.layout.n_regions))
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
    order_of_rows = np.argsort(np.concatenate([indices for indices, _ in found]))
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
        self._blocks: OrderedDict[tuple[str, int, int], list[_Part]] = OrderedDict()
        self._lock = threading.Lock()  # a Dask worker may run several threads

    def get(self, order: PieceOrder) -> list[_Part]:
        """Return the signals and seeds of the order's block, by their length."""
        rows = order.layout.block_rows(order.piece.family, order.piece.block)
        key = (order.computation, rows.start, rows.stop)
        with self._lock:
            if key not in self._blocks:
                self._blocks[key] = _parts(order)
            self._blocks.move_to_end(key)
            while len(self._blocks) > self._kept:
                self._blocks.popitem(last=False)
            return self._blocks[key]


_blocks = _RecentBlocks(kept=2)
