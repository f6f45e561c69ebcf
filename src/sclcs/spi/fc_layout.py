"""Where things are in an FC store, and which pieces the work on it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs.core.identity import text_digest
from sclcs.spi.fc_records import MATRICES, Piece, StoreIndex, read_index
from sclcs.spi.runner import family_members
from sclcs.store import chunk_name, rows_per_chunk

__all__ = ["StoreLayout", "block_size_for", "blocks_per_shard_for"]

RECORDS = "tasks"  # as the first version called them
PIECES = "pieces"
LOCKS = ".lock"

LARGEST_BLOCK = 64  # samples; larger blocks are no faster and lose more when a run is killed
LARGEST_SHARD = 64  # blocks; as many pieces wait as files of their own until it is complete
SHARD_BYTES = 2**26  # whoever packs a shard holds it in memory

Indices = NDArray[np.intp]


def block_size_for(n_regions: int) -> int:
    """Return the samples per block of a new store: chunks of at most about one mebibyte.

    It depends on the number of regions only, so that stores of the same samples have the
    same files, whoever computes them on however many processors.
    """
    return min(LARGEST_BLOCK, rows_per_chunk(n_regions * n_regions * 4))


def blocks_per_shard_for(n_samples: int, n_regions: int, block_size: int) -> int:
    """Return the blocks per shard of a new store: files of at most about 64 mebibytes."""
    fitting = rows_per_chunk(block_size * n_regions * n_regions * 4, SHARD_BYTES)
    return min(LARGEST_SHARD, fitting, -(-n_samples // block_size))


@cache
def _triangle_places(n_regions: int) -> tuple[Indices, Indices]:
    """Return where the pairs are in a flat matrix, and the pair of every entry of it.

    The diagonal has the number behind the last pair.
    """
    row, column = np.triu_indices(n_regions, 1)
    pairs = np.arange(len(row))
    pair_of_entry = np.full((n_regions, n_regions), len(row))
    pair_of_entry[row, column] = pair_of_entry[column, row] = pairs
    return row * n_regions + column, pair_of_entry.ravel()


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
    blocks_per_shard : int
        Blocks per file of an operator; 0 in stores of older formats, which have a file per block.
    """

    path: Path
    n_samples: int
    n_regions: int
    block_size: int
    blocks_per_shard: int = 0

    @property
    def n_blocks(self) -> int:
        """Number of blocks of samples."""
        return -(-self.n_samples // self.block_size)

    @property
    def n_shards(self) -> int:
        """Number of shards of every operator."""
        return -(-self.n_blocks // max(1, self.blocks_per_shard))

    def chunk_shape(self, *, triangle: bool) -> tuple[int, ...]:
        """Return the shape of every chunk: of symmetric operators the upper triangle is kept."""
        size = self.n_regions
        return (self.block_size, *((size * (size - 1) // 2,) if triangle else (size, size)))

    def block_rows(self, block: int) -> slice:
        """Return the rows of the samples of a block."""
        start = block * self.block_size
        return slice(start, min(start + self.block_size, self.n_samples))

    def array_folder(self, operator: str) -> Path:
        """Return the folder of an operator's array."""
        return self.path / MATRICES / operator

    def shard_blocks(self, shard: int) -> range:
        """Return the blocks of a shard."""
        start = shard * self.blocks_per_shard
        return range(start, min(start + self.blocks_per_shard, self.n_blocks))

    def shard_file(self, operator: str, shard: int) -> Path:
        """Return the file of an operator's matrices on the blocks of a shard."""
        return self.shard_files([operator], shard, self.index())[operator]

    def shard_files(
        self, operators: Iterable[str], shard: int, index: StoreIndex
    ) -> dict[str, Path]:
        """Return the files of operators' matrices on the blocks of a shard."""
        folder = self.path / MATRICES
        square, flat = chunk_name((shard, 0, 0)), chunk_name((shard, 0))
        return {
            name: folder / name / (flat if name in index.triangles else square)
            for name in operators
        }

    def old_chunk_file(self, operator: str, block: int) -> Path:
        """Return the file of an operator's matrices on a block, in stores of older formats."""
        return self.array_folder(operator) / chunk_name((block, 0, 0))

    def record_file(self, family: str, shard: int) -> Path:
        """Return the file that says what became of a family on a shard (formerly: a block)."""
        return self.path / RECORDS / family / f"{shard}.json"

    def piece_folder(self, family: str, shard: int) -> Path:
        """Return the folder of the pieces of a shard that is not complete yet."""
        return self.path / PIECES / family / str(shard)

    def piece_file(self, piece: Piece) -> Path:
        """Return the file that a piece leaves; pieces of other operators have other files."""
        digest = text_digest("\n".join(sorted(piece.operators)))[:8]
        folder = self.piece_folder(piece.family, piece.block // self.blocks_per_shard)
        return folder / f"{piece.block}.{digest}"

    def piece_files(self, family: str, shard: int) -> list[Path]:
        """Return the files of pieces that wait until their shard is complete."""
        try:
            found = sorted(self.piece_folder(family, shard).iterdir())
        except OSError:
            return []
        return [path for path in found if path.name[0] != "."]  # not those being written

    def unpacked(self) -> list[tuple[str, int]]:
        """Return the families and shards of which pieces wait."""
        folders = (self.path / PIECES).glob("*/*")
        return [(path.parent.name, int(path.name)) for path in folders if path.name.isdecimal()]

    def index(self) -> StoreIndex:
        """Return what the store tells about its operators; whoever needs much asks once."""
        return read_index(self.path)

    def keep(self, matrices: NDArray[np.float32], *, triangle: bool) -> NDArray[np.float32]:
        """Return matrices as they are kept: (sample, source, target), or (sample, pair)."""
        if not triangle:
            return matrices
        places, _ = _triangle_places(self.n_regions)
        return matrices.reshape(len(matrices), -1).take(places, axis=1)

    def unfold(self, kept: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return square matrices of what is kept of them."""
        if kept.ndim == 3:
            return kept
        _, pair_of_entry = _triangle_places(self.n_regions)
        with_diagonal = np.full((len(kept), kept.shape[1] + 1), np.nan, dtype=np.float32)
        with_diagonal[:, :-1] = kept
        square = (len(kept), self.n_regions, self.n_regions)
        return with_diagonal.take(pair_of_entry, axis=1).reshape(square)

    def pieces(self, operators: Iterable[str]) -> list[Piece]:
        """Return every piece of some operators, done or not, by block, then by family."""
        members = family_members(operators)
        return [
            Piece(family, block, tuple(names))
            for block in range(self.n_blocks)
            for family, names in members.items()
        ]
