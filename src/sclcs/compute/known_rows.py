"""Matrices that another store of the same cohort holds already: copied, not computed again.

A run computes an operator on the core-set first and perhaps on everybody later, or the other way
round. Seeds and kernels know nothing of the block a sample is in, so its matrix is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import DamagedStoreError
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_store import FCStore
from sclcs.spi.packing.ledger import Ledger, StoredChunk, read_rows
from sclcs.spi.status import OperatorOutcome, Status
from sclcs.spi.versions import operator_stamps

__all__ = ["KnownRows", "known_rows", "read_known", "rows_in"]

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
    index, today = known.layout.index(), operator_stamps(piece.operators, seed)
    blocks, counts = np.unique(rows // known.layout.block_size, return_counts=True)
    ledger = Ledger(known.layout, index)
    records = {b: ledger.of(piece.family, b) for b in blocks.tolist()}
    weights = {
        block: count / _length(known.layout.block_rows(block))
        for block, count in zip(blocks.tolist(), counts.tolist(), strict=True)
    }
    found = {}
    for name in piece.operators:
        chunks = {block: record[name] for block, record in records.items() if name in record}
        if index.stamps.get(name) == today[name] and len(chunks) == len(records):
            outcome = _read(known.layout, name in index.triangles, rows, chunks, weights)
            if outcome is not None:
                found[name] = outcome
    return found


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _read(
    layout: StoreLayout,
    triangle: bool,
    rows: Integers,
    chunks: Mapping[int, StoredChunk],
    weights: Mapping[int, float],
) -> OperatorOutcome | None:
    """Read an operator on some rows; None if a chunk is damaged."""
    try:
        matrices = read_rows(layout, rows, chunks, triangle=triangle).astype(np.float64)
    except DamagedStoreError:
        return None
    states = []
    for row in rows.tolist():
        block, place = divmod(row, layout.block_size)
        states.append(chunks[block].entry.exceptions.get(place, (str(Status.OK), "")))
    seconds = sum(chunk.entry.seconds * weights[block] for block, chunk in chunks.items())
    status = [Status(state) for state, _ in states]
    return OperatorOutcome(matrices, status, [why for _, why in states], seconds)
