"""Damage to bytes, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["mutate"]


def _flip(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    content[place] ^= 1 << draw.randrange(8)


def _overwrite(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    count = draw.choice([1, 2, 4, 8, 64])
    value = draw.choice([b"\x00", b"\xff", b"\x7f", b"9", b"-", draw.randbytes(1)])
    content[place : place + count] = value * min(count, len(content) - place)


def _cut(content: bytearray, draw: random.Random) -> None:
    del content[draw.randrange(len(content)) :]


def _drop(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    del content[place : place + draw.choice([1, 2, 16, 300])]


def _repeat(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    part = content[place : place + draw.choice([1, 8, 200])]
    content[place:place] = part


def _insert(content: bytearray, draw: random.Random) -> None:
    place = draw.randrange(len(content))
    texts = [b"nan", b"inf", b"1e999", b'"', b",", b"\n", b"\t", b"\x00", b"\xf0\x9f", b"[" * 50]
    content[place:place] = draw.choice(texts)


def _head(content: bytearray, draw: random.Random) -> None:
    """Damage the first bytes, where headers are."""
    place = draw.randrange(min(400, len(content)))
    content[place] = draw.randrange(256)


_WAYS: list[Callable[[bytearray, random.Random], None]] = [
    *(_flip, _overwrite, _cut, _drop, _repeat, _insert, _head, _head)
]


def mutate(content: bytes, draw: random.Random, most: int = 3) -> bytes:
    """Return damaged content; it differs from what was given.

    Parameters
    ----------
    content : bytes
    draw : random.Random
    most : int
        How many kinds of damage at once.

    Returns
    -------
    bytes
    """
    damaged = bytearray(content)
    for _ in range(draw.randint(1, most)):
        if damaged:
            draw.choice(_WAYS)(damaged, draw)
    return bytes(damaged) if bytes(damaged) != content else content[:-1]
