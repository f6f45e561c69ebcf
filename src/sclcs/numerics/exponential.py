"""The exponential for compiled loops.

numba calls the C library's ``exp`` once per number. Written as plain arithmetic, the
same function is inlined and vectorised by LLVM, which is worth a factor of three, at an error
of one unit in the last place.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from sclcs.numerics.jit import fused_kernel, kernel
from sclcs.numerics.lanes import (
    Lanes,
    add,
    add_product,
    maximum,
    multiply,
    power_of_two,
    spread,
    subtract,
)

__all__ = ["exp_of_negative", "exp_of_negative_lanes"]

_LOWEST = -700.0  # exp of this is 1e-304: as good as zero, and still a normal number
_LOG2_E = 1.4426950408889634
# log(2) in two parts; multiples of the first up to 2**11 are exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding this rounds a number to an integer and leaves that integer in the lowest bits.
_ROUNDER = 1.5 * 2.0**52
_BIAS, _MANTISSA_BITS = np.int64(1023), np.int64(52)
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(k) for k in range(3, 14)
)


@fused_kernel
def exp_of_negative(x: float) -> float:
    """Return exp(x) for x <= 0: 2**k times the Taylor polynomial of the rest, |rest| < 0.35."""
    x = max(x, _LOWEST)
    shifted = x * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (0.5 + _C3 * r) * r2
    low += ((_C4 + _C5 * r) + (_C6 + _C7 * r) * r2) * r4
    high = (_C8 + _C9 * r) + (_C10 + _C11 * r) * r2 + (_C12 + _C13 * r) * r4
    power = (np.float64(shifted).view(np.int64) + _BIAS) << _MANTISSA_BITS
    return (low + high * (r4 * r4)) * np.int64(power).view(np.float64)


@kernel
def exp_of_negative_lanes(x: Lanes) -> Lanes:
    """Do the same for eight numbers, in the same order."""
    x = maximum(x, spread(_LOWEST))
    shifted = add_product(spread(_ROUNDER), x, spread(_LOG2_E))
    k = subtract(shifted, spread(_ROUNDER))
    r = add_product(add_product(x, k, spread(-_LN2_HIGH)), k, spread(-_LN2_LOW))
    r2 = multiply(r, r)
    r4 = multiply(r2, r2)
    low = add_product(add(spread(1.0), r), _line(0.5, _C3, r), r2)
    low = add_product(low, add_product(_line(_C4, _C5, r), _line(_C6, _C7, r), r2), r4)
    high = add_product(_line(_C8, _C9, r), _line(_C10, _C11, r), r2)
    high = add_product(high, _line(_C12, _C13, r), r4)
    return multiply(add_product(low, high, multiply(r4, r4)), power_of_two(shifted))


@kernel
def _line(start: float, slope: float, r: Lanes) -> Lanes:
    return add_product(spread(start), spread(slope), r)
