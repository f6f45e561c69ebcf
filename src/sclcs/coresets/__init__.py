"""Which samples to keep, and why."""

from sclcs.coresets.methods import select
from sclcs.coresets.registry import (
    SELECTORS,
    Choice,
    Selector,
    core_size,
    find_selector,
)
from sclcs.coresets.scored import StablePool, draw_balanced, stable_pool

__all__ = [
    "SELECTORS",
    "Choice",
    "Selector",
    "StablePool",
    "core_size",
    "draw_balanced",
    "find_selector",
    "select",
    "stable_pool",
]
