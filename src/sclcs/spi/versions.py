"""Versions of the operators' numbers.

A store remembers the version of every operator in it and refuses to mix two. Whoever
changes what a family computes (a correction, not a speed-up) raises its number here; a
change that concerns every family, such as the z-scoring, raises the engine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sclcs.spi.catalogue import operator_facts
from sclcs.spi.own_operators import own_operators

__all__ = ["ENGINE_VERSION", "FAMILY_VERSIONS", "Stamp", "operator_stamps", "operator_version"]

ENGINE_VERSION = 1

# Families that are not listed are at version 1.
FAMILY_VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        # Faster loops add up in another order: these move in the last digits (1e-14).
        "causal_pairs": 2,
        "covariance": 2,  # graphical lasso: the same numbers on every processor
        "cross_mapping": 2,
        "dependence": 3,  # 2: lagged mgc and dcorr: ties are ties, on every processor
        "elastic_barycenter": 3,  # 3: softdtw alone moves again (2e-13)
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
    return operator_stamps([identifier], 0)[identifier].version


def operator_stamps(identifiers: Iterable[str], seed: int) -> dict[str, Stamp]:
    """Return what decides the numbers of operators today.

    Examples
    --------
    >>> print(*operator_stamps(["kendalltau", "cov_MinCovDet"], 7).values(), sep=", ")
    1.1, 1.2 seed 7
    """
    known, others, found = operator_facts(), own_operators(), {}
    for name in identifiers:
        facts = known[name]
        own = others[name].version if name in others else FAMILY_VERSIONS.get(facts.family, 1)
        found[name] = Stamp(f"{ENGINE_VERSION}.{own}", None if facts.deterministic else seed)
    return found
