"""Multitaper spectra and their measures per frequency, written from the definitions."""

from __future__ import annotations

import numpy as np
from scipy.signal.windows import dpss

# (time points, length of the transform): odd, even, padded, and F/4 on and off the grid
LENGTHS = {41: 45, 50: 50, 60: 60, 70: 72}


def fourier(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and coefficients (taper, region, frequency), from the definition."""
    n_times = x.shape[1]
    length = LENGTHS[n_times]
    bins = np.arange(-(-length // 2))
    waves = np.exp(-2j * np.pi * np.outer(np.arange(n_times), bins) / length)
    waves[:, 0] = 1.0
    return bins / length, (dpss(n_times, 3, 5)[:, None] * x) @ waves


def values(coefficients: np.ndarray) -> dict[str, np.ndarray]:
    """Every measure, shape (region, region, frequency)."""
    cross = coefficients[:, :, None] * coefficients[:, None, :].conj()
    n_tapers = len(cross)
    spectrum = cross.mean(axis=0)
    power = np.einsum("iif->if", spectrum).real
    coherency = spectrum / np.sqrt(power[:, None] * power[None, :])
    phasor = (cross / np.abs(cross)).sum(axis=0)
    imaginary = cross.imag.copy()
    imaginary[..., 0] = 0.0  # f = 0 is real by definition
    pli = np.sign(imaginary).mean(axis=0)
    total, weight = imaginary.sum(axis=0), np.abs(imaginary).sum(axis=0)
    squares = (imaginary**2).sum(axis=0)
    angle = np.angle(coherency)
    angle[..., 0] = np.where(coherency[..., 0].real < 0, np.pi, 0.0)
    weight[..., 0] = 1.0
    rest = np.where(squares > 0, weight**2 - squares, np.nan)
    return {
        "cohmag": np.abs(coherency) ** 2,
        "icoh": np.abs(total / n_tapers) / np.sqrt(power[:, None] * power[None, :]),
        "phase": angle,
        "plv": np.abs(phasor) / n_tapers,
        "ppc": (np.abs(phasor) ** 2 - n_tapers) / (n_tapers**2 - n_tapers),
        "pli": pli,
        "wpli": total / weight,
        "dspli": (n_tapers * pli**2 - 1) / (n_tapers - 1),
        "dswpli": (total**2 - squares) / rest,
        "psi": coherency,
    }
