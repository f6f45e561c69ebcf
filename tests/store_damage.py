"""Damage to single matrices of an FC store, and stores as older versions wrote them."""

import json
import shutil
import zlib

import numpy as np
import zarr

from sclcs.core.seal import signed
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import seal_store
from sclcs.spi.packing.ledger import Ledger
from sclcs.store import checksum_of, encode_chunk


def stored(store, operator, block):
    """Return where an operator's matrices on a block are."""
    return Ledger(store.layout).one(operator_facts()[operator].family, block, operator)


def flip_chunk(store, operator, block):
    """Flip a byte in the middle of a chunk, wherever it is; return its file."""
    chunk = stored(store, operator, block)
    content = bytearray(chunk.file.read_bytes())
    start = bytes(content).index(chunk.read())
    content[start + len(chunk.read()) // 2] ^= 0xFF
    chunk.file.write_bytes(bytes(content))
    return chunk.file


def as_format_3(store, folder):
    """Copy a complete store as the third version wrote it: a file per operator and block."""
    shutil.copytree(store.path, folder)
    for place in ("matrices", "tasks", ".lock"):
        shutil.rmtree(folder / place, ignore_errors=True)
    layout, index = store.layout, {}
    group = zarr.open_group(str(folder), mode="a")
    matrices = group.create_group("matrices")
    records = {}
    for name in store.operators:
        values, stamp = store.matrices(name), store.stamp(name)
        shape = (layout.block_size, layout.n_regions, layout.n_regions)
        facts = {"version": stamp.version, "seed": stamp.seed}
        matrices.create_array(
            name, shape=values.shape, dtype=np.float32, chunks=shape, attributes=facts
        )
        index[name] = facts
        for block in range(layout.n_blocks):
            chunk = encode_chunk(values[layout.block_rows(block)], shape)
            (folder / "matrices" / name / f"c.{block}.0.0").write_bytes(chunk)
            entry = stored(store, name, block).entry
            row = {
                "version": stamp.version,
                "checksum": checksum_of(chunk),
                "seconds": entry.seconds,
                "exceptions": {str(k): list(why) for k, why in entry.exceptions.items()},
                "seed": stamp.seed,
                "copied_seconds": entry.copied_seconds,
            }
            records.setdefault((operator_facts()[name].family, block), {})[name] = row
    for (family, block), rows in records.items():
        (folder / "tasks" / family).mkdir(parents=True, exist_ok=True)
        checksum = zlib.crc32(json.dumps(rows, sort_keys=True).encode())
        content = {"checksum": checksum, "operators": rows}
        (folder / "tasks" / family / f"{block}.json").write_text(json.dumps(content))
    (folder / "operators.json").write_text(json.dumps(signed({"operators": index})))
    facts = dict(group.attrs)
    facts.pop("blocks_per_shard")
    group.attrs.put(facts | {"format_version": 3})
    seal_store(folder, store.fingerprint, layout.block_size, 0)
    return FCStore.open(folder)
