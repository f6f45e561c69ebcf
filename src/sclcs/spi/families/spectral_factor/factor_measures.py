"""From minimum-phase factors of pairs to band statistics of directed measures."""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["measure"]

DTF, DCOH, GPDCOH, DDTF, SGC, REVERSED_SGC = range(6)
N_MEASURES = 6
MEAN = 0

Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]


@kernel
def measure(
    factors: Complex,
    power: Array,
    length: int,
    pairs: Integers,
    codes: Integers,
    bins: Integers,
    out: Array,
) -> None:
    """Fill ``out[operator, i, j]`` for the given pairs (i, j), and for sgc ``[j, i]`` too."""
    n_bins = (length + 1) // 2  # the measures leave the Nyquist frequency out
    values = np.empty((N_MEASURES, n_bins))
    transfer = np.empty((3, n_bins))
    for pair in range(pairs.shape[0]):
        i, j = pairs[pair]
        lag0 = _lag_zero(factors[pair], length)
        _transfer(factors[pair], lag0, transfer)
        s00 = lag0[0, 0] ** 2 + lag0[0, 1] ** 2
        s01 = lag0[0, 0] * lag0[1, 0] + lag0[0, 1] * lag0[1, 1]
        s11 = lag0[1, 0] ** 2 + lag0[1, 1] ** 2
        _shares(transfer, s00, s11, values)
        _causality(transfer[1], power[pair, 0], s11 - s01 * s01 / s00, values[SGC])
        _causality(transfer[2], power[pair, 1], s00 - s01 * s01 / s11, values[REVERSED_SGC])
        for operator in range(codes.shape[0]):
            code, statistic = codes[operator]
            first, end = bins[operator]
            if code != SGC:
                out[operator, i, j] = _reduce(values[code, first:end], statistic)
            elif i < j:
                out[operator, i, j] = _reduce(values[SGC, first:end], statistic)
                out[operator, j, i] = _reduce(values[REVERSED_SGC, first:end], statistic)


@kernel
def _lag_zero(factor: Complex, length: int) -> Array:
    """Return the mean of a factor over the whole circle of frequencies."""
    total = np.zeros((2, 2))
    for f in range(factor.shape[0]):
        weight = 1.0 if f == 0 or 2 * f == length else 2.0  # f and -f are conjugates
        for row in range(2):
            for column in range(2):
                total[row, column] += weight * factor[f, row, column].real
    return total / length


@kernel
def _transfer(factor: Complex, lag0: Array, transfer: Array) -> None:
    """Write abs(H00)^2, abs(H01)^2 and abs(H10)^2 of H = factor lag0^-1."""
    (p, q), (r, s) = (lag0[0, 0], lag0[0, 1]), (lag0[1, 0], lag0[1, 1])
    scale = 1.0 / (p * s - q * r)
    for f in range(transfer.shape[1]):
        a, b = factor[f, 0]
        c, d = factor[f, 1]
        h00, h01, h10 = (a * s - b * r) * scale, (b * p - a * q) * scale, (c * s - d * r) * scale
        transfer[0, f] = h00.real**2 + h00.imag**2
        transfer[1, f] = h01.real**2 + h01.imag**2
        transfer[2, f] = h10.real**2 + h10.imag**2


@kernel
def _shares(transfer: Array, s00: float, s11: float, values: Array) -> None:
    total = 0.0
    for f in range(transfer.shape[1]):
        own, other = transfer[0, f], transfer[1, f]
        row = own + other
        total += row
        values[DTF, f] = other / row
        values[DCOH, f] = other / sqrt(row)
        values[GPDCOH, f] = (other / s00) / (other / s00 + own / s11)
        values[DDTF, f] = other / sqrt(row)
    scale = 1.0 / sqrt(total)
    for f in range(transfer.shape[1]):
        values[DDTF, f] *= scale


@kernel
def _causality(other: Array, power: Array, noise: float, values: Array) -> None:
    for f in range(values.size):
        ratio = power[f] / (power[f] - noise * other[f])
        values[f] = log(ratio) if ratio > 1.0 else np.nan


@kernel
def _reduce(values: Array, statistic: int) -> float:
    """Return mean or maximum of the values that are not NaN."""
    total = 0.0
    highest = -np.inf
    count = 0
    for value in values:
        if value == value:  # noqa: PLR0124 - not NaN
            total += value
            highest = max(highest, value)
            count += 1
    if count == 0:
        return np.nan
    return total / count if statistic == MEAN else highest
