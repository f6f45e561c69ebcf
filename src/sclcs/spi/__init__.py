"""Functional-connectivity operators: the catalogue and the engine that computes them."""

from __future__ import annotations

from sclcs.spi.catalogue import catalogue
from sclcs.spi.engine import compute, compute_block
from sclcs.spi.sets import resolve
from sclcs.spi.status import status_table

__all__ = ["catalogue", "compute", "compute_block", "resolve", "status_table"]
