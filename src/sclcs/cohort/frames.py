"""Signals from data frames: one column per region, one row per time point.

Arrays are (sample, region, time) everywhere in the package; data frames are tables, and a table of
time series has a column per region. Turning one into the other happens here and nowhere else.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import AxesWarning, InputError, name_first, real_numbers

__all__ = ["NamedSignals", "signals_of_frames", "warn_if_swapped"]


@dataclass(frozen=True)
class NamedSignals:
    """Signals with the names that their data frames had.

    Parameters
    ----------
    array : array, shape (sample, region, time)
        The end of samples that are shorter than the others is NaN.
    regions : tuple of str or None
        The columns, or the coordinates; None where they have no names.
    lengths : array of int, shape (sample,)
        Time points of each sample.
    samples : list of str or None
        The names of the frames, if they came in a mapping; the coordinates of a data array.
    """

    array: NDArray[np.float64]
    regions: tuple[str, ...] | None
    lengths: NDArray[np.int64]
    samples: list[str] | None = None


def signals_of_frames(signals: object) -> NamedSignals | None:
    """Return the signals of one data frame (time x region), or of several; or of a data array.

    Parameters
    ----------
    signals : object
        A data frame, a sequence of data frames, a mapping of names to data frames, or an
        ``xarray.DataArray`` whose dimensions are called sample, region and time, in any order.

    Returns
    -------
    NamedSignals or None
        None if these are no data frames, and no data array with names.

    Raises
    ------
    InputError
        If their columns or dimensions differ, or hold something else than numbers.
    """
    names = None
    if isinstance(signals, pd.DataFrame):
        frames: list[object] = [signals]
    elif isinstance(signals, Mapping):
        names, frames = [str(name) for name in signals], list(signals.values())
    elif isinstance(signals, list | tuple):
        frames = list(signals)
    else:
        return _of_data_array(signals)
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
    lengths = np.array([len(frame) for frame in frames], dtype=np.int64)
    values = np.full((len(frames), len(regions[0]), int(lengths.max())), np.nan)
    for row, frame in enumerate(frames):
        found = real_numbers(frame, "a data frame (time x region)")
        values[row, :, : len(frame)] = found.T
    return NamedSignals(values, regions[0], lengths, names)


def _of_data_array(signals: object) -> NamedSignals | None:
    dims = getattr(signals, "dims", ())
    if not hasattr(signals, "transpose") or not {"region", "time"} & set(dims):
        return None
    order = ("sample", "region", "time")[-len(dims) :]
    if set(dims) != set(order):
        raise InputError(
            "Expected a data array with the dimensions (sample, region, time) or (region, time), "
            f"got {tuple(dims)}; rename or select them."
        )
    ordered = signals.transpose(*order)
    values = real_numbers(ordered, "a data array (sample, region, time)")
    values = values.reshape(-1, *values.shape[-2:])
    return NamedSignals(
        values,
        _coordinate(ordered, "region"),
        np.full(len(values), values.shape[2], dtype=np.int64),
        _names(_coordinate(ordered, "sample")),
    )


def _coordinate(signals: Any, name: str) -> tuple[str, ...] | None:  # noqa: ANN401
    return tuple(map(str, np.atleast_1d(signals[name].values))) if name in signals.coords else None


def _names(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


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
