"""The bytes of a chunk and of the index of a shard, as zarr's codecs have them.

zarr's own writer takes several milliseconds per chunk (an event loop, a thread, a read of what
was there before), which is more than many operators need to compute it. A test holds these bytes
and those of zarr together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from sclcs._core import StoreInUseError, explain_write_errors
from sclcs.spi import cost_law, family_members, operator_facts
from sclcs.store.metadata import MATRICES, Grid, Metadata, read_metadata

__all__ = [
    "LOCK",
    "Piece",
    "StoreLayout",
    "block_size_for",
    "grid_for",
    "hold_store",
]


CHUNK_BYTES = 2**21  # a family of sixty operators is in memory at once, as float64
LARGEST_BLOCK = 256
#: Predicted CPU seconds of a piece, which a kill may cost and on which other workers may wait.
SECONDS_PER_PIECE = 60.0


def block_size_for(family: str, n_regions: int, n_timepoints: int) -> int:
    """Return the samples per piece of a family: at most two mebibytes per operator, and a minute.

    What decides is the law that ships with the package and never a measurement, so that stores
    of the same samples have the same files, whoever computes them on however many machines.
    """
    by_size = CHUNK_BYTES // (4 * n_regions * n_regions)
    by_time = SECONDS_PER_PIECE / cost_law(family).seconds_at(n_regions, n_timepoints)
    return max(1, min(LARGEST_BLOCK, by_size, int(min(by_time, LARGEST_BLOCK))))


def grid_for(family: str, block_size: int) -> Grid:
    """Return how a family is kept: room for all operators of the catalogue, computed or not."""
    members = tuple(name for name, facts in operator_facts().items() if facts.family == family)
    return Grid(block_size, members)


@dataclass(frozen=True)
class Piece:
    """Some operators of one family on one block of samples.

    Parameters
    ----------
    family : str
        The family.
    block : int
        Number of the block.
    operators : tuple of str
        What there is to compute.
    """

    family: str
    block: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class StoreLayout:
    """The files of an FC store. Small: it travels to workers with every piece.

    Parameters
    ----------
    path : Path
        The store's folder.
    n_samples, n_regions : int
        Size of its arrays.
    """

    path: Path
    n_samples: int
    n_regions: int

    def metadata(self) -> Metadata:
        """Return what the store says about its operators; read again only if it has changed."""
        return read_metadata(self.path)

    def grid(self, family: str) -> Grid:
        """Return how a family is kept, or would be if one of its operators is added."""
        metadata = self.metadata()
        if family in metadata.families:
            return metadata.families[family]
        times, size = metadata.about["n_timepoints"] or 1, metadata.about["block_size"]
        size = size or block_size_for(family, self.n_regions, times)
        return grid_for(family, min(size, self.n_samples))

    def n_blocks(self, family: str) -> int:
        """Return the number of blocks of samples."""
        return -(-self.n_samples // self.grid(family).block_size)

    def block_rows(self, family: str, block: int) -> slice:
        """Return the rows of the samples of a block."""
        size = self.grid(family).block_size
        return slice(block * size, min((block + 1) * size, self.n_samples))

    def chunk_shape(self, family: str) -> tuple[int, int, int]:
        """Return the shape of one operator on one block."""
        return (self.grid(family).block_size, self.n_regions, self.n_regions)

    def family_folder(self, family: str) -> Path:
        """Return the folder of a family's array."""
        return self.path / MATRICES / family

    def piece_file(self, family: str, block: int) -> Path:
        """Return the file of a family on a block."""
        return self.family_folder(family) / f"c.0.{block}.0.0"

    def pieces(self, operators: Iterable[str]) -> list[Piece]:
        """Return every piece of some operators, done or not, in the order of the samples."""
        found = [
            Piece(family, block, tuple(names))
            for family, names in family_members(operators).items()
            for block in range(self.n_blocks(family))
        ]
        # Workers keep the signals that they read last: families of one block follow each other.
        return sorted(found, key=lambda piece: self.block_rows(piece.family, piece.block).start)

    def unlisted_families(self) -> list[str]:
        """Return the families of which there are pieces, but no operators in the metadata."""
        known, folders = self.metadata().families, sorted((self.path / MATRICES).glob("*"))
        return [f.name for f in folders if f.name not in known and any(f.glob("c.*"))]


LOCK = ".lock"


@contextmanager
def hold_store(store: Path, seconds: float = 0) -> Iterator[None]:
    """Hold the right to write to a store; raise if another process has it after some seconds."""
    lock = FileLock(store / LOCK)
    try:
        with explain_write_errors(store):
            lock.acquire(timeout=seconds)
    except Timeout as error:
        raise StoreInUseError(
            f"Another process is computing into {store} right now; wait until it ends, or stop it."
        ) from error
    try:
        yield
    finally:
        lock.release()
