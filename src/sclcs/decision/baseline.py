"""A baseline without connectivity: what regions do by themselves, and how much people moved.

Variance, lag-1 autocorrelation and the slope of the spectrum of every region (Bryant et al.
2024); motion, if the table has it. Where it does as well as connectivity, connectivity is not
needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.decision.kernels import centred_kernel

__all__ = ["WITHOUT", "baseline_kernel", "regional_features"]

Floats = NDArray[np.float64]
WITHOUT = "without connectivity"
FEWEST_TIMES = 4


def regional_features(series: Floats) -> Floats:
    """Return log variance, lag-1 autocorrelation and spectral slope (3, region) of a scan.

    Parameters
    ----------
    series : array, shape (time, region)
    """
    if len(series) < FEWEST_TIMES:
        raise InputError(
            f"The baseline needs at least {FEWEST_TIMES} time points, found {len(series)}."
        )
    centred = series - series.mean(axis=0)
    power = (centred**2).mean(axis=0)
    safe = np.where(power > 0, power, 1.0)
    lagged = (centred[1:] * centred[:-1]).mean(axis=0) / safe
    spectrum = np.abs(np.fft.rfft(centred / np.sqrt(safe), axis=0))[1:] ** 2
    slope = np.log(np.arange(1, len(spectrum) + 1))
    slope -= slope.mean()
    return np.stack([np.log(safe), lagged, slope @ np.log(spectrum + 1e-12) / (slope @ slope)])


def baseline_kernel(
    scans: Sequence[Floats], motion: Floats | None = None, hat: Floats | None = None
) -> NDArray[np.float32]:
    """Return the kernel of scans by their regions alone, with trace n.

    Parameters
    ----------
    scans : sequence of array, shape (time, region)
    motion : array, shape (scan,), optional
        Mean framewise displacement; counts as much as one of the three regional features.
    hat : array, shape (scan, column), optional
        Orthonormal basis of covariates with an intercept.
    """
    regional = np.stack([regional_features(np.asarray(scan, dtype=np.float64)) for scan in scans])
    parts = [regional[:, kind] for kind in range(regional.shape[1])]
    if motion is not None:
        parts.append(motion[:, None])
    kernels = []
    for part in parts:
        spread = part.std(axis=0)
        if not (spread > 0).any():
            continue
        even = (part - part.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        kernels.append(centred_kernel(even.astype(np.float32), hat))
    if not kernels:
        raise InputError("All scans have the same regional features: there is no baseline.")
    return np.asarray(sum(kernels) / len(kernels), dtype=np.float32)
