"""Samples of unequal length in one array: the end of the shorter ones is NaN.

A cohort keeps its signals as one array (sample, region, time). Where samples differ in length, the
column ``n_timepoints`` of the table of samples says how long each really is, and the rest of its
row is NaN. Whoever uses signals cuts each sample to its own length first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.signals import SignalArray, iterate_rows
from sclcs.core.errors import InputError, name_first

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort

__all__ = [
    "LENGTH_COLUMN",
    "by_length",
    "iterate_samples",
    "padded",
    "require_equal_lengths",
    "sample_lengths",
]

LENGTH_COLUMN = "n_timepoints"

Lengths = NDArray[np.int64]
Floats = NDArray[np.float32]


def sample_lengths(samples: pd.DataFrame, longest: int) -> Lengths:
    """Return the time points of each sample.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample; without the column ``n_timepoints`` all are `longest`.
    longest : int
        The time axis of the signals.

    Returns
    -------
    ndarray of int64
    """
    if LENGTH_COLUMN not in samples.columns:
        return np.full(len(samples), longest, dtype=np.int64)
    column = pd.to_numeric(samples[LENGTH_COLUMN], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~((column >= 2) & (column <= longest) & (column == np.rint(column)))
    if wrong.any():
        raise InputError(
            f"Expected whole numbers from 2 to {longest} (the time axis) in the column "
            f"{LENGTH_COLUMN}, which says how long each sample is; others in "
            f"{name_first(samples.index[wrong])}; correct the column, or rename it if it means "
            "something else."
        )
    return column.astype(np.int64)


def by_length(lengths: Lengths) -> list[tuple[int, NDArray[np.int64]]]:
    """Group samples of one length: the length and their row numbers, the shortest first."""
    return [(int(n), np.flatnonzero(lengths == n)) for n in np.unique(lengths)]


def padded(signals: Floats, longest: int) -> Floats:
    """Fill up signals (..., time) with NaN to a length."""
    missing = longest - signals.shape[-1]
    widths = [(0, 0)] * (signals.ndim - 1) + [(0, missing)]
    return np.pad(signals, widths, constant_values=np.nan)


def iterate_samples(
    signals: SignalArray, lengths: Lengths
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Go through samples in blocks of one length.

    Parameters
    ----------
    signals : ndarray or LazySignals, shape (sample, region, time)
        What to read.
    lengths : ndarray of int64
        Of each sample.

    Yields
    ------
    rows : ndarray of int64
        Which samples; every one comes once, in order where all have one length.
    block : ndarray, shape (row, region, length)
        Their signals without padding.
    """
    start = 0
    for block in iterate_rows(signals):
        for length, places in by_length(lengths[start : start + len(block)]):
            yield places + start, block[places][:, :, :length]
        start += len(block)


def require_equal_lengths(cohort: Cohort, who: str) -> None:
    """Refuse a cohort of unequal lengths where all samples must have one.

    Parameters
    ----------
    cohort : Cohort
    who : str
        What needs them, as the beginning of a sentence, for example ``"The encoder"``.
    """
    if cohort.equal_lengths:
        return
    lengths = cohort.lengths
    raise InputError(
        f"{who} needs samples of one length, but this cohort's have {lengths.min()} to "
        f"{lengths.max()} time points; cut windows (--length) or the first n time points "
        "(--truncate n), or choose a method that compares matrices."
    )
