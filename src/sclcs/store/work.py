"""A piece of work, as a worker does it: what other stores hold is copied, the rest is computed.

A run computes an operator on the core-set first and perhaps on the full cohort later, or the other
way round. Seeds and kernels know nothing of the block a sample is in, so its matrix is the same.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter, OrderedDict
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
    operator_stamps,
    sample_seeds,
)
from sclcs.store.fc_store import FCStore
from sclcs.store.layout import Piece, StoreLayout
from sclcs.store.pieces import find_chunks, read_rows
from sclcs.store.writer import write_piece

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Rows of a block, and what became of an operator on them.
Part = tuple[Integers, OperatorOutcome]

BLOCKS_IN_MEMORY = 2  # the families of a block come one after another


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Where samples are in another store."""

    layout: StoreLayout  # of the other store
    rows: Integers  # row there of every sample; -1 for samples that are not there


def rows_in(store: FCStore, sample_ids: Sequence[str]) -> KnownRows | None:
    """Return where samples are in a store that is known to be of the same signals."""
    rows = store.samples.index.get_indexer(pd.Index(list(sample_ids))).astype(np.int64)
    return KnownRows(store.layout, rows) if (rows >= 0).any() else None


def read_known(known: KnownRows, piece: Piece, seed: int) -> dict[str, Part]:
    """Read what another store holds of a piece, whose block's samples `known` is about.

    The seconds are what the matrices took there. Operators that were not computed on all of the
    samples that are there, or by other code or with another seed, or that are damaged, are left
    out.
    """
    here = np.flatnonzero(known.rows >= 0)
    rows, layout = known.rows[here], known.layout
    if not len(rows):
        return {}
    blocks, inside = np.divmod(rows, layout.grid(piece.family).block_size)
    indices = list(zip(blocks.tolist(), inside.tolist(), strict=True))
    shares = {
        block: count / _length(layout.block_rows(piece.family, block))
        for block, count in Counter(blocks.tolist()).items()
    }
    chunks = {block: find_chunks(layout, piece.family, block) for block in shares}
    found: dict[str, Part] = {}
    for name, stamp in operator_stamps(piece.operators, seed).items():
        own = {block: chunk[name] for block, chunk in chunks.items() if name in chunk}
        if len(own) < len(chunks) or any(chunk.entry.stamp != stamp for chunk in own.values()):
            continue
        try:
            matrices = read_rows(layout, name, rows, own).astype(np.float64)
        except DamagedStoreError:  # or not kept
            continue
        pairs = [
            own[block].entry.exceptions.get(row, (str(Status.OK), "")) for block, row in indices
        ]
        status, reason = [Status(state) for state, _ in pairs], [why for _, why in pairs]
        seconds = sum(chunk.entry.seconds * shares[block] for block, chunk in own.items())
        found[name] = here, OperatorOutcome(matrices, status, reason, seconds)
    return found


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


@dataclass(frozen=True)
class PieceOrder:
    """A piece of work with all that a worker needs to do it."""

    #: Unique to the computation; a worker keeps the signals of its last blocks by it.
    computation: str
    layout: StoreLayout  # where to write
    piece: Piece  # what to compute
    signals: SignalArray  # the block's samples; a lazy view is read by the worker
    lengths: Integers  # time points of each sample
    seed: int  # the user's seed
    known: tuple[KnownRows, ...] = ()  # other stores that may hold some of the block's matrices

    def __str__(self) -> str:
        return f"{self.piece.family} on block {self.piece.block} of {self.layout.path}"


@dataclass(frozen=True)
class PieceReport:
    """What a finished piece took."""

    piece: Piece
    matrices: int  # number of matrices computed, not copied: operators times samples
    kernel_seconds: float  # CPU time inside the operators


