"""Checks of the signals of one scan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.problems import Problem
from sclcs.cohort.windows import WHOLE_SCAN, Windowing
from sclcs.core.errors import name_first

__all__ = ["check_scan", "constant_regions"]


def constant_regions(signals: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Tell which rows of (..., region, time) do not vary over time."""
    return np.asarray(signals.max(axis=-1) == signals.min(axis=-1))


def check_scan(
    scan_id: str,
    signals: NDArray[np.float32],
    regions: Sequence[str],
    windowing: Windowing = WHOLE_SCAN,
) -> Problem | None:
    """Find what is wrong with one scan.

    Parameters
    ----------
    scan_id : str
        Names the offender.
    signals : ndarray, shape (region, time)
        The scan.
    regions : sequence of str
        Expected region names.
    windowing : Windowing
        How the scan will be cut: only the time points that are used are judged, and no
        region may be constant inside a window.

    Returns
    -------
    Problem or None
        The first of: region count, too short, non-finite, constant region.
    """
    if signals.ndim != 2 or signals.shape[0] != len(regions):
        found = " x ".join(map(str, signals.shape))
        return Problem("region-count", scan_id, f"{found}, expected {len(regions)} regions")
    found_length, needed = signals.shape[1], windowing.minimum_scan_length
    if found_length < needed:
        return Problem("too-short", scan_id, f"{found_length} time points, {needed} needed")
    pieces = windowing.cut(signals)
    names = np.asarray(regions)
    broken = ~np.isfinite(pieces).all(axis=(0, 2))
    if broken.any():
        return Problem("non-finite", scan_id, name_first(names[broken], limit=3))
    flat = constant_regions(pieces).any(axis=0)
    if flat.any():
        return Problem("constant-region", scan_id, name_first(names[flat], limit=3))
    return None
