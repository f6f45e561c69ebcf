"""What pictures are given: one matrix with names, and axes to draw into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sclcs.core.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["NamedMatrix", "as_count", "axes_for", "named_matrix"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NamedMatrix:
    """One matrix (source, target) with the names of its regions.

    Parameters
    ----------
    array : array, shape (region, region)
    regions : tuple of str
    title : str
        What it is, as far as its source tells.
    """

    array: Floats
    regions: tuple[str, ...]
    title: str = ""

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same value everywhere."""
        return np.allclose(self.array, self.array.T, equal_nan=True)

    def strongest(self, shown: int) -> list[tuple[int, int, float]]:
        """Return source, target and value of the strongest connections, weakest first."""
        kept = np.isfinite(self.array) & ~np.eye(len(self.regions), dtype=bool)
        if self.symmetric:
            kept &= np.triu(np.ones_like(kept), 1)
        places = np.argwhere(kept)
        order = np.argsort(np.abs(self.array[kept]), kind="stable")[-shown:]
        return [(int(a), int(b), float(self.array[a, b])) for a, b in places[order]]


def named_matrix(
    matrix: ArrayLike | pd.DataFrame | xr.DataArray, regions: Sequence[str] | None = None
) -> NamedMatrix:
    """Return one matrix; of several samples of one operator, their mean.

    Parameters
    ----------
    matrix : array_like, DataFrame or xarray.DataArray
        (region, region); from :func:`sclcs.spi.compute` also with a sample axis, whose mean is
        taken, and an axis of operators of length 1.
    regions : sequence of str, optional
        Names; by default those of a data frame or array, or numbers.

    Returns
    -------
    NamedMatrix
    """
    array, names, title = _read(matrix)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype.kind not in "fiu":
        raise InputError(
            "Expected one matrix (region, region) of numbers, got the shape "
            f"{array.shape} of type {array.dtype}; choose one operator with .sel(spi=...)."
        )
    if len(array) == 0:
        raise InputError("Expected a matrix of at least one region, got an empty one.")
    chosen = names if regions is None else [str(name) for name in regions]
    if len(chosen) != len(array):
        raise InputError(f"Expected {len(array)} names of regions, got {len(chosen)}.")
    return NamedMatrix(array.astype(np.float64), tuple(chosen), title)


def _read(matrix: Any) -> tuple[NDArray[Any], list[str], str]:  # noqa: ANN401
    if isinstance(matrix, pd.DataFrame):
        return matrix.to_numpy(), [str(name) for name in matrix.columns], ""
    if not hasattr(matrix, "dims"):
        try:
            array = np.asarray(matrix)
        except ValueError as error:
            raise InputError(f"Expected one matrix (region, region): {error}.") from error
        return array, [str(k) for k in range(array.shape[-1] if array.ndim else 0)], ""
    if "sample" in matrix.dims:
        matrix = matrix.mean("sample", skipna=True)
    if "spi" in matrix.dims and matrix.sizes["spi"] == 1:
        matrix = matrix.isel(spi=0)
    title = (
        str(matrix["operator"].item())
        if matrix.coords.get("operator") is not None and (matrix["operator"].ndim == 0)
        else ""
    )
    last = matrix.dims[-1]
    return matrix.to_numpy(), [str(name) for name in matrix[last].to_numpy()], title


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure that a notebook will show."""
    if ax is not None:
        if not hasattr(ax, "plot"):
            raise InputError(f"Expected matplotlib axes for ax, got {type(ax).__name__}.")
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=size, layout="constrained")
    return made


def as_count(value: object, name: str = "shown") -> int:
    """Return how many to show, or say that it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"Expected {name} to be a whole number of at least 1, got {value!r}.")
    return int(value)
