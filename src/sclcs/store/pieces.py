"""The file of a piece: matrices of a family on a block of samples, and what became of them.

It is a shard of the family's zarr array, with a head that zarr passes over, because the index at
the end says where every chunk is::

    length, head (JSON, CRC-32C) | chunk of an operator (CRC-32C) | ... | index (CRC-32C)

A file appears whole, so a piece is done or it is not, whenever a process is killed. Operators that
are computed later are added by writing it again.

We write the bytes that zarr's codecs would (a test holds both together): its own writer takes
several milliseconds per chunk (an event loop, a thread, a read of what was there before), which is
more than many operators need to compute it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sclcs._core import DamagedStoreError, ReadOnce, explain_write_errors, write_bytes
from sclcs.spi import Stamp, operator_facts
from sclcs.store.layout import COMPRESSION_LEVEL, StoreLayout

Span = tuple[int, int]

DAMAGED = "damaged"
CHECKSUM_BYTES = 4
_LENGTH = struct.Struct("<I")
#: What the index of a shard says of a chunk that is not there.
_ABSENT = 2**64 - 1


def sealed(payload: bytes) -> bytes:
    """Return bytes with their CRC-32C at the end, as zarr's codec of that name appends it."""
    import google_crc32c

    return payload + int(google_crc32c.value(payload)).to_bytes(CHECKSUM_BYTES, "little")


def checksum_of(content: bytes) -> str:
    """Return the checksum at the end of sealed bytes, or ``damaged`` if they do not agree."""
    import google_crc32c

    stored = int.from_bytes(content[-CHECKSUM_BYTES:], "little")
    whole = len(content) > CHECKSUM_BYTES
    intact = whole and int(google_crc32c.value(content[:-CHECKSUM_BYTES])) == stored
    return f"{stored:08x}" if intact else DAMAGED


def encode_chunk(values: NDArray[np.float32], chunk_shape: Sequence[int]) -> bytes:
    """Return the bytes of one whole chunk; what `values` leaves of its shape is NaN."""
    from numcodecs.zstd import Zstd

    whole = np.full(tuple(chunk_shape), np.nan, dtype="<f4")
    whole[tuple(slice(size) for size in values.shape)] = values
    return sealed(bytes(Zstd(level=COMPRESSION_LEVEL).encode(whole)))


def decode_chunk(
    content: bytes, chunk_shape: Sequence[int], expected: str | None = None
) -> NDArray[np.float32]:
    """Return the numbers of a chunk from :func:`encode_chunk`.

    Raises
    ------
    ValueError
        If the content does not agree with its checksum, or that not with the recorded one:
        though intact, it is not the chunk that was written there.
    """
    from numcodecs.zstd import Zstd

    found = checksum_of(content)
    if found == DAMAGED or expected not in {None, found}:
        raise ValueError("a chunk is not the one that was written")
    try:
        numbers = Zstd().decode(content[:-CHECKSUM_BYTES])
    except RuntimeError as error:
        raise ValueError("a chunk cannot be decoded") from error
    return np.frombuffer(numbers, dtype="<f4").reshape(tuple(chunk_shape))


def shard_index(spans: Mapping[int, Span], count: int) -> bytes:
    """Return the index with which a shard of `count` chunks ends: where each that is there is."""
    table = np.full((count, 2), _ABSENT, dtype="<u8")
    for number, span in spans.items():
        table[number] = span
    return sealed(table.tobytes())


@dataclass(frozen=True)
class Entry:
    """One operator on one block: done."""

    version: str  # from :func:`sclcs.spi.versions.operator_version`
    checksum: str  # of the chunk, from :func:`checksum_of`
    seconds: float  # CPU time in the kernel; operators of a family share theirs equally
    #: Status and reason of the samples that are not ``ok``, by row in the block.
    exceptions: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    seed: int | None = None  # the user's, if the operator draws random numbers
    #: The part of `seconds` that was spent before, for matrices copied from another store.
    copied_seconds: float = 0.0

    @property
    def stamp(self) -> Stamp:
        """What decided the numbers."""
        return Stamp(self.version, self.seed)


@dataclass(frozen=True)
class PieceContent:
    """What a piece holds."""

    entries: Mapping[str, Entry] = field(default_factory=dict)  # what became of its operators
    #: Start and length of their chunks in the file; not of those that were not kept.
    spans: Mapping[str, Span] = field(default_factory=dict)
    #: Family, block, block size and samples (a digest), so that a misplaced file is noticed, and
    #: the metadata of a store can be made again from its pieces.
    origin: Mapping[str, object] = field(default_factory=dict)
    #: Whether the file is there but is not what was written: nothing of it counts.
    damaged: bool = False


def _read(path: Path) -> PieceContent:
    try:
        with path.open("rb") as stream:
            (length,) = _LENGTH.unpack(stream.read(_LENGTH.size))
            head = stream.read(length)
        if checksum_of(head) == DAMAGED:
            return PieceContent(damaged=True)
        content = json.loads(head[:-CHECKSUM_BYTES])
        origin = content["origin"]
        if path.parent.name != origin["family"] or path.name.split(".")[2] != str(origin["block"]):
            return PieceContent(damaged=True)
        entries = {name: _entry(row) for name, row in content["operators"].items()}
        spans, start = {}, _LENGTH.size + length
        for name, size in content["bytes"].items():
            spans[name] = (start, size)
            start += size
    except FileNotFoundError:
        return PieceContent()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error):
        return PieceContent(damaged=True)
    return PieceContent(entries, spans, origin)


