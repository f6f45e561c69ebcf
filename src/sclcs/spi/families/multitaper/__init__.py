"""Multitaper spectral measures: coherence, phase locking, phase lag, phase slope.

One Fourier transform per sample and one pass over the pairs serve every measure, band
and statistic. With X_k,i(f) the coefficient of region i under taper k (K tapers),
G_k = X_k,i conj(X_k,j), S = mean_k G_k, P_i = S_ii and C = S / sqrt(P_i P_j), the values
per frequency are

========  ===================================================
cohmag    abs(C)^2
icoh      abs(Im C)
phase     angle(C)
plv       abs(mean_k G_k/abs(G_k))
ppc       (abs(sum_k G_k/abs(G_k))^2 - K) / (K^2 - K)
pli       mean_k sign(Im G_k), signed
wpli      sum_k Im G_k / sum_k abs(Im G_k), signed
dspli     (K pli^2 - 1) / (K - 1)
dswpli    ((sum Im)^2 - sum Im^2) / ((sum abs Im)^2 - sum Im^2)
========  ===================================================

reduced over a band (ends included) by a mean or a maximum that skips NaN. The phase
slope index is Im sum_{a<b} conj(C(f_a)) C(f_b) over the thinned interior of the band.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.tapers import band_bins, decimation, frequency_grid, spectra, tapers
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.multitaper import kernels

__all__ = ["MEMBERS", "BandStatistic", "compute"]

MEASURES = {
    "cohmag": kernels.COHMAG,
    "icoh": kernels.ICOH,
    "phase": kernels.PHASE,
    "plv": kernels.PLV,
    "ppc": kernels.PPC,
    "pli": kernels.PLI,
    "wpli": kernels.WPLI,
    "dspli": kernels.DSPLI,
    "dswpli": kernels.DSWPLI,
    "psi": kernels.PSI,
}
STATISTICS = {"mean": kernels.MEAN, "max": kernels.MAX}
BANDS = {
    "fmin-0_fmax-0-5": (0.0, 0.5),
    "fmin-0_fmax-0-25": (0.0, 0.25),
    "fmin-0-25_fmax-0-5": (0.25, 0.5),
}


@dataclass(frozen=True)
class BandStatistic:
    """One operator: a measure, how it is reduced over frequency, and the band.

    Parameters
    ----------
    measure : str
        A key of the table above, or ``"psi"``.
    statistic : {"mean", "max"}
        Reduction over the band; psi has none, its name only says "mean".
    lowest, highest : float
        Band in cycles per sample.
    """

    measure: str
    statistic: str
    lowest: float
    highest: float


def _members() -> dict[str, BandStatistic]:
    return {
        f"{measure}_multitaper_{statistic}_fs-1_{label}": BandStatistic(measure, statistic, *band)
        for measure in MEASURES
        for statistic in (("mean",) if measure == "psi" else STATISTICS)
        for label, band in BANDS.items()
    }


MEMBERS: Mapping[str, BandStatistic] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute multitaper band statistics for every sample and pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: the pass over the pairs has no temporaries larger than its input.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
        Symmetric, antisymmetric or (for maxima of signed measures) neither.
    """
    del context
    names = list(members)
    n_samples, n_regions, n_times = signals.shape
    # Samples first: the kernel is given contiguous matrices, however many samples there are.
    result = np.full((n_samples, len(names), n_regions, n_regions), np.nan)
    if len(tapers(n_times)) > 1:  # one taper alone has no spread over tapers to average
        plan = _plan([MEMBERS[name] for name in names], n_times)
        for sample in range(n_samples):
            transform = spectra(signals[sample])
            kernels.all_pairs(transform.real, transform.imag, *plan, result[sample])
    return {name: result[:, place] for place, name in enumerate(names)}


def _plan(
    chosen: list[BandStatistic], n_times: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Translate operators to integers for the kernel.

    Returns
    -------
    codes : array, shape (operator, 3)
        Measure, statistic, band.
    bins : array, shape (band, 2)
        Half-open bin ranges, ends of the band included.
    slopes : array, shape (band, 3)
        First bin, end and step for the phase slope index.
    needed : array, shape (measure, band)
        What has to be computed at all.
    """
    frequencies = frequency_grid(n_times)
    bands = list(BANDS.values())
    codes = np.array(
        [
            (MEASURES[c.measure], STATISTICS[c.statistic], bands.index((c.lowest, c.highest)))
            for c in chosen
        ],
        dtype=np.int64,
    ).reshape(-1, 3)
    bins = np.array([band_bins(frequencies, *band) for band in bands], dtype=np.int64)
    slopes = np.array(
        [
            (*band_bins(frequencies, *band, strict=True), decimation(frequencies, *band))
            for band in bands
        ],
        dtype=np.int64,
    )
    needed = np.zeros((kernels.N_MEASURES, len(bands)), dtype=np.bool_)
    needed[codes[:, 0], codes[:, 2]] = True
    return codes, bins, slopes, needed
