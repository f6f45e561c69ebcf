"""What an FC store says about itself, and which file holds which matrices.

Everything that a reader needs, also zarr, is in ``zarr.json``: reading many small files whenever a
matrix is asked for is slow, on a network disk very slow. Its attributes end with a digest of
themselves, so that a change is noticed.

A *piece* of work is one family of operators on one block of samples. It leaves one file, which is
one shard of the family's zarr array.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sclcs._core import (
    DamagedStoreError,
    NotFoundError,
    ReadOnce,
    SclcsError,
    StoreInUseError,
    UnreadableFileError,
    explain_write_errors,
    signed,
    write_json,
)
from sclcs.spi import Stamp, cost_law, family_members, operator_facts

KIND = "fc-store"
FORMAT_VERSION = 1
MATRICES = "matrices"
METADATA_FILE = "zarr.json"
LOCK = ".lock"
RESUME = "run the same `sclcs compute` again: it computes what is missing or damaged"

CHUNK_BYTES = 2**21  # a family of sixty operators is in memory at once, as float64
MOST_SAMPLES_PER_PIECE = 256
#: Predicted CPU seconds of a piece, which a kill may cost and on which other workers may wait.
SECONDS_PER_PIECE = 60.0
#: Matrices of float32 hardly shrink (by a tenth at level 1) and are computed in no time: here
#: compression is for chunks that hold nothing but NaN.
COMPRESSION_LEVEL = -5


@dataclass(frozen=True)
class OperatorRow:
    """An operator of a store."""

    version: str  # from :func:`sclcs.spi.versions.operator_version`
    seed: int | None  # the user's, if the operator draws random numbers
    kept: bool = True  # whether its matrices stay; what became of them is known in any case
    complete: bool = False  # whether it was done on every sample: what is missing now is damage

    @property
    def stamp(self) -> Stamp:
        """What decides the numbers."""
        return Stamp(self.version, self.seed)


@dataclass(frozen=True)
class Grid:
    """The array of a family: samples per piece, and the operators along its first axis."""

    block_size: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Metadata:
    """What a store says about itself."""

    about: Mapping[str, Any]  # the cohort, the regions and so on: JSON values
    #: Those that were asked for, known to this program or not.
    operators: Mapping[str, OperatorRow] = field(default_factory=dict)
    families: Mapping[str, Grid] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """Number of samples and of regions."""
        return int(self.about["n_samples"]), len(self.about["regions"])

    @property
    def known(self) -> dict[str, OperatorRow]:
        """The operators that the catalogue knows now, in its order."""
        return {name: self.operators[name] for name in operator_facts() if name in self.operators}

    @property
    def unknown(self) -> list[str]:
        """Operators that the catalogue does not know now, such as a user's own."""
        return [name for name in self.operators if name not in operator_facts()]

    def changed(self, operators: Mapping[str, OperatorRow]) -> Metadata:
        """Return the same store with other operators."""
        order = {name: number for number, name in enumerate(operator_facts())}
        names = sorted(operators, key=lambda name: (order.get(name, len(order)), name))
        return replace(self, operators={name: operators[name] for name in names})


def write_metadata(store: Path, metadata: Metadata) -> None:
    """Write the metadata of a store in one step."""
    with explain_write_errors(store):
        write_json(store / METADATA_FILE, _content(metadata))
    _metadata.forget(store / METADATA_FILE)


def _content(metadata: Metadata) -> dict[str, Any]:
    """Return the whole file; zarr finds the arrays in it (consolidated metadata)."""
    families = sorted(metadata.families)
    attributes = {
        "sclcs_kind": KIND,
        "format_version": FORMAT_VERSION,
        **metadata.about,
        "operators": {name: asdict(row) for name, row in metadata.operators.items()},
        "families": {name: asdict(metadata.families[name]) for name in families},
    }
    group = {"zarr_format": 3, "node_type": "group"}
    arrays = {f"{MATRICES}/{name}": _array(metadata, name) for name in families}
    return {
        **group,
        "attributes": signed(json.loads(json.dumps(attributes))),
        "consolidated_metadata": {
            "kind": "inline",
            "must_understand": False,
            "metadata": {MATRICES: {**group, "attributes": {}}, **arrays},
        },
    }


