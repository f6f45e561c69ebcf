"""Versions of the operators' numbers.

A store remembers the version of every operator in it and refuses to mix two. Whoever
changes what a family computes (a correction, not a speed-up) raises its number here; a
change that concerns every family, such as the z-scoring, raises the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sclcs.spi.catalogue import operator_facts
from sclcs.spi.own_operators import own_operators

__all__ = ["ENGINE_VERSION", "FAMILY_VERSIONS", "Stamp", "operator_stamp", "operator_version"]

ENGINE_VERSION = 1

# Families that are not listed are at version 1.
FAMILY_VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        "covariance": 2,  # graphical lasso: the same numbers on every processor
        "dependence": 2,  # lagged mgc and dcorr: ties are ties, on every processor
        "spectral_factor": 2,  # copies of a region are singular, on every processor
    }
)


@dataclass(frozen=True)
class Stamp:
    """What decides an operator's numbers besides the signals.

    Parameters
    ----------
    version : str
        Of its code, from :func:`operator_version`.
    seed : int, optional
        The user's; None for operators that draw no random numbers, which no seed can change.
    """

    version: str
    seed: int | None

    def __str__(self) -> str:
        return self.version if self.seed is None else f"{self.version} seed {self.seed}"


def operator_version(identifier: str) -> str:
    """Return the version of an operator's numbers: the engine's and its family's, or its own.

    Examples
    --------
    >>> operator_version("kendalltau")
    '1.1'
    """
    family = operator_facts()[identifier].family
    own = own_operators().get(identifier)
    if own is not None:
        return f"{ENGINE_VERSION}.{own.version}"
    return f"{ENGINE_VERSION}.{FAMILY_VERSIONS.get(family, 1)}"


def operator_stamp(identifier: str, seed: int) -> Stamp:
    """Return what decides an operator's numbers today.

    Examples
    --------
    >>> str(operator_stamp("kendalltau", 7)), str(operator_stamp("cov_MinCovDet", 7))
    ('1.1', '1.2 seed 7')
    """
    random = not operator_facts()[identifier].deterministic
    return Stamp(operator_version(identifier), seed if random else None)
