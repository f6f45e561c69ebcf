"""What a worker is given: a piece or a part of one, with its block of the signals."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sclcs.cohort.signals import LazySignals, SignalArray
from sclcs.compute.computation import Computation
from sclcs.compute.cutting import Part, Scissors
from sclcs.compute.known_rows import KnownRows
from sclcs.compute.pieces import PieceOrder
from sclcs.spi.engine import DEFAULT_MEMORY
from sclcs.spi.fc_records import Piece

__all__ = ["make_orders"]


def make_orders(
    computation: Computation,
    scissors: Scissors,
    known: Sequence[KnownRows],
    parts: Sequence[Part],
    missing: Mapping[tuple[str, int], Piece],
) -> Iterator[PieceOrder]:
    """Yield the orders of some parts, one by one: a large cohort never has all in memory.

    A piece that is done in one go is done as far as it is missing; the parts of one that is
    cut are what everybody has agreed on.
    """
    unique, layout, cohort = uuid.uuid4().hex, computation.store.layout, computation.cohort
    for part in parts:
        whole = scissors.is_whole(part)
        piece = missing[part.piece.family, part.piece.block] if whole else part.piece
        rows = layout.block_rows(piece.block)
        yield PieceOrder(
            unique,
            layout,
            piece,
            _block(cohort.signals, rows),
            computation.seed,
            DEFAULT_MEMORY,
            tuple(other.of_block(rows) for other in known),
            cohort.lengths[rows],
            part,
            () if whole else tuple(scissors.cut(piece)),
        )


def _block(signals: SignalArray, rows: slice) -> SignalArray:
    if isinstance(signals, LazySignals):
        return signals.take(np.arange(rows.start, rows.stop))
    return signals[rows]
