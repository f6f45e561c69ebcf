"""Which samples to keep, and why."""

from sclcs.selection.registry import SELECTORS, Selector
from sclcs.selection.select import select

__all__ = ["SELECTORS", "Selector", "select"]
