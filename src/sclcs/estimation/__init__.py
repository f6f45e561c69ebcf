"""Estimation: scores of expensive operators from cheap ones and the geometry between them."""

from __future__ import annotations

from sclcs.estimation.geometry import (
    Geometry,
    blend,
    gather_geometry,
    measure_geometry,
    shipped_geometry,
)
from sclcs.estimation.kriging import Estimate, krige
from sclcs.estimation.posterior import Outlook, look_ahead, next_operator

__all__ = [
    "Estimate",
    "Geometry",
    "Outlook",
    "blend",
    "gather_geometry",
    "krige",
    "look_ahead",
    "measure_geometry",
    "next_operator",
    "shipped_geometry",
]
