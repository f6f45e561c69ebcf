"""A matrix as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sclcs.core.arguments import checked
from sclcs.plot.inputs import axes_for, named_matrix
from sclcs.report.style import finish

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["matrix"]

MOST_NAMES = 60


@checked
def matrix(
    matrix: ArrayLike | pd.DataFrame | xr.DataArray,
    *,
    regions: Sequence[str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a connectivity matrix: rows are sources, columns are targets.

    Parameters
    ----------
    matrix : array_like, DataFrame or xarray.DataArray, shape (region, region)
        What :func:`sclcs.spi.compute` returns for one operator is fine: the mean of its samples
        is drawn.
    regions : sequence of str, optional
        Names of the regions.
    title : str, optional
        Above it; by default the operator's name, if known.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> fc = sclcs.spi.compute(np.random.default_rng(0).normal(size=(3, 5, 80)), "pearson")
    >>> matrix(fc).get_title(loc="left")
    'Pearson correlation'
    """
    given = named_matrix(matrix, regions)
    axes = axes_for(ax, (6.2, 5.2))
    finite = given.array[np.isfinite(given.array)]
    both_signs = finite.size > 0 and finite.min() < 0 < finite.max()
    limit = float(np.abs(finite).max()) if finite.size else 1.0
    image = axes.imshow(given.array, cmap="RdBu_r" if both_signs else "viridis")
    if both_signs:  # zero is white
        image.set_clim(-limit, limit)
    axes.figure.colorbar(image, ax=axes, shrink=0.8)
    finish(axes, given.title if title is None else title, "target", "source")
    if len(given.regions) <= MOST_NAMES:
        places = range(len(given.regions))
        axes.set_xticks(places, given.regions, rotation=90, fontsize=7)
        axes.set_yticks(places, given.regions, fontsize=7)
    return axes
