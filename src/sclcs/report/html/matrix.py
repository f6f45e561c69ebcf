"""A region-by-region matrix as numbers inside the page, drawn there by its script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["matrix_data", "strongest"]

LEVELS = 32000
MISSING = -32768


def matrix_data(
    values: NDArray[np.floating[Any]],
    regions: Sequence[str],
    *,
    ends: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Return what the page's script needs to draw a matrix.

    Values are kept as 16-bit steps of the largest: four digits in a third of the space.

    Parameters
    ----------
    values : array, shape (region, region)
        NaN where there is none.
    regions : sequence of str
        Names of rows and columns.
    ends : tuple of float, optional
        Where the colours begin and end, for several matrices in one scale; by default the
        extreme values outside the diagonal, made symmetric about zero if there are both signs.

    Returns
    -------
    dict
        ``size``, ``regions``, ``step``, ``values`` (base64 of little-endian int16, by rows),
        ``low`` and ``high``, ``signed``.
    """
    matrix = np.asarray(values, dtype=np.float64).copy()
    known = np.isfinite(matrix)
    largest = float(np.abs(matrix[known]).max()) if known.any() else 0.0
    step = largest / LEVELS if largest > 0 else 1.0
    levels = np.full(matrix.shape, MISSING, dtype="<i2")
    levels[known] = np.round(matrix[known] / step).astype("<i2")
    off_diagonal = matrix[known & ~np.eye(len(matrix), dtype=bool)]
    low, high = ends or _ends(off_diagonal)
    return {
        "size": len(matrix),
        "regions": [str(name) for name in regions],
        "step": step,
        "values": base64.b64encode(levels.tobytes()).decode(),
        "low": low,
        "high": high if high > low else low + 1.0,
        "signed": low < 0 < high,
    }


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    return low, high


def strongest(
    values: NDArray[np.floating[Any]], regions: Sequence[str], directed: bool, most: int = 5
) -> list[dict[str, Any]]:
    """Return the entries farthest from zero, each pair once unless the operator is directed.

    Parameters
    ----------
    values : array, shape (region, region)
    regions : sequence of str
    directed : bool
        Whether an entry and its mirror image are different connections.
    most : int
        How many.

    Returns
    -------
    list of dict
        With ``source``, ``target`` and ``value``.
    """
    size = np.where(np.isfinite(values), np.abs(values), -1.0)
    np.fill_diagonal(size, -1.0)
    if not directed:
        size[np.tril_indices(len(size))] = -1.0
    order = np.argsort(-size, axis=None, kind="stable")[:most]
    rows, columns = np.unravel_index(order, size.shape)
    return [
        {"source": str(regions[i]), "target": str(regions[j]), "value": float(values[i, j])}
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if size[i, j] >= 0
    ]
