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

import lazy_loader

# numba is loaded by those who need a kernel.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
