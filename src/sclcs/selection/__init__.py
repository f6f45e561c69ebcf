"""Which samples to keep, and why."""

from sclcs.selection.density import StablePool, draw_balanced, stable_pool
from sclcs.selection.methods import select
from sclcs.selection.registry import SELECTORS, Choice, Selector, core_size, find_selector

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