def make_orders(
    layout: StoreLayout,
    pieces: Iterable[Piece],
    cohort: Cohort,
    seed: int = 0,
    known: Sequence[KnownRows] = (),
) -> Iterator[PieceOrder]:
    """Yield the orders of pieces one by one: a large cohort never has all in memory."""
    unique, signals = uuid.uuid4().hex, cohort.signals
    for piece in pieces:
        rows = layout.block_rows(piece.family, piece.block)
        lazy = isinstance(signals, LazySignals)
        yield PieceOrder(
            unique,
            layout,
            piece,
            signals.take(np.arange(rows.start, rows.stop)) if lazy else signals[rows],
            cohort.lengths[rows],
            seed,
            tuple(KnownRows(other.layout, other.rows[rows]) for other in known),
        )


def do_piece(order: PieceOrder) -> PieceReport:
    """Do a piece of work; see the module's docstring."""
    names, size = order.piece.operators, len(order.lengths)
    parts: dict[str, list[Part]] = {name: [] for name in names}
    for known in order.known:  # the first that has an operator serves
        for name, part in read_known(known, order.piece, order.seed).items():
            parts[name] = parts[name] or [part]
    copied_seconds = {name: own[0][1].seconds for name, own in parts.items() if own}
    n_computed, seconds = 0, 0.0
    for missing, group in _alike(parts, size):
        for samples in _samples(order) if missing.any() else ():
            chosen = missing[samples.rows]
            if not chosen.any():
                continue
            outcomes = compute_block(
                samples.signals if chosen.all() else samples.signals[chosen],
                group,
                sample_seeds=samples.seeds[chosen],
                memory_bytes=DEFAULT_MEMORY,
            )
            n_computed += len(group) * int(chosen.sum())
            for name, outcome in outcomes.items():
                parts[name].append((samples.rows[chosen], outcome))
                seconds += outcome.seconds
    joined = {name: _joined(own, size) for name, own in parts.items()}
    write_piece(order.layout, order.piece, joined, order.seed, copied_seconds)
    return PieceReport(order.piece, n_computed, seconds)


def _alike(parts: Mapping[str, list[Part]], size: int) -> list[tuple[Flags, list[str]]]:
    """Group operators that lack the same samples of the block: they are computed together."""
    groups: dict[bytes, tuple[Flags, list[str]]] = {}
    for name, own in parts.items():
        missing = np.ones(size, dtype=np.bool_)
        for rows, _ in own:
            missing[rows] = False
        groups.setdefault(missing.tobytes(), (missing, []))[1].append(name)
    return list(groups.values())


def _joined(parts: Sequence[Part], size: int) -> OperatorOutcome:
    """Put what was copied and computed into the order of the block."""
    if len(parts) == 1:
        return parts[0][1]
    matrices = np.empty((size, *parts[0][1].matrices.shape[1:]))
    status, reason = [Status.OK] * size, [""] * size
    for rows, outcome in parts:
        matrices[rows] = outcome.matrices
        for row, state, why in zip(rows.tolist(), outcome.status, outcome.reason, strict=True):
            status[row], reason[row] = state, why
    return OperatorOutcome(matrices, status, reason, sum(one.seconds for _, one in parts))


@dataclass(frozen=True)
class _Samples:
    """The samples of a block that have one length."""

    rows: Integers
    signals: Array
    seeds: NDArray[np.uint64]


_recent: OrderedDict[tuple[str, int, int], list[_Samples]] = OrderedDict()
_lock = threading.Lock()  # a Dask worker may run several threads


def _samples(order: PieceOrder) -> list[_Samples]:
    """Return the block's samples by their length; the blocks read last are kept."""
    rows = order.layout.block_rows(order.piece.family, order.piece.block)
    key = (order.computation, rows.start, rows.stop)
    with _lock:
        if key not in _recent:
            _recent[key] = list(_read_samples(np.asarray(order.signals), order))
        _recent.move_to_end(key)
        while len(_recent) > BLOCKS_IN_MEMORY:
            _recent.popitem(last=False)
        return _recent[key]


def _read_samples(signals: Array, order: PieceOrder) -> Iterator[_Samples]:
    for length, rows in by_length(order.lengths):
        whole = len(rows) == len(signals) and length == signals.shape[2]
        batch = check_signals(signals if whole else signals[rows][:, :, :length])
        yield _Samples(rows, batch, sample_seeds(batch, order.seed))
