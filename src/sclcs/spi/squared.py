"""Coefficients that come in two forms: as they are, and squared (``-sq``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sclcs.spi.numerics.compiling import Array

__all__ = ["Form", "both_forms", "in_forms"]


@dataclass(frozen=True)
class Form:
    """Which form of a coefficient.

    Parameters
    ----------
    squared : bool
        Square the coefficient.
    """

    squared: bool


def both_forms(name: str) -> Mapping[str, Form]:
    """Return the members of a family that is one coefficient, plain and squared."""
    return MappingProxyType({name: Form(squared=False), f"{name}-sq": Form(squared=True)})


def in_forms(
    coefficient: Array, names: Collection[str], members: Mapping[str, Form]
) -> dict[str, Array]:
    """Return the matrices of some members."""
    return {
        name: coefficient * coefficient if members[name].squared else coefficient for name in names
    }