def _entry(row: dict[str, object]) -> Entry:
    exceptions = row.pop("exceptions")
    if not isinstance(exceptions, dict):
        raise TypeError("exceptions are by sample")
    pairs = {int(sample): (str(status), str(why)) for sample, (status, why) in exceptions.items()}
    return Entry(exceptions=pairs, **row)  # type: ignore[arg-type]


_pieces = ReadOnce(_read, most=8192)


def read_piece(path: Path) -> PieceContent:
    """Return what a piece holds, from its head; chunks may be damaged. Nothing if it is absent."""
    return _pieces(path)


def write_piece_file(
    layout: StoreLayout,
    family: str,
    block: int,
    entries: Mapping[str, Entry],
    chunks: Mapping[str, bytes],
) -> None:
    """Write a piece in one step: what became of operators, and their chunks if they are kept."""
    path, metadata = layout.piece_file(family, block), layout.metadata()
    grid = metadata.families[family]
    names = [name for name in grid.operators if name in entries]
    kept = [name for name in names if name in chunks]
    content = {
        "origin": {
            "family": family,
            "block": block,
            "block_size": grid.block_size,
            "samples": metadata.about["samples"],
        },
        "operators": {name: asdict(entries[name]) for name in names},
        "bytes": {name: len(chunks[name]) for name in kept},
    }
    head = sealed(json.dumps(content).encode())
    start, spans = _LENGTH.size + len(head), {}
    for name in kept:
        spans[grid.operators.index(name)] = (start, len(chunks[name]))
        start += len(chunks[name])
    index = shard_index(spans, len(grid.operators))
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    parts = [_LENGTH.pack(len(head)), head, *(chunks[name] for name in kept), index]
    # Chunks have checksums: what a power cut takes before the end of a computation, which waits
    # for the disk, is noticed and made again.
    write_bytes(path, b"".join(parts), durable=False)
    _pieces.forget(path)


def remove_from_piece(
    layout: StoreLayout, family: str, block: int, operators: Collection[str], *, entries: bool
) -> int:
    """Remove matrices of operators from a piece; return how many bytes smaller it is.

    With `entries` what became of them is forgotten as well.
    """
    path = layout.piece_file(family, block)
    held = read_piece(path)
    gone = (held.entries if entries else held.spans).keys() & set(operators)
    if not gone:
        return 0
    content = path.read_bytes()
    rest = {name: e for name, e in held.entries.items() if not (entries and name in gone)}
    if not rest:
        path.unlink()
        _pieces.forget(path)
        return len(content)
    chunks = {
        name: content[start : start + size]
        for name, (start, size) in held.spans.items()
        if name not in gone
    }
    write_piece_file(layout, family, block, rest, chunks)
    return len(content) - path.stat().st_size


@dataclass(frozen=True)
class StoredChunk:
    """One operator on one block: what became of it, and where its matrices are."""

    entry: Entry
    file: Path
    span: Span | None  # start and length in the file; None if the matrices were not kept

    def read(self) -> bytes:
        """Return the bytes of the chunk."""
        if self.span is None:
            raise ValueError("the matrices were not kept")
        with self.file.open("rb") as stream:
            stream.seek(self.span[0])
            return stream.read(self.span[1])

    def is_intact(self) -> bool:
        """Read the chunk and say whether it is the one that was written."""
        try:
            return checksum_of(self.read()) == self.entry.checksum
        except (OSError, ValueError):
            return False


def index_is_intact(layout: StoreLayout, family: str, block: int) -> bool:
    """Say whether a piece ends with the index with which it was written."""
    path, grid = layout.piece_file(family, block), layout.grid(family)
    held = read_piece(path)
    spans = {grid.operators.index(name): span for name, span in held.spans.items()}
    expected = shard_index(spans, len(grid.operators))
    with path.open("rb") as stream:
        stream.seek(max((sum(span) for span in spans.values()), default=0))
        found = stream.read()
    return found.endswith(expected) and (not spans or found == expected)


def find_chunks(layout: StoreLayout, family: str, block: int) -> dict[str, StoredChunk]:
    """Return what is done of a family on a block, by operator.

    What was made by other code or with another seed than the store's does not count.
    """
    path, known = layout.piece_file(family, block), layout.metadata().operators
    held = read_piece(path)
    return {
        name: StoredChunk(entry, path, held.spans.get(name))
        for name, entry in held.entries.items()
        if name in known and entry.stamp == known[name].stamp
    }


def read_rows(
    layout: StoreLayout, operator: str, rows: NDArray[np.int64], done: Mapping[int, StoredChunk]
) -> NDArray[np.float32]:
    """Read matrices (row, source, target); those of samples of blocks not in `done` are NaN."""
    shape = layout.chunk_shape(operator_facts()[operator].family)
    found = np.full((len(rows), *shape[1:]), np.nan, dtype=np.float32)
    block_of_row = rows // shape[0]
    for block, chunk in done.items():
        wanted = np.flatnonzero(block_of_row == block)
        if len(wanted):
            try:
                matrices = decode_chunk(chunk.read(), shape, chunk.entry.checksum)
            except (OSError, ValueError) as error:
                raise DamagedStoreError(f"Matrices in {chunk.file} are gone or damaged.") from error
            found[wanted] = matrices[rows[wanted] - block * shape[0]]
    return found
