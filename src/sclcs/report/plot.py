"""Single pictures for notebooks and papers; every function draws into matplotlib axes.

Give ``ax=`` to draw into axes of your own; without it a new figure is made, which a notebook shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, checked
from sclcs.decision import Geometry, map_operators, measure_geometry, shipped_geometry
from sclcs.report.brain_figure import check_coordinates, draw_brain, known_coordinates
from sclcs.report.figures import BLUE, FAINT, INK, MUTED, ORANGE, finish, shorten
from sclcs.spi import KNOWN_BEST, operator_name
from sclcs.stats import Ranking, make_kernel

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

    from sclcs.spi import Array

__all__ = [
    "NamedMatrix",
    "as_count",
    "axes_for",
    "chord",
    "geometry",
    "glass_brain",
    "matrix",
    "named_matrix",
    "ranking",
]


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
    if "scan" in matrix.dims:
        matrix = matrix.mean("scan", skipna=True)
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
        As for :func:`sclcs.report.plot.matrix`.
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
    ``sclcs.report.plot.glass_brain(fc.sel(spi="pec"), coordinates)``
    """
    given = named_matrix(matrix, regions)
    if coordinates is None:
        places = known_coordinates(given.regions, required=True)
    else:
        places = check_coordinates(coordinates, len(given.regions))
    edges = given.strongest(as_count(shown))
    return draw_brain(edges, places, given.title if title is None else title, ax)


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
        As for :func:`sclcs.report.plot.matrix`.
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
    >>> fc = sclcs.compute(np.random.default_rng(0).normal(size=(80, 5)), "pearson")
    >>> len(sclcs.report.plot.chord(fc, shown=4).patches)
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
    >>> fc = sclcs.compute(np.random.default_rng(0).normal(size=(6, 80, 5)), "panel")
    >>> sclcs.report.plot.geometry(fc).get_title(loc="left").startswith("Geometry of")
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
    if getattr(geometry, "dims", None) != ("spi", "scan", "source", "target"):
        raise InputError(
            "Expected a Geometry, or an array (spi, sample, source, target) from "
            f"sclcs.spi.compute, got {type(geometry).__name__}."
        )
    matrices: xr.DataArray = geometry  # type: ignore[assignment]
    complete = (matrices["status"] == "ok").all("scan").to_numpy()
    names = [str(name) for name in matrices["spi"].to_numpy()[complete]]
    kernels = [make_kernel(found).similarity for found in matrices.to_numpy()[complete]]
    return measure_geometry(names, kernels, np.arange(matrices.sizes["scan"]))


def _by_score(known: Geometry, ranking: Ranking) -> dict[str, Any]:
    return {"c": ranking.scores.reindex(list(known.operators)).to_numpy(), "cmap": "viridis"}


def _named(known: Geometry, ranking: Ranking | None) -> list[str]:
    wanted = list(KNOWN_BEST) if ranking is None else list(ranking.table["spi"])
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
    >>> fc = sclcs.compute(np.random.default_rng(0).normal(size=(3, 80, 5)), "pearson")
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


@checked
def ranking(ranking: Ranking, *, shown: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the best operators with the intervals of their scores.

    Operators that the data cannot tell from the best are dark; equivalent operators
    are one line.

    Parameters
    ----------
    ranking : Ranking
        From :func:`sclcs.stats.rank`, or of a run.
    shown : int
        How many lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> cohort = sclcs.simulate_cohort(8, 2, 5, length=40, stride=40, seed=1)
    >>> found = sclcs.stats.rank(cohort, "subject", ["kendalltau", "pec"], permutations=0)
    >>> len(sclcs.report.plot.ranking(found).get_yticklabels())
    2
    """
    if not isinstance(ranking, Ranking):
        raise InputError(f"Expected a Ranking, got {type(ranking).__name__}.")
    table = ranking.groups
    top = table[table["score"].notna()].head(as_count(shown))
    if top.empty:
        raise InputError("No operator of the ranking has a score, so there is nothing to draw.")
    axes = axes_for(ax, (7.0, 1.2 + 0.26 * len(top)))
    places = np.arange(len(top))
    colours = np.where(top["best_set"].to_numpy(dtype=bool), BLUE, MUTED)
    axes.hlines(places, top["low"], top["high"], color=colours, alpha=0.5, linewidth=3)
    axes.scatter(top["score"], places, color=colours, s=22, zorder=3)
    axes.set_yticks(places, [shorten(str(name)) for name in top["name"]])
    axes.set_ylim(len(top) - 0.4, -0.6)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    finish(axes, f"Operators for {ranking.task}", ranking.score.replace("_", " "))
    axes.tick_params(axis="y", colors=INK)
    return axes
