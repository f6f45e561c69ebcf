"""Where the matrices of a store are, and what became of them: in shards, pieces or old chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import DamagedStoreError
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import OperatorEntry, Piece, StoreIndex, read_record
from sclcs.spi.packing.piece_files import read_piece_file
from sclcs.spi.packing.shard_records import Column, read_columns
from sclcs.store import checksum_of, decode_chunk, read_shard_chunk

__all__ = ["Ledger", "StoredChunk", "read_rows"]


@dataclass(frozen=True)
class StoredChunk:
    """One operator on one block: what became of it, and where its matrices are.

    Parameters
    ----------
    entry : OperatorEntry
    file : Path
        A shard, the file of a piece, or (in stores of older formats) a chunk.
    span : tuple of int, optional
        Start and length of the chunk in the file of a piece.
    place : tuple of int, optional
        Which chunk of how many in a shard.
    """

    entry: OperatorEntry
    file: Path
    span: tuple[int, int] | None = None
    place: tuple[int, int] | None = None

    def read(self) -> bytes:
        """Return the bytes of the chunk.

        Raises
        ------
        OSError
            If the file is gone or cannot be read.
        ValueError
            If the file is damaged.
        """
        if self.place is not None:
            return read_shard_chunk(self.file, *self.place)
        if self.span is None:
            return self.file.read_bytes()
        start, length = self.span
        with self.file.open("rb") as stream:
            stream.seek(start)
            return stream.read(length)

    def is_intact(self) -> bool:
        """Read the chunk and say whether it is the one that was written."""
        try:
            return checksum_of(self.read()) == self.entry.checksum
        except (OSError, ValueError):
            return False


class Ledger:
    """What is done in a store, as it was when it was first asked about a shard.

    Parameters
    ----------
    layout : StoreLayout
    index : StoreIndex, optional
        What the store tells about its operators, if it was read just now. What was made by other
        code or with another seed does not count.
    """

    def __init__(self, layout: StoreLayout, index: StoreIndex | None = None) -> None:
        self._layout = layout
        self._index = layout.index() if index is None else index
        self._loose: dict[tuple[str, int], dict[int, list[Path]]] = {}
        self._columns: dict[tuple[str, int], dict[str, Column]] = {}

    def of(self, family: str, block: int) -> dict[str, StoredChunk]:
        """Return what is done of a family on a block, by operator."""
        layout = self._layout
        if not layout.blocks_per_shard:
            return self._older(family, block)
        shard, place = divmod(block, layout.blocks_per_shard)
        where = place, layout.blocks_per_shard
        packed = self._packed(family, shard)
        files = layout.shard_files(packed, shard, self._index)
        found = {
            name: StoredChunk(column.entry(place), files[name], place=where)
            for name, column in packed.items()
        }
        for path in self._pieces(family, shard).get(block, ()):
            # What was computed again after damage is newer than the shard.
            found |= {
                name: StoredChunk(entry, path, span=span)
                for name, (entry, span) in read_piece_file(path).items()
                if self._counts(name, entry)
            }
        return found

    def one(self, family: str, block: int, operator: str) -> StoredChunk | None:
        """Return where an operator's matrices on a block are; None if it is not done there."""
        layout = self._layout
        if layout.blocks_per_shard:
            shard, place = divmod(block, layout.blocks_per_shard)
            column = self._packed(family, shard).get(operator)
            if column is not None and block not in self._pieces(family, shard):
                file = layout.shard_files([operator], shard, self._index)[operator]
                where = place, layout.blocks_per_shard
                return StoredChunk(column.entry(place), file, place=where)
        return self.of(family, block).get(operator)

    def missing(self, pieces: Iterable[Piece], *, check: bool = False) -> list[Piece]:
        """Return what is still to be done of some pieces; what was not kept is.

        Parameters
        ----------
        pieces : iterable of Piece
            From :meth:`StoreLayout.pieces`.
        check : bool
            Also read every chunk, and take those that are damaged or gone for missing.

        Returns
        -------
        list of Piece
            With the operators that are missing; pieces that are done are left out.
        """
        gone, rest = self._index.not_kept, []
        for piece in pieces:
            done = self._done(piece.family, piece.block)
            names = [name for name in piece.operators if name not in done or name in gone]
            if check:
                chunks, lacking = self.of(piece.family, piece.block), set(names)
                names = [
                    name
                    for name in piece.operators
                    if name in lacking or not chunks[name].is_intact()
                ]
            if names:
                rest.append(Piece(piece.family, piece.block, tuple(names)))
        return rest

    def files(self, pieces: Sequence[Piece]) -> list[Path]:
        """Return the files that hold what was made of pieces of work."""
        layout, found = self._layout, set[Path]()
        for piece in pieces:
            there = self.of(piece.family, piece.block)
            found |= {there[name].file for name in piece.operators if name in there}
            shard = piece.block // max(1, layout.blocks_per_shard)
            found.add(layout.record_file(piece.family, shard))
        return sorted(path for path in found if path.exists())

    def _done(self, family: str, block: int) -> set[str]:
        """Return the operators of a family that are done on a block."""
        size = self._layout.blocks_per_shard
        if not size:
            return set(self._older(family, block))
        pieces = self._pieces(family, block // size).get(block, ())
        loose = (item for path in pieces for item in read_piece_file(path).items())
        return {
            *self._packed(family, block // size),
            *(name for name, (entry, _) in loose if self._counts(name, entry)),
        }

    def _packed(self, family: str, shard: int) -> dict[str, Column]:
        """Return what the record of a shard tells of operators that count."""
        key = (family, shard)
        if key not in self._columns:
            columns = read_columns(self._layout.record_file(family, shard)).items()
            self._columns[key] = {n: column for n, column in columns if self._counts(n, column)}
        return self._columns[key]

    def _pieces(self, family: str, shard: int) -> dict[int, list[Path]]:
        """Return the files of pieces of a shard, by block."""
        key = (family, shard)
        if key not in self._loose:
            found: dict[int, list[Path]] = {}
            for path in self._layout.piece_files(family, shard):
                found.setdefault(int(path.name.partition(".")[0]), []).append(path)
            self._loose[key] = found
        return self._loose[key]

    def _older(self, family: str, block: int) -> dict[str, StoredChunk]:
        return {
            name: StoredChunk(entry, self._layout.old_chunk_file(name, block))
            for name, entry in read_record(self._layout.record_file(family, block)).items()
            if self._counts(name, entry)
        }

    def _counts(self, name: str, entry: OperatorEntry | Column) -> bool:
        """Say whether a record is of these numbers; those of the first version name no seed."""
        stamp = self._index.stamps.get(name)
        return (
            stamp is not None
            and entry.version == stamp.version
            and entry.seed in {stamp.seed, None}
        )


def read_rows(
    layout: StoreLayout,
    rows: NDArray[np.int64],
    done: Mapping[int, StoredChunk],
    *,
    triangle: bool,
) -> NDArray[np.float32]:
    """Read matrices of an operator.

    Parameters
    ----------
    layout : StoreLayout
    rows : array of int
        Which samples, in any order.
    done : mapping of int to StoredChunk
        Where the blocks are that are done; samples of others are NaN.
    triangle : bool
        Whether only the upper triangle of the operator is kept.

    Returns
    -------
    array of float32, shape (sample, source, target)
    """
    found = np.full((len(rows), layout.n_regions, layout.n_regions), np.nan, dtype=np.float32)
    block_of_row = rows // layout.block_size
    shape = layout.chunk_shape(triangle=triangle)
    for block, chunk in done.items():
        places = np.flatnonzero(block_of_row == block)
        if len(places):
            try:
                kept = decode_chunk(chunk.read(), shape, chunk.entry.checksum)
            except (OSError, ValueError) as error:
                raise DamagedStoreError(f"Matrices in {chunk.file} are gone or damaged.") from error
            found[places] = layout.unfold(kept[rows[places] - block * layout.block_size])
    return found
