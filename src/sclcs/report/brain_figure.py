"""Connections in a glass brain, where the places of the regions are known; drawn by nilearn."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, MissingDependencyError, import_extra, name_first
from sclcs.cohort import dosenbach_coordinates, region_set

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["brain_image", "check_coordinates", "draw_brain", "known_coordinates"]

Floats = NDArray[np.float64]
Edges = Sequence[tuple[int, int, float]]


@overload
def known_coordinates(regions: Sequence[str], *, required: Literal[True]) -> Floats: ...
@overload
def known_coordinates(regions: Sequence[str], *, required: bool = False) -> Floats | None: ...


def known_coordinates(regions: Sequence[str], *, required: bool = False) -> Floats | None:
    """Return the places of regions of an atlas that nilearn brings along.

    Parameters
    ----------
    regions : sequence of str
        Names of the region sets, see :func:`sclcs.cohort.region_set`.
    required : bool
        Whether unknown places, or a missing nilearn, are an error.

    Returns
    -------
    array, shape (region, 3), or None
        In MNI space, in millimetres.
    """
    known = set(region_set("dosenbach-160").names)
    unknown = [name for name in regions if name not in known]
    if unknown and required:
        raise InputError(
            f"The places of these regions are not known: {name_first(unknown)}; give coordinates= "
            "(region, 3) in MNI space."
        )
    if unknown:
        return None
    try:
        places = dosenbach_coordinates("plot")
    except MissingDependencyError:
        if required:
            raise
        return None
    return np.array([places[name] for name in regions])


def check_coordinates(coordinates: ArrayLike, n_regions: int) -> Floats:
    """Return places of regions as an array, or say what is wrong with them."""
    try:
        places = np.asarray(coordinates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected coordinates (region, 3) in millimetres: {error}.") from error
    if places.shape != (n_regions, 3) or not np.isfinite(places).all():
        raise InputError(
            f"Expected finite coordinates of the shape ({n_regions}, 3), one row per region, got "
            f"{places.shape}."
        )
    return places


def draw_brain(edges: Edges, coordinates: Floats, title: str, ax: Axes | None = None) -> Axes:
    """Draw connections between places.

    Parameters
    ----------
    edges : sequence of (int, int, float)
        Source, target and value.
    coordinates : array, shape (region, 3)
        In MNI space.
    title : str
        In the picture.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
    """
    plotting = import_extra("nilearn.plotting", "plot")
    size = len(coordinates)
    adjacency = np.zeros((size, size))
    for source, target, value in edges:
        if abs(value) > abs(adjacency[source, target]):
            adjacency[source, target] = adjacency[target, source] = value
    touched = np.abs(adjacency).sum(axis=0) > 0
    display = plotting.plot_connectome(
        adjacency,
        coordinates,
        node_color=["#1b1f24" if there else "#c9cdd3" for there in touched],
        node_size=12,
        edge_cmap="RdBu_r",
        axes=ax,
        title=title or None,
        colorbar=False,
    )
    found: Axes = display.frame_axes
    return found


def brain_image(edges: Edges, coordinates: Floats) -> str:
    """Return a picture of connections as a data address, for a page.

    Parameters
    ----------
    edges : sequence of (int, int, float)
        Source, target and value.
    coordinates : array, shape (region, 3)
        In MNI space.

    Returns
    -------
    str
        ``data:image/png;base64,...``
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 2.6))
    draw_brain(edges, coordinates, "", figure.subplots())
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=80)
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
