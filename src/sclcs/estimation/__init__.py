"""Estimation: scores of expensive operators from cheap ones and the geometry between them."""

from __future__ import annotations

from sclcs.estimation.geometry import (
    Geometry,
    blend,
    complete_geometry,
    gather_geometry,
    map_operators,
    measure_geometry,
    shipped_geometry,
)
from sclcs.estimation.kriging import Estimate, krige
from sclcs.estimation.posterior import Outlook, look_ahead, next_operator, next_purchase

#: Raised when the same scores and geometry would be estimated differently.
ESTIMATION_VERSION = 3

__all__ = [
    "ESTIMATION_VERSION",
    "Estimate",
    "Geometry",
    "Outlook",
    "blend",
    "complete_geometry",
    "gather_geometry",
    "krige",
    "look_ahead",
    "map_operators",
    "measure_geometry",
    "next_operator",
    "next_purchase",
    "shipped_geometry",
]
