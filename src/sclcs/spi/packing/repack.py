"""Copy a store of an older format into one of today's: the same matrices in far fewer files."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from sclcs.core.arguments import checked
from sclcs.core.files import refuse_existing, settle
from sclcs.core.progress import track
from sclcs.spi.fc_layout import StoreLayout, blocks_per_shard_for
from sclcs.spi.fc_records import Piece, write_index
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import StoreFacts, create_described, create_operators, pack_pieces
from sclcs.spi.packing.ledger import Ledger, StoredChunk
from sclcs.spi.packing.pack import pack_shard
from sclcs.spi.packing.piece_files import write_piece_file
from sclcs.store import checksum_of, decode_chunk, encode_chunk

__all__ = ["repack_store"]


@checked
def repack_store(store: str | os.PathLike[str], out: str | os.PathLike[str]) -> FCStore:
    """Copy what a store holds into a new one of today's format.

    Parameters
    ----------
    store : path-like
        An FC store of any format, complete or not. It stays as it is.
    out : path-like
        A new folder.

    Returns
    -------
    FCStore
        With the same matrices; what was damaged or never computed is missing, what was not kept
        is not in it.
    """
    old = FCStore.open(store)
    refuse_existing(out)
    size, n_regions = old.layout.block_size, old.layout.n_regions
    facts = StoreFacts(
        old.samples,
        old.regions,
        old.tr,
        old.n_timepoints,
        old.provenance,
        old.fingerprint,
        size,
        blocks_per_shard_for(len(old), n_regions, size),
    )
    new = create_described(out, facts)
    stamps = {name: old.stamp(name) for name in old.operators}
    create_operators(new.layout, stamps)
    write_index(new.layout.path, stamps)
    pieces = new.layout.pieces(stamps)
    for piece in track(pieces, "Copying matrices"):
        _copy(old.layout, new.layout, piece)
    pack_pieces(new.layout)
    settle(Ledger(new.layout).files(pieces))
    return new


def _copy(old: StoreLayout, new: StoreLayout, piece: Piece) -> None:
    there = Ledger(old).of(piece.family, piece.block)
    entries, chunks = {}, {}
    for name in piece.operators:
        content = _read(old, new, name, there[name]) if name in there else None
        if content is not None:
            chunks[name] = content
            entries[name] = replace(there[name].entry, checksum=checksum_of(content))
    if entries:
        held = Piece(piece.family, piece.block, tuple(entries))
        write_piece_file(new.piece_file(held), entries, chunks)
    if piece.block == new.shard_blocks(piece.block // new.blocks_per_shard)[-1]:
        pack_shard(new, piece.family, piece.block // new.blocks_per_shard)


def _read(old: StoreLayout, new: StoreLayout, name: str, chunk: StoredChunk) -> bytes | None:
    """Read a chunk as the new store keeps it; None if it is not what was written."""
    try:
        shape = old.chunk_shape(triangle=name in old.index().triangles)
        kept = decode_chunk(chunk.read(), shape, chunk.entry.checksum)
    except (OSError, ValueError):
        return None
    matrices, triangle = old.unfold(kept), name in new.index().triangles
    kept = new.keep(matrices, triangle=triangle)
    if not np.array_equal(matrices, new.unfold(kept), equal_nan=True):
        return None  # a matrix that is called symmetric must be so, else something is lost
    return encode_chunk(kept, new.chunk_shape(triangle=triangle))
