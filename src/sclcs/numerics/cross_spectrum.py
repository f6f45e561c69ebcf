"""Cross spectrum of two regions along frequency: the inner loop of the multitaper families."""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["coherency", "cross_spectrum"]


@kernel
def cross_spectrum(
    real_i: Array, imag_i: Array, real_j: Array, imag_j: Array, re: Array, im: Array
) -> None:
    """Write sum_k X_k,i conj(X_k,j) for every frequency; inputs are (taper, frequency)."""
    n_tapers, n_bins = real_i.shape
    re[:] = 0.0
    im[:] = 0.0
    for k in range(n_tapers):
        for f in range(n_bins):
            re[f] += real_i[k, f] * real_j[k, f] + imag_i[k, f] * imag_j[k, f]
            im[f] += imag_i[k, f] * real_j[k, f] - real_i[k, f] * imag_j[k, f]


@kernel
def coherency(real: Array, imag: Array, scale: Array, i: int, j: int, re: Array, im: Array) -> None:
    """Write C(f) of regions i and j; `scale` is 1/sqrt(sum_k |X_k|^2), (region, frequency)."""
    cross_spectrum(real[i], imag[i], real[j], imag[j], re, im)
    scale_i = scale[i]
    scale_j = scale[j]
    for f in range(re.size):
        weight = scale_i[f] * scale_j[f]
        re[f] *= weight
        im[f] *= weight
