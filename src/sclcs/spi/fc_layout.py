"""Where things are in an FC store, and which pieces of the work on it are done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.fc_records import MATRICES, OperatorEntry, Piece, read_index, read_record
from sclcs.spi.runner import family_members
from sclcs.spi.versions import Stamp
from sclcs.store import chunk_checksum, chunk_path, read_chunk, rows_per_chunk

__all__ = ["StoreLayout", "block_size_for"]

RECORDS = "tasks"  # as the first version called them

LARGEST_BLOCK = 64  # samples; larger blocks are no faster and lose more when a run is killed


def block_size_for(n_regions: int) -> int:
    """Return the samples per block of a new store: chunks of at most about one mebibyte.

    It depends on the number of regions only, so that stores of the same samples have the
    same files, whoever computes them on however many processors.
    """
    return min(LARGEST_BLOCK, rows_per_chunk(n_regions * n_regions * 4))


@dataclass(frozen=True)
class StoreLayout:
    """The files of an FC store. Small: it travels to workers with every piece.

    Parameters
    ----------
    path : Path
        The store's folder.
    n_samples, n_regions : int
        Size of its arrays.
    block_size : int
        Samples per block.
    """

    path: Path
    n_samples: int
    n_regions: int
    block_size: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks of samples."""
        return -(-self.n_samples // self.block_size)

    @property
    def chunk_shape(self) -> tuple[int, int, int]:
        """Shape of every chunk."""
        return (self.block_size, self.n_regions, self.n_regions)

    def block_rows(self, block: int) -> slice:
        """Return the rows of the samples of a block."""
        start = block * self.block_size
        return slice(start, min(start + self.block_size, self.n_samples))

    def array_folder(self, operator: str) -> Path:
        """Return the folder of an operator's array."""
        return self.path / MATRICES / operator

    def chunk_file(self, operator: str, block: int) -> Path:
        """Return the file of an operator's matrices on a block."""
        return chunk_path(self.array_folder(operator), (block, 0, 0))

    def record_file(self, family: str, block: int) -> Path:
        """Return the file that says what became of a piece."""
        return self.path / RECORDS / family / f"{block}.json"

    def files(self, pieces: Sequence[Piece]) -> list[Path]:
        """Return the files of pieces of work: their chunks and their records."""
        chunks = [self.chunk_file(name, p.block) for p in pieces for name in p.operators]
        return chunks + [self.record_file(piece.family, piece.block) for piece in pieces]

    def stamps(self) -> dict[str, Stamp]:
        """Return what decides the numbers of every operator that was asked for."""
        return read_index(self.path)

    def entries(
        self, family: str, block: int, stamps: Mapping[str, Stamp]
    ) -> dict[str, OperatorEntry]:
        """Return what is done of a family on a block, by operator."""
        found = read_record(self.record_file(family, block))
        return {
            name: entry
            for name, entry in found.items()
            if name in stamps and _belongs(entry, stamps[name])
        }

    def read_rows(
        self, operator: str, rows: NDArray[np.int64], done: Mapping[int, OperatorEntry]
    ) -> NDArray[np.float32]:
        """Read matrices of an operator.

        Parameters
        ----------
        operator : str
        rows : array of int
            Which samples, in any order.
        done : mapping of int to OperatorEntry
            What is recorded of the blocks that are done; samples of others are NaN.

        Returns
        -------
        array of float32, shape (sample, source, target)
        """
        found = np.full((len(rows), self.n_regions, self.n_regions), np.nan, dtype=np.float32)
        block_of_row = rows // self.block_size
        for block, entry in done.items():
            places = np.flatnonzero(block_of_row == block)
            if len(places):
                file = self.chunk_file(operator, block)
                chunk = read_chunk(file, self.chunk_shape, entry.checksum)
                found[places] = chunk[rows[places] - block * self.block_size]
        return found

    def pieces(self, operators: Iterable[str]) -> list[Piece]:
        """Return every piece of some operators, done or not, by block, then by family."""
        members = family_members(operators)
        return [
            Piece(family, block, tuple(names))
            for block in range(self.n_blocks)
            for family, names in members.items()
        ]

    def missing(self, pieces: Iterable[Piece], *, check: bool = False) -> list[Piece]:
        """Return what is still to be done of some pieces.

        Parameters
        ----------
        pieces : iterable of Piece
            From :meth:`pieces`.
        check : bool
            Also read every chunk, and take those that are damaged or gone for missing.

        Returns
        -------
        list of Piece
            With the operators that are missing; pieces that are done are left out.
        """
        stamps = self.stamps()
        rest = []
        for piece in pieces:
            done = self.entries(piece.family, piece.block, stamps)
            names = [
                name
                for name in piece.operators
                if name not in done or (check and not self._intact(name, piece.block, done[name]))
            ]
            if names:
                rest.append(Piece(piece.family, piece.block, tuple(names)))
        return rest

    def _intact(self, operator: str, block: int, entry: OperatorEntry) -> bool:
        return chunk_checksum(self.chunk_file(operator, block)) == entry.checksum


def _belongs(entry: OperatorEntry, stamp: Stamp) -> bool:
    """Say whether a record is of these numbers; those of the first version name no seed."""
    return entry.version == stamp.version and entry.seed in {stamp.seed, None}
