"""Functional-connectivity operators: the catalogue and the engine that computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sclcs.spi.engine import compute_block
from sclcs.spi.frequencies import bands
from sclcs.spi.matrices import compute
from sclcs.spi.operators import catalogue
from sclcs.spi.registration import register, unregister
from sclcs.spi.status import status_table
from sclcs.spi.versions import resolve

if TYPE_CHECKING:
    from sclcs.spi.transformer import FCTransformer

__all__ = [
    "FCTransformer",
    "bands",
    "catalogue",
    "compute",
    "compute_block",
    "register",
    "resolve",
    "status_table",
    "unregister",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name != "FCTransformer":  # scikit-learn is loaded only for those who use it
        raise AttributeError(f"module 'sclcs.spi' has no attribute {name!r}")
    from sclcs.spi.transformer import FCTransformer

    return FCTransformer
