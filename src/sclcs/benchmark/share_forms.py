"""What draws and permutations make of any kernel: prepared once, and used for every operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["DrawForms", "Last"]

Floats = NDArray[np.float64]
T = TypeVar("T")
MOST_COPIED = 8_000_000  # numbers of a kernel that are copied to leave out cases without weight


class Last(Generic[T]):
    """What was made of the last array; for an equal one it is not made again."""

    def __init__(self) -> None:
        self._kept: tuple[NDArray[Any], list[T]] | None = None

    def of(self, array: NDArray[Any]) -> list[T] | None:
        """Return what was made of an equal array; None if the last one was another."""
        kept = self._kept  # read once: other threads may put theirs there
        return kept[1] if kept is not None and np.array_equal(kept[0], array) else None

    def keep(self, array: NDArray[Any], parts: list[T]) -> None:
        """Remember what was made of an array."""
        self._kept = array, parts


@dataclass(frozen=True, eq=False)
class DrawForms:
    """Effect and noise of every draw as forms of a kernel.

    Both are linear in the kernel: sums over pairs of cases with weights that depend on the draws
    and columns alone. They are made once for all operators, and the weights have so few columns
    that products of the kernel with these are all that is left to do.

    Parameters
    ----------
    rows : list of array of int
        By column, the cases where it is not 0: a site has few.
    weighted, effect, noise : array, shape (column, case, draw)
        Columns as the draws weigh them, and the two forms on the other side.
    effect_alone, noise_alone : array, shape (draw, case)
        What the similarity of a case with itself counts.
    scale : array, shape (draw,)
        Variance of the target.
    usable : array of bool, shape (draw,)
    """

    rows: list[NDArray[np.intp]]
    weighted: Floats
    effect: Floats
    noise: Floats
    effect_alone: Floats
    noise_alone: Floats
    scale: Floats
    usable: NDArray[np.bool_]

    def share(self, kernel: Floats) -> Floats:
        """Return the explained share of every draw; NaN where nothing is left to compare."""
        own = np.diagonal(kernel)
        effect, noise = self.effect_alone @ own, self.noise_alone @ own
        for column, rows in enumerate(self.rows):
            few = len(rows) < len(kernel) and len(rows) * len(kernel) <= MOST_COPIED
            weighted = self.weighted[column]
            sides = kernel[:, rows] @ weighted[rows] if few else kernel @ weighted
            effect += np.einsum("nd,nd->d", self.effect[column], sides)
            noise += np.einsum("nd,nd->d", self.noise[column], sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.scale * effect / noise
            share = ratio / (1.0 + ratio)
        return np.where(self.usable & (noise > 0), share, np.nan)
