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
    values: NDArray[np.floating[Any]], regions: Sequence[str], *, limit: float | None = None
) -> dict[str, Any]:
    """Return what the page's script needs to draw a matrix.

    Values are kept as 16-bit steps of the largest: four digits in a third of the space.

    Parameters
    ----------
    values : array, shape (region, region)
        NaN where there is none.
    regions : sequence of str
        Names of rows and columns.
    limit : float, optional
        Where the colours end; by default the largest absolute value outside the diagonal.

    Returns
    -------
    dict
        ``size``, ``regions``, ``step``, ``values`` (base64 of little-endian int16, by rows),
        ``limit``, ``signed``.
    """
    matrix = np.asarray(values, dtype=np.float64).copy()
    known = np.isfinite(matrix)
    largest = float(np.abs(matrix[known]).max()) if known.any() else 0.0
    step = largest / LEVELS if largest > 0 else 1.0
    levels = np.full(matrix.shape, MISSING, dtype="<i2")
    levels[known] = np.round(matrix[known] / step).astype("<i2")
    off_diagonal = matrix[known & ~np.eye(len(matrix), dtype=bool)]
    usual = float(np.abs(off_diagonal).max()) if off_diagonal.size else 1.0
    return {
        "size": len(matrix),
        "regions": [str(name) for name in regions],
        "step": step,
        "values": base64.b64encode(levels.tobytes()).decode(),
        "limit": (limit if limit is not None and limit > 0 else usual) or 1.0,
        "signed": bool((off_diagonal < 0).any()),
    }


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
