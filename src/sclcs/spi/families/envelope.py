"""Power envelope correlation, plain and orthogonalised (``pec*``).

z is the analytic signal, m = abs(z) its envelope. For the orthogonalised members the part of z_i
orthogonal to z_j is o_ij = abs(Im(z_i conj(z_j))) / m_j. The numerator w is the same for (i, j)
and (j, i), so one pass over a pair (and one logarithm per time point) gives both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import scipy.fft

from sclcs.spi.numerics.compiling import Array, reducing_kernel
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "EnvelopeParameters", "compute"]


@dataclass(frozen=True)
class EnvelopeParameters:
    """Which envelope correlation.

    Parameters
    ----------
    orthogonal : bool
        Correlate the envelope of one row with the part of the other orthogonal to it.
    log : bool
        Use logarithms of squared envelopes.
    absolute : bool
        Average the absolute values of the two directions (orthogonal only).
    """

    orthogonal: bool
    log: bool
    absolute: bool = False


MEMBERS: Mapping[str, EnvelopeParameters] = MappingProxyType(
    {
        "pec": EnvelopeParameters(orthogonal=False, log=False),
        "pec_log": EnvelopeParameters(orthogonal=False, log=True),
        "pec_orth": EnvelopeParameters(orthogonal=True, log=False),
        "pec_orth_log": EnvelopeParameters(orthogonal=True, log=True),
        "pec_orth_abs": EnvelopeParameters(orthogonal=True, log=False, absolute=True),
        "pec_orth_log_abs": EnvelopeParameters(orthogonal=True, log=True, absolute=True),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested envelope correlations of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: samples are worked off one by one, pairs too.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    n_samples, n_regions, _ = signals.shape
    out = {name: np.zeros((n_samples, n_regions, n_regions)) for name in members}
    wanted = {MEMBERS[name] for name in members}
    for sample, rows in enumerate(signals):
        values = _of_one_sample(np.ascontiguousarray(rows), wanted)
        for name in members:
            out[name][sample] = values[MEMBERS[name]]
    return out


def _of_one_sample(
    rows: Array, wanted: Collection[EnvelopeParameters]
) -> dict[EnvelopeParameters, Array]:
    quadrature = _hilbert(rows)
    power = rows * rows + quadrature * quadrature
    values: dict[EnvelopeParameters, Array] = {}
    for log in sorted({parameters.log for parameters in wanted}):
        with np.errstate(divide="ignore", invalid="ignore"):
            envelope = np.log(power) if log else np.sqrt(power)
            unit = _centred_units(envelope)
            values[EnvelopeParameters(orthogonal=False, log=log)] = unit @ unit.T
        if any(parameters.orthogonal and parameters.log == log for parameters in wanted):
            signed, absolute = _orthogonal(rows, quadrature, envelope, unit, log)
            values[EnvelopeParameters(orthogonal=True, log=log)] = signed
            values[EnvelopeParameters(orthogonal=True, log=log, absolute=True)] = absolute
    return values


def _hilbert(rows: Array) -> Array:
    """Return the imaginary part of the analytic signal, zero-padded to a 5-smooth length."""
    n_times = rows.shape[-1]
    length = scipy.fft.next_fast_len(n_times, real=True)
    spectrum = scipy.fft.rfft(rows, length, axis=-1)
    spectrum[:, 0] = 0.0
    if length % 2 == 0:
        spectrum[:, -1] = 0.0  # the Nyquist bin has no negative twin
    quadrature: Array = scipy.fft.irfft(-1j * spectrum, length, axis=-1)[:, :n_times]
    return np.ascontiguousarray(quadrature)


def _centred_units(values: Array) -> Array:
    """Centre rows and give them unit norm; a constant row becomes zero, not NaN."""
    centred = values - values.mean(axis=-1, keepdims=True)
    norms = np.sqrt((centred * centred).sum(axis=-1, keepdims=True))
    norms[norms == 0.0] = 1.0
    units: Array = centred / norms
    return units


@reducing_kernel
def _orthogonal(  # noqa: C901, PLR0912 - parts are compiled anew in every caller
    real: Array, imag: Array, envelope: Array, unit: Array, log: bool
) -> tuple[Array, Array]:
    """Correlate envelopes, or (then given as) logarithms of their squares."""
    n_regions, n_times = real.shape
    signed, absolute = np.zeros((n_regions, n_regions)), np.zeros((n_regions, n_regions))
    inverse = np.empty((n_regions, n_times))
    for i in range(n_regions):
        for t in range(n_times):
            inverse[i, t] = envelope[i, t] if log else 1.0 / envelope[i, t]
    cross, part = np.empty(n_times), np.empty(n_times)
    for i in range(n_regions):
        for j in range(i):
            for t in range(n_times):
                cross[t] = abs(imag[i, t] * real[j, t] - real[i, t] * imag[j, t])
            if log:
                for t in range(n_times):
                    cross[t] = 2.0 * np.log(cross[t])
            for direction in range(2):
                other = i if direction else j
                if log:
                    for t in range(n_times):
                        part[t] = cross[t] - inverse[other, t]
                else:
                    for t in range(n_times):
                        part[t] = cross[t] * inverse[other, t]
                # Pearson correlation with a centred row of unit norm.
                total = product = squares = 0.0
                for t in range(n_times):
                    total += part[t]
                mean = total / n_times
                for t in range(n_times):
                    centred = part[t] - mean
                    product += centred * unit[other, t]
                    squares += centred * centred
                value = product / np.sqrt(squares) if squares != 0.0 else 0.0
                signed[i, j] += value / 2.0
                absolute[i, j] += abs(value) / 2.0
            signed[j, i], absolute[j, i] = signed[i, j], absolute[i, j]
    return signed, absolute
