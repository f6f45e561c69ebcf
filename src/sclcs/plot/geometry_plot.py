"""Operators as points: those that see samples alike lie together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sclcs.benchmark import Ranking, make_kernel
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.estimation import Geometry, map_operators, measure_geometry, shipped_geometry
from sclcs.plot.inputs import axes_for
from sclcs.report.style import BLUE, INK, MUTED, finish, shorten
from sclcs.spi.names import operator_name
from sclcs.spi.short_names import SHORT_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

    from sclcs.numerics.arrays import Array

__all__ = ["geometry"]

LABELLED = 8
#: Where a label may stand above or below its point, in points of type: the nearest comes first.
STEPS = [sign * 10 * k for k in range(LABELLED) for sign in (1, -1)][1:]


@checked
def geometry(
    geometry: Geometry | xr.DataArray | None = None,
    *,
    ranking: Ranking | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw operators as points of a plane; near ones find the same samples alike.

    The plane is that of classical scaling, which keeps the distances ``sqrt(2 - 2 s)`` of the
    similarities ``s`` as well as a plane can.

    Parameters
    ----------
    geometry : Geometry or xarray.DataArray, optional
        A geometry, or matrices of several operators on samples of different subjects from
        :func:`sclcs.spi.compute`; by default the table that comes with the package.
    ranking : Ranking, optional
        Colours the points by score and names the best; otherwise well-known operators are named.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> fc = sclcs.spi.compute(np.random.default_rng(0).normal(size=(6, 5, 80)), "panel")
    >>> sclcs.plot.geometry(fc).get_title(loc="left").startswith("Geometry of")
    True
    """
    known = _known(geometry)
    if ranking is not None and not isinstance(ranking, Ranking):
        raise InputError(f"Expected a Ranking, got {type(ranking).__name__}.")
    if ranking is not None:
        scored = ranking.table.dropna(subset=["score"]).drop_duplicates("spi")
        known = known.take([str(spi) for spi in scored["spi"] if spi in set(known.operators)])
    if len(known.operators) < 3:
        raise InputError(f"A plane needs at least 3 operators, got {len(known.operators)}.")
    axes = axes_for(ax, (7.0, 6.0))
    points = map_operators(known.similarity)
    style: dict[str, Any] = {"color": BLUE} if ranking is None else _by_score(known, ranking)
    drawn = axes.scatter(points[:, 0], points[:, 1], s=20, alpha=0.85, **style)
    if ranking is not None:
        axes.figure.colorbar(drawn, ax=axes, shrink=0.7, label=ranking.score.replace("_", " "))
    axes.set_aspect("equal", "datalim")
    finish(axes, f"Geometry of {len(known.operators)} operators")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("operators that lie together find the same samples alike")
    axes.spines[["left", "bottom"]].set_color(MUTED)
    named = _named(known, ranking)
    places = points[[known.operators.index(spi) for spi in named]]
    _label(axes, [shorten(operator_name(spi), 34) for spi in named], places)
    return axes


def _known(geometry: object) -> Geometry:
    if geometry is None:
        return shipped_geometry()
    if isinstance(geometry, Geometry):
        return geometry
    if getattr(geometry, "dims", None) != ("spi", "sample", "source", "target"):
        raise InputError(
            "Expected a Geometry, or an array (spi, sample, source, target) from "
            f"sclcs.spi.compute, got {type(geometry).__name__}."
        )
    matrices: xr.DataArray = geometry  # type: ignore[assignment]
    complete = (matrices["status"] == "ok").all("sample").to_numpy()
    names = [str(name) for name in matrices["spi"].to_numpy()[complete]]
    kernels = [make_kernel(found).similarity for found in matrices.to_numpy()[complete]]
    return measure_geometry(names, kernels, np.arange(matrices.sizes["sample"]))


def _by_score(known: Geometry, ranking: Ranking) -> dict[str, Any]:
    return {"c": ranking.scores.reindex(list(known.operators)).to_numpy(), "cmap": "viridis"}


def _named(known: Geometry, ranking: Ranking | None) -> list[str]:
    wanted = list(SHORT_NAMES.values()) if ranking is None else list(ranking.table["spi"])
    return [str(spi) for spi in wanted if spi in set(known.operators)][:LABELLED]


def _label(axes: Axes, names: list[str], places: Array) -> None:
    """Write names beside their points, towards the middle, moved up or down to be readable."""
    from matplotlib.text import Text

    axes.figure.draw_without_rendering()  # type: ignore[union-attr]  # layout and scale
    middle = np.mean(axes.get_xlim())
    taken: list[Bbox] = []
    for name, place in zip(names, places, strict=True):
        right = bool(place[0] <= middle)
        text = axes.annotate(
            name, place, xytext=(6 if right else -6, 0), textcoords="offset points",
            ha="left" if right else "right", va="center", fontsize=7.5, color=INK,
            arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 0.5, "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip
        text.set_in_layout(False)  # it lies inside; its width need not squeeze the picture
        for step in STEPS:
            text.set_position((text.get_position()[0], step))
            text.get_window_extent()  # moves it; its own box would include the line
            box = Text.get_window_extent(text)
            if not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)
