"""Versions of the operators' numbers.

A store remembers the version of every operator in it and refuses to mix two. Whoever
changes what a family computes (a correction, not a speed-up) raises its number here; a
change that concerns every family, such as the z-scoring, raises the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sclcs.spi.catalogue import operator_facts

__all__ = ["ENGINE_VERSION", "FAMILY_VERSIONS", "operator_version"]

ENGINE_VERSION = 1

# Families that are not listed are at version 1.
FAMILY_VERSIONS: Mapping[str, int] = MappingProxyType({})


def operator_version(identifier: str) -> str:
    """Return the version of an operator's numbers: the engine's and its family's.

    Examples
    --------
    >>> operator_version("kendalltau")
    '1.1'
    """
    family = operator_facts()[identifier].family
    return f"{ENGINE_VERSION}.{FAMILY_VERSIONS.get(family, 1)}"
