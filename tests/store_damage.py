"""Damage to single matrices of an FC store."""

from sclcs.spi import operator_facts
from sclcs.store.pieces import find_chunks


def stored(store, operator, block):
    """Return where an operator's matrices on a block are."""
    return find_chunks(store.layout, operator_facts()[operator].family, block)[operator]


def flip_chunk(store, operator, block):
    """Flip a byte in the middle of a chunk; return its file."""
    chunk = stored(store, operator, block)
    content = bytearray(chunk.file.read_bytes())
    content[chunk.span[0] + chunk.span[1] // 2] ^= 0xFF
    chunk.file.write_bytes(bytes(content))
    return chunk.file


def piece_files(store, operator):
    """Return the files of an operator's family."""
    return sorted(store.layout.family_folder(operator_facts()[operator].family).glob("c.*"))
