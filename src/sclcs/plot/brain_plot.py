"""The strongest connections in a glass brain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
from numpy.typing import ArrayLike

from sclcs.core.arguments import checked
from sclcs.plot.inputs import as_count, named_matrix
from sclcs.report.brain_figure import check_coordinates, draw_brain, known_coordinates

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["glass_brain"]


@checked
def glass_brain(
    matrix: ArrayLike | pd.DataFrame | xr.DataArray,
    coordinates: ArrayLike | None = None,
    *,
    regions: Sequence[str] | None = None,
    shown: int = 30,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strongest connections between the places of regions in a glass brain.

    It needs nilearn (``pip install 'sclcs[plot]'``). Connections of a directed operator are drawn
    by the stronger of both directions.

    Parameters
    ----------
    matrix : array_like, DataFrame or xarray.DataArray, shape (region, region)
        As for :func:`sclcs.plot.matrix`.
    coordinates : array_like, shape (region, 3), optional
        In MNI space, in millimetres. Not needed for regions of the Dosenbach atlas under the
        names of our region sets.
    regions : sequence of str, optional
        Names of the regions.
    shown : int
        How many connections.
    title : str, optional
        In the picture; by default the operator's name, if known.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    ``sclcs.plot.glass_brain(fc.sel(spi="pec"), coordinates)``
    """
    given = named_matrix(matrix, regions)
    if coordinates is None:
        places = known_coordinates(given.regions, required=True)
    else:
        places = check_coordinates(coordinates, len(given.regions))
    edges = given.strongest(as_count(shown))
    return draw_brain(edges, places, given.title if title is None else title, ax)
