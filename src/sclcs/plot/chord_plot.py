"""The strongest connections as chords of a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sclcs.core.arguments import checked
from sclcs.plot.inputs import as_count, axes_for, named_matrix
from sclcs.report.style import BLUE, INK, MUTED, ORANGE, finish

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["chord"]

THICKEST = 4.0


@checked
def chord(
    matrix: ArrayLike | pd.DataFrame | xr.DataArray,
    *,
    regions: Sequence[str] | None = None,
    shown: int = 30,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strongest connections between regions on a circle.

    Positive values are orange, negative ones blue; the stronger, the thicker. Connections of a
    directed operator end in an arrow.

    Parameters
    ----------
    matrix : array_like, DataFrame or xarray.DataArray, shape (region, region)
        As for :func:`sclcs.plot.matrix`.
    regions : sequence of str, optional
        Names of the regions.
    shown : int
        How many connections.
    title : str, optional
        Above it; by default the operator's name, if known.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> fc = sclcs.spi.compute(np.random.default_rng(0).normal(size=(5, 80)), "pearson")
    >>> len(sclcs.plot.chord(fc, shown=4).patches)
    4
    """
    from matplotlib.patches import FancyArrowPatch, PathPatch
    from matplotlib.path import Path

    given = named_matrix(matrix, regions)
    axes = axes_for(ax, (6.4, 6.4))
    angles = np.linspace(0.5 * np.pi, -1.5 * np.pi, len(given.regions), endpoint=False)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    edges = given.strongest(as_count(shown))
    most = max((abs(value) for _, _, value in edges), default=1.0) or 1.0
    for source, target, value in edges:
        curve = Path([points[source], (0.0, 0.0), points[target]], [1, 3, 3])
        look: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": ORANGE if value > 0 else BLUE,
            "linewidth": 0.4 + THICKEST * abs(value) / most,
            "alpha": 0.25 + 0.6 * abs(value) / most,
        }
        if given.symmetric:
            axes.add_patch(PathPatch(curve, **look))
        else:
            axes.add_patch(FancyArrowPatch(path=curve, arrowstyle="->", mutation_scale=8, **look))
    axes.scatter(points[:, 0], points[:, 1], s=14, color=MUTED, zorder=3)
    for name, angle, (x, y) in zip(given.regions, angles, points, strict=True):
        turned = np.degrees(angle)
        left = x < -1e-9
        axes.text(
            1.05 * x, 1.05 * y, name, fontsize=7, color=INK, rotation_mode="anchor",
            rotation=turned + 180 if left else turned, ha="right" if left else "left", va="center",
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
    finish(axes, given.title if title is None else title)
    axes.set_axis_off()
    return axes
