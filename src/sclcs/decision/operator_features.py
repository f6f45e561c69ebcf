"""Features of operators for the blend: computed family by family, learned from training scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, generator
from sclcs.cohort import Cohort, read_series
from sclcs.decision.kernels import ScoreMap, edge_mask, pattern_features
from sclcs.spi import compute_batch, family_members, operator_facts

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Scans", "operator_edges", "read_scans", "view_features"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
SCANS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Scans:
    """Scans as series (time, region), as matrices of operators, or both.

    Parameters
    ----------
    series : list of array, shape (time, region)
        Empty if there are only matrices.
    matrices : xarray.DataArray (spi, scan, source, target) or None
    count, n_regions : int
    """

    series: list[Floats]
    matrices: xr.DataArray | None
    count: int
    n_regions: int


def read_scans(X: object, matrices: xr.DataArray | None = None) -> Scans:
    """Return what was given as scans: series, a cohort, or matrices that `compute` made."""
    if "source" in getattr(X, "dims", ()):
        given: Any = X
        if given.ndim != 4:
            raise InputError(
                "Expected matrices with the axes (spi, scan, source, target), found the axes "
                f"{given.dims}; give what sclcs.compute returns."
            )
        return Scans([], given, int(given.shape[1]), int(given.shape[-1]))
    if isinstance(X, Cohort):
        samples = zip(X.signals[:], X.lengths, strict=True)
        series = [np.asarray(one, dtype=np.float64)[:, :length].T for one, length in samples]
    else:
        series = [np.asarray(scan, dtype=np.float64) for scan in read_series(X).scans]
    if not all(np.isfinite(scan).all() for scan in series):
        raise InputError("Scans hold NaN or infinite values; repair or leave them out.")
    if matrices is not None and matrices.shape[1] != len(series):
        raise InputError(
            f"Expected matrices of {len(series)} scans, found {matrices.shape[1]} on axis 1."
        )
    return Scans(series, matrices, len(series), series[0].shape[1])


def operator_edges(
    scans: Scans, spis: Sequence[str], *, most: int, seed: int = 0, n_jobs: int = 1
) -> Iterator[tuple[str, Singles]]:
    """Yield every operator's features (scan, edge), family by family.

    Parameters
    ----------
    scans : Scans
    spis : sequence of str
    most : int
        Of more edges than these a random part is taken, another one of every operator.
    seed, n_jobs : int
    """
    facts = operator_facts()
    picked = {
        spi: _pick(edge_mask(scans.n_regions, facts[spi].symmetric), most, spi) for spi in spis
    }
    if scans.matrices is not None:
        for spi in spis:
            rows, columns = picked[spi]
            block = np.asarray(scans.matrices.sel({scans.matrices.dims[0]: spi}))
            yield spi, np.ascontiguousarray(block[:, rows, columns], dtype=np.float32)
        return
    lengths = np.array([len(scan) for scan in scans.series])
    for members in family_members(spis).values():
        found = {
            spi: np.empty((scans.count, len(picked[spi][0])), dtype=np.float32) for spi in members
        }
        for length in np.unique(lengths):
            there = np.flatnonzero(lengths == length)
            for first in range(0, len(there), SCANS_AT_ONCE):
                rows = there[first : first + SCANS_AT_ONCE]
                batch = np.stack([scans.series[row].T for row in rows])
                values = compute_batch(batch, members, n_jobs, seed=seed).to_numpy()
                for place, spi in enumerate(members):
                    found[spi][rows] = values[place][:, picked[spi][0], picked[spi][1]]
        yield from found.items()


def _pick(
    mask: NDArray[np.bool_], most: int, spi: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, columns = np.nonzero(mask)
    if len(rows) > most:
        kept = np.sort(generator(0, "edges of the blend", spi).permutation(len(rows))[:most])
        rows, columns = rows[kept], columns[kept]
    return rows, columns


def view_features(edges: Singles, learned: ScoreMap | None) -> Singles:
    """Return values, by the map that was learned of them; the pattern without one."""
    return pattern_features(edges) if learned is None else learned.apply(edges)
