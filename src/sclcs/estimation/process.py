"""A Gaussian process over operators: what is known about some is carried over to the others.

Its covariance is the similarity of operators, plus a part that each has on its own (the nugget).
How large both are is learned from the operators that are known: half of their families is left
out and carried over from the other half, again and again. One family at a time would be too easy
a test, because the operators that are asked about are of many families at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.core.seeds import generator

__all__ = ["Carried", "LeftOut", "Process", "left_out_halves"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
HALVINGS = 10


def left_out_halves(families: Sequence[str]) -> list[Integers]:
    """Return the places of operators to leave out together: random halves of the families."""
    names, codes = np.unique(np.asarray(families, dtype=str), return_inverse=True)
    random, parts = generator(0, "left-out families"), list[Integers]()
    for _ in range(HALVINGS):
        order = random.permutation(len(names))
        for half in (order[: len(order) // 2], order[len(order) // 2 :]):
            parts.append(np.flatnonzero(np.isin(codes, half)).astype(np.int64))
    return parts


@dataclass(frozen=True, eq=False)
class Carried:
    """What is expected of operators, and how uncertain that is together."""

    mean: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Operators that were left out: by how much they were missed, and what was to be expected."""

    members: Integers
    error: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Process:
    """A process with mean 0, conditioned on what is known.

    Parameters
    ----------
    similarity : array, shape (known, known)
    values : array, shape (known,)
    nugget : float
        The part of an operator that geometry does not explain, relative to what it does.
    variance : float
        Scale of the covariance.
    """

    similarity: Floats
    values: Floats
    nugget: float
    variance: float

    @classmethod
    def learn(
        cls,
        similarity: Floats,
        values: Floats,
        families: Sequence[str],
        nuggets: Sequence[float],
    ) -> Process:
        """Return the process under which left-out halves of the families are least surprising."""
        parts = left_out_halves(families)
        found = [_try(similarity, values, nugget, parts) for nugget in nuggets]
        return min(found, key=lambda pair: pair[0])[1]

    @property
    def inverse(self) -> Floats:
        """Inverse of the covariance of the known ones, without its scale."""
        own = self.nugget * np.eye(len(self.values))
        return np.asarray(np.linalg.inv(self.similarity + own), dtype=np.float64)

    def carry(self, across: Floats, among: Floats) -> Carried:
        """Carry over to other operators.

        Parameters
        ----------
        across : array, shape (known, other)
            Similarities of known operators and others.
        among : array, shape (other, other)
            Similarities among the others.

        Returns
        -------
        Carried
        """
        own = self.nugget * np.eye(len(self.values))
        weights = np.linalg.solve(self.similarity + own, across)
        rest = among - across.T @ weights + self.nugget * np.eye(len(among))
        return Carried(weights.T @ self.values, self.variance * rest)

    def leave_out(self, parts: Sequence[Integers]) -> Iterator[LeftOut]:
        """Leave operators out and carry over to them; all comes from the inverse of the whole."""
        inverse = self.inverse
        pulled = inverse @ self.values
        for members in parts:
            block = inverse[np.ix_(members, members)]
            spread = np.asarray(np.linalg.inv(block), dtype=np.float64)
            yield LeftOut(members, spread @ pulled[members], self.variance * spread)


def _try(
    similarity: Floats, values: Floats, nugget: float, parts: Sequence[Integers]
) -> tuple[float, Process]:
    """Return how surprising left-out operators are with a nugget and the variance they call for.

    A part counts with the square root of its size: operators of a family are alike.
    """
    plain = Process(similarity, values, nugget, 1.0)
    squares, volumes, sizes = [], [], []
    for out in plain.leave_out(parts):
        count = len(out.members)
        squares.append(float(out.error @ np.linalg.solve(out.covariance, out.error)) / count)
        volumes.append(float(np.linalg.slogdet(out.covariance)[1]) / count)
        sizes.append(np.sqrt(count))
    weights = np.array(sizes) / np.sum(sizes)
    variance = max(float(weights @ np.array(squares)), float(np.finfo(np.float64).tiny))
    surprise = float(np.log(variance) + weights @ np.array(volumes))
    return surprise, Process(similarity, values, nugget, variance)
