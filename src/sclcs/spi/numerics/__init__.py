"""Numerics that several rooms share: compiling, linear algebra, spectra, neighbours, optimisers.

==================================================  ==============================================
`arrays`, `jit`                                     what kernels work on, how they are compiled
`vector`, `lanes`, `small_linalg`, `exponential`    arithmetic in loops
`tapers`, `cross_spectrum`                          spectra
`neighbours`                                        sets of neighbours as bits
`alignment`, `soft_alignment`,                      warping of two series
`lockstep_alignment`
`line_search`, `quasi_newton`,                      optimisers
`bounded_minimiser`, `box_model`
`gaussian_process`, `local_likelihood`,             Gaussian processes of one variable
`smooth_likelihood`
==================================================  ==============================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sclcs._core.lazy import lazy_names

if TYPE_CHECKING:
    from sclcs.spi.numerics.compiling import (
        Array,
        fused_kernel,
        kernel,
        raising_kernel,
        reducing_kernel,
    )

__all__ = ["Array", "fused_kernel", "kernel", "raising_kernel", "reducing_kernel"]

# numba is loaded by those who need a kernel; the type of an array costs nothing.
_HOMES = dict.fromkeys(__all__, "sclcs.spi.numerics.compiling") | {
    "Array": "sclcs.spi.numerics.compiling"
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
