"""Signals from data frames: one column per region, one row per time point.

Arrays are (sample, region, time) everywhere in the package; data frames are tables, and a table of
time series has a column per region. Turning one into the other happens here and nowhere else.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import AxesWarning, InputError, name_first

__all__ = ["NamedSignals", "signals_of_frames", "warn_if_swapped"]


@dataclass(frozen=True)
class NamedSignals:
    """Signals with the names that their data frames had.

    Parameters
    ----------
    array : array, shape (sample, region, time)
        The end of samples that are shorter than the others is NaN.
    regions : tuple of str
        The columns.
    lengths : array of int, shape (sample,)
        Time points of each sample.
    samples : list of str or None
        The names of the frames, if they came in a mapping.
    """

    array: NDArray[np.float64]
    regions: tuple[str, ...]
    lengths: NDArray[np.int64]
    samples: list[str] | None = None


def signals_of_frames(signals: object) -> NamedSignals | None:
    """Return the signals of one data frame (time x region), or of several.

    Parameters
    ----------
    signals : object
        A data frame, a sequence of data frames, or a mapping of names to data frames.

    Returns
    -------
    NamedSignals or None
        None if these are no data frames.

    Raises
    ------
    InputError
        If their columns differ, or hold something else than numbers.
    """
    names = None
    if isinstance(signals, pd.DataFrame):
        frames: list[object] = [signals]
    elif isinstance(signals, Mapping):
        names, frames = [str(name) for name in signals], list(signals.values())
    elif isinstance(signals, list | tuple):
        frames = list(signals)
    else:
        return None
    tables = [frame for frame in frames if isinstance(frame, pd.DataFrame)]
    if not tables or len(tables) < len(frames):
        if tables or names is not None:
            raise InputError(
                "Expected every sample to be a data frame (time x region), but some are not."
            )
        return None
    return _together(tables, names)


def _together(frames: list[pd.DataFrame], names: list[str] | None) -> NamedSignals:
    regions = [tuple(map(str, frame.columns.tolist())) for frame in frames]
    other = [k for k, columns in enumerate(regions) if columns != regions[0]]
    if other:
        raise InputError(
            "Expected the same columns (regions, in the same order) in every data frame, but those "
            f"of {name_first(other)} differ from those of the first."
        )
    kinds = [kind.kind for kind in frames[0].dtypes.tolist()]
    words = [name for name, kind in zip(regions[0], kinds, strict=True) if kind not in "fiu"]
    if words:
        raise InputError(
            "Expected a data frame of numbers, one column per region, but these columns hold "
            f"something else: {name_first(words)}; leave them out."
        )
    lengths = np.array([len(frame) for frame in frames], dtype=np.int64)
    values = np.full((len(frames), len(regions[0]), int(lengths.max())), np.nan)
    for row, frame in enumerate(frames):
        values[row, :, : len(frame)] = frame.to_numpy(dtype=np.float64, na_value=np.nan).T
    return NamedSignals(values, regions[0], lengths, names)


def warn_if_swapped(n_regions: int, n_times: int, advice: str, stacklevel: int = 3) -> None:
    """Warn if there are more regions than time points: the axes may be swapped.

    Parameters
    ----------
    n_regions, n_times : int
        As they are understood.
    advice : str
        What to do if they are swapped.
    stacklevel : int
        Of the caller's caller, whose line is shown.
    """
    if n_regions > n_times:
        warnings.warn(
            f"{n_regions} regions and only {n_times} time points: if the axes are swapped, "
            f"{advice}; if not, all is well.",
            AxesWarning,
            stacklevel=stacklevel,
        )
