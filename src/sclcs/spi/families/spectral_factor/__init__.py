"""Directed spectral measures of pairs from the minimum-phase factor of their spectrum.

With psi the factor of the 2 x 2 multitaper spectrum of regions (i, j) (see `wilson`), psi_0 its
lag 0, H = psi psi_0^-1 the transfer function and Sigma = psi_0 psi_0^T the noise covariance, the
influence of j on i at a frequency is

=======  =====================================================================
dtf      |H01|^2 / (|H00|^2 + |H01|^2)
pdcoh    column-normalised |H^-1|^2: for two regions the same number as dtf
dcoh     |H01|^2 / sqrt(|H00|^2 + |H01|^2)
gpdcoh   as pdcoh, with the rows of H^-1 divided by the noise deviations
ddtf     |H01| sqrt(pdcoh) / sqrt(sum over all frequencies of |H00|^2 + |H01|^2)
sgc      Geweke's causality ln( S00 / (S00 - (Sigma11 - Sigma01^2/Sigma00) |H01|^2) )
=======  =====================================================================

All matrices are oriented column -> row. The first five take a factorisation per *ordered* pair;
sgc takes both directions from that of (earlier region, later region), and skips values <= 0.
Bands leave out their ends for the first five, and frequency 0 for sgc.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.tapers import band_bins, frequency_grid, smooth_length, spectra, tapers
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.multitaper import BANDS, STATISTICS, BandStatistic
from sclcs.spi.families.spectral_factor import factor_measures as kernels
from sclcs.spi.families.spectral_factor.wilson import (
    PAIR_BYTES_PER_BIN,
    factorise_pairs,
    pair_spectra,
)

__all__ = ["MEMBERS", "compute"]

MEASURES = {
    "dtf": kernels.DTF,
    "pdcoh": kernels.DTF,
    "dcoh": kernels.DCOH,
    "gpdcoh": kernels.GPDCOH,
    "ddtf": kernels.DDTF,
    "sgc": kernels.SGC,
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
                kernels.measure(factors, power, length, some, codes, bins, result[sample])
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
