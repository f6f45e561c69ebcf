"""Seeds hashed by axis, so that results depend on nothing but the base seed.

A child seed is a hash of the base seed and the names of the axes it belongs to
(component, repeat, sample id, ...). It never depends on the order of the work,
the number of workers or the block size, and no global generator is touched.
"""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["child_seed", "generator"]

_SEPARATOR = b"\x1f"  # ASCII unit separator: cannot be confused with a part of a name


def child_seed(base: int, *axes: object) -> int:
    """Hash a base seed and axis names into a seed of 63 bits.

    Parameters
    ----------
    base : int
        The user's seed.
    *axes : object
        What the seed is for, from coarse to fine, for example
        ``("simulate", "subject", 12)``. Compared by ``repr``.

    Returns
    -------
    int
        Between 0 and 2**63 - 1.

    Examples
    --------
    >>> child_seed(0, "draw") == child_seed(0, "draw")
    True
    >>> child_seed(0, "draw", 1) == child_seed(0, "draw", 2)
    False
    """
    parts = [repr(int(base)), *(repr(axis) for axis in axes)]
    digest = hashlib.sha256(_SEPARATOR.join(part.encode() for part in parts)).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(base: int, *axes: object) -> np.random.Generator:
    """Return a numpy generator seeded by :func:`child_seed`."""
    return np.random.Generator(np.random.PCG64(child_seed(base, *axes)))