def _array(metadata: Metadata, family: str) -> dict[str, Any]:
    """Return what zarr needs to know of a family: one shard per piece."""
    grid, (n_samples, n_regions) = metadata.families[family], metadata.size
    count, square = len(grid.operators), [n_regions, n_regions]
    to_bytes = {"name": "bytes", "configuration": {"endian": "little"}}
    checksum = {"name": "crc32c"}
    compression = {"level": COMPRESSION_LEVEL, "checksum": False}
    sharding = {
        "chunk_shape": [1, grid.block_size, *square],
        "codecs": [to_bytes, {"name": "zstd", "configuration": compression}, checksum],
        "index_codecs": [to_bytes, checksum],
        "index_location": "end",
    }
    shard = {"chunk_shape": [count, grid.block_size, *square]}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [count, n_samples, *square],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": shard},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "NaN",
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "dimension_names": ["spi", "sample", "source", "target"],
        "attributes": {"spi": list(grid.operators)},
        "storage_transformers": [],
    }


def _read(path: Path) -> Metadata:
    store = path.parent
    try:
        content = json.loads(path.read_bytes())
        attributes = content["attributes"]
        if attributes["sclcs_kind"] == KIND:
            return _checked(store, content)
    except SclcsError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        if not store.exists():
            raise NotFoundError(
                f"Expected a {KIND} folder at {store}, but nothing is there; check the path."
            ) from error
        if (store / MATRICES).is_dir():
            raise _damaged(store) from error
    raise UnreadableFileError(
        f"Expected a {KIND} written by sclcs at {store}, but found something else; `sclcs compute` "
        "makes one in a new folder."
    )


def _checked(store: Path, content: Mapping[str, Any]) -> Metadata:
    about = dict(content["attributes"])
    about.pop("sclcs_kind")
    version = about.pop("format_version")
    if version != FORMAT_VERSION:
        raise UnreadableFileError(
            f"Expected an FC store of format {FORMAT_VERSION} at {store}, found format "
            f"{version!r}, written by sclcs {about.get('sclcs_version')}: update sclcs, or compute "
            "the store again."
        )
    rows = {name: OperatorRow(**row) for name, row in about.pop("operators").items()}
    grids = {
        name: Grid(row["block_size"], tuple(row["operators"]))
        for name, row in about.pop("families").items()
    }
    about.pop("digest")
    metadata = Metadata(about, rows, grids)
    if content != _content(metadata):
        raise _damaged(store)
    return metadata


def _damaged(store: Path) -> DamagedStoreError:
    return DamagedStoreError(
        f"The metadata of the {KIND} at {store} ({METADATA_FILE}) is damaged or gone; {RESUME}."
    )


_metadata = ReadOnce(_read, most=64)


def read_metadata(store: Path) -> Metadata:
    """Read the metadata of a store, again only if it has changed."""
    return _metadata(store / METADATA_FILE)


@dataclass(frozen=True)
class Piece:
    """Some operators of one family on one block of samples."""

    family: str
    block: int  # number of the block
    operators: tuple[str, ...]  # what there is to compute


def block_size_for(family: str, n_regions: int, n_timepoints: int) -> int:
    """Return the samples per piece of a family: at most two mebibytes per operator, and a minute.

    What decides is the law that ships with the package and never a measurement, so that stores
    of the same samples have the same files, whoever computes them on however many machines.
    """
    by_size = CHUNK_BYTES // (4 * n_regions * n_regions)
    by_time = SECONDS_PER_PIECE / cost_law(family).seconds_at(n_regions, n_timepoints)
    return max(1, min(MOST_SAMPLES_PER_PIECE, by_size, int(min(by_time, MOST_SAMPLES_PER_PIECE))))


def grid_for(family: str, block_size: int) -> Grid:
    """Return how a family is kept: room for all operators of the catalogue, computed or not."""
    members = tuple(name for name, row in operator_facts().items() if row.family == family)
    return Grid(block_size, members)


@dataclass(frozen=True)
class StoreLayout:
    """The files of an FC store. Small: it travels to workers with every piece."""

    path: Path  # the store's folder
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

    def n_matrices(self, piece: Piece) -> int:
        """Return how many matrices a piece of work has."""
        rows = self.block_rows(piece.family, piece.block)
        return len(piece.operators) * int(rows.stop - rows.start)

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
