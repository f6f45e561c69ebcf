"""Checks of a method's parameters, made before any long work."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sclcs.core.errors import InputError

__all__ = ["require_choice", "require_number", "require_whole"]


def require_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise unless the value is one of the choices; 1 is not True."""
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        words = ", ".join(str(choice) for choice in choices)
        raise InputError(f"Expected {name} to be one of {words}, got {value!r}.")


def require_number(
    name: str, value: object, low: float, high: float, *, above: bool = False
) -> None:
    """Raise unless the value is a number from `low` (or above it) to `high`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high or (above and value == low):  # type: ignore[operator]
        start = "above" if above else "of at least"
        end = "" if math.isinf(high) else f" and at most {high:g}"
        raise InputError(f"Expected {name} to be a number {start} {low:g}{end}, got {value!r}.")


def require_whole(name: str, value: object, low: int, reason: str = "") -> None:
    """Raise unless the value is a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InputError(
            f"Expected {name} to be a whole number of at least {low}, got {value!r}{reason}."
        )
