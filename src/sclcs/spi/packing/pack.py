"""Make shards of the pieces of work.

Shards come first, then the record that names them, then the pieces go: whenever a process is
killed, a matrix is in a piece or in a recorded shard. One packs a shard at a time (a lock of the
operating system, which vanishes with its holder); whoever cannot get it leaves the pieces to the
next. A few locks serve all shards: hundreds of jobs do not wait for one, nor make a file for each.
"""

from __future__ import annotations

import zlib
from contextlib import suppress

from filelock import FileLock, Timeout

from sclcs.core.files import explain_write_errors, settle
from sclcs.spi.fc_layout import LOCKS, StoreLayout
from sclcs.spi.fc_records import OperatorEntry
from sclcs.spi.packing.ledger import Ledger, StoredChunk
from sclcs.spi.packing.piece_files import read_piece_file
from sclcs.spi.packing.shard_records import column_of, read_columns, write_columns
from sclcs.store import checksum_of, write_shard

__all__ = ["PACKING", "pack_shard"]

PACKING = "packing-"

SECONDS_TO_WAIT = 60
LOCK_FILES = 16


def pack_shard(layout: StoreLayout, family: str, shard: int) -> None:
    """Pack the operators of a family that are done on every block of a shard."""
    if not layout.piece_files(family, shard):
        return
    number = zlib.crc32(f"{family}/{shard}".encode()) % LOCK_FILES
    lock = FileLock(layout.path / LOCKS / f"{PACKING}{number}")
    with explain_write_errors(layout.path):
        (layout.path / LOCKS).mkdir(exist_ok=True)
        try:
            lock.acquire(timeout=SECONDS_TO_WAIT)
        except Timeout:
            return
        try:
            _pack(layout, family, shard)
        finally:
            lock.release()


def _pack(layout: StoreLayout, family: str, shard: int) -> None:
    index = layout.index()
    ledger = Ledger(layout, index)
    blocks = [ledger.of(family, block) for block in layout.shard_blocks(shard)]
    pieces = layout.piece_files(family, shard)
    names = {name for path in pieces for name in read_piece_file(path)}
    done = [name for name in sorted(names) if all(name in found for found in blocks)]
    files = layout.shard_files(done, shard, index)
    packed: dict[str, list[OperatorEntry]] = {}
    for name in done:
        content = _read([found[name] for found in blocks])
        if content is not None:
            # One operator at a time: a shard is tens of megabytes.
            write_shard(files[name], content, layout.blocks_per_shard)
            packed[name] = [found[name].entry for found in blocks]
    if packed:
        settle([files[name] for name in packed])
        record = layout.record_file(family, shard)
        columns = read_columns(record) | {name: column_of(e) for name, e in packed.items()}
        write_columns(record, columns)
        settle([record])
    waiting = {*index.stamps, *index.unknown} - packed.keys()
    for path in pieces:
        held = read_piece_file(path).keys()
        if held and not held & waiting:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # not empty: other pieces are waiting
        folder = layout.piece_folder(family, shard)
        folder.rmdir()
        folder.parent.rmdir()


def _read(blocks: list[StoredChunk]) -> list[bytes] | None:
    """Read the chunks of a shard; None if one is not what was written."""
    content = []
    for chunk in blocks:
        try:
            found = chunk.read()
        except (OSError, ValueError):
            return None
        if checksum_of(found) != chunk.entry.checksum:
            return None
        content.append(found)
    return content
