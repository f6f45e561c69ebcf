"""Cutting pieces that would take too long: by samples, then by regions, then by operators.

Processes that start at different moments must cut alike. So what decides is the predicted cost
by the laws that ship with the package, never a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sclcs.compute.region_parts import PLANES, regions_in_part
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.operator_costs import operator_cost, seconds_per_sample
from sclcs.spi.pairwise import is_pairwise

__all__ = ["LONGEST", "Part", "Scissors", "longest_within"]

#: Predicted CPU seconds of what is done at once where nobody says otherwise: what a kill may cost.
LONGEST = 600.0
#: What is done at once is predicted to take this part of a time limit: machines may be slower.
MARGIN = 4


def longest_within(limit: float | None) -> float:
    """Return how many predicted CPU seconds may be done at once, if there is a time limit."""
    return LONGEST if limit is None else min(LONGEST, limit / MARGIN)


@dataclass(frozen=True)
class Part:
    """What is done at once: a piece, or some of its samples, operators and regions.

    Parameters
    ----------
    piece : Piece
        To which it belongs.
    operators : tuple of str
        Those of the part.
    rows : tuple of int
        First sample inside the block, and the one after the last.
    regions : tuple of int, optional
        Which part of the regions, and of how many; None for all regions.
    """

    piece: Piece
    operators: tuple[str, ...]
    rows: tuple[int, int]
    regions: tuple[int, int] | None = None

    @property
    def matrices(self) -> int:
        """Number of matrices; parts of the same matrices count them once."""
        counts = self.regions is None or self.regions[0] == 0
        return len(self.operators) * (self.rows[1] - self.rows[0]) if counts else 0


@dataclass(frozen=True)
class Scissors:
    """What things cost, and how they are cut.

    Parameters
    ----------
    layout : StoreLayout
        Of the store.
    n_timepoints : int
        Length of a sample.
    longest : float
        Predicted CPU seconds that a part should not exceed.
    fair : float
        The same, as far as samples can be cut: parts of a sample cost more than the whole.
    """

    layout: StoreLayout
    n_timepoints: int
    longest: float = LONGEST
    fair: float = math.inf

    def seconds(self, part: Part) -> float:
        """Predict the CPU seconds of a part, on the machine of the benchmark."""
        number = self.layout.n_regions
        if part.regions is not None:
            number = regions_in_part(number, part.regions[1])
        return (part.rows[1] - part.rows[0]) * self._sample(part.operators, number)

    def _sample(self, operators: tuple[str, ...], regions: int) -> float:
        return _seconds_of_sample(operators, regions, self.n_timepoints)

    def size(self, piece: Piece) -> int:
        """Return the number of samples of a piece."""
        rows = self.layout.block_rows(piece.block)
        return int(rows.stop - rows.start)

    def whole(self, piece: Piece) -> Part:
        """Return a piece that is not cut."""
        return Part(piece, piece.operators, (0, self.size(piece)))

    def is_whole(self, part: Part) -> bool:
        """Say whether a part is all of its piece."""
        return part == self.whole(part.piece)

    def cut(self, piece: Piece) -> list[Part]:
        """Return the parts of a piece: one, if it is short enough or cannot be cut."""
        whole, size = self.whole(piece), self.size(piece)
        wanted = min(self.longest, self.fair)
        if self.seconds(whole) <= wanted:
            return [whole]
        one = self._sample(piece.operators, self.layout.n_regions)
        step = max(1, int(wanted / one))
        bundles = [(piece.operators, 0)] if one <= self.longest else self._bundles(piece)
        return [
            Part(piece, operators, (row, min(row + step, size)), regions)
            for row in range(0, size, step)
            for operators, count in bundles
            for regions in ([(k, count) for k in range(count)] if count else [None])
        ]

    def _bundles(self, piece: Piece) -> list[tuple[tuple[str, ...], int]]:
        """Divide the operators of a sample that takes too long; say into how many parts of regions.

        Operators of a family share intermediate results, so they stay together if they can.
        """
        pairs = tuple(name for name in piece.operators if is_pairwise(name))
        others = [name for name in piece.operators if name not in pairs]
        together = self._planes(pairs)
        bundles = [(pairs, together)] if pairs and together else []
        if pairs and not together:
            bundles = [((name,), self._planes((name,)) or self._finest) for name in pairs]
        return bundles + [(names, 0) for names in self._groups(others)]

    def _planes(self, operators: tuple[str, ...]) -> int:
        """Return the fewest parts of regions that are short enough; 0 if none are."""
        for count in PLANES:
            if count > self.layout.n_regions:
                break
            regions = regions_in_part(self.layout.n_regions, count)
            if self._sample(operators, regions) <= self.longest:
                return count
        return 0

    @property
    def _finest(self) -> int:
        return max((count for count in PLANES if count <= self.layout.n_regions), default=0)

    def _groups(self, operators: Sequence[str]) -> list[tuple[str, ...]]:
        """Divide operators that need all regions into groups that are short enough, if they can."""
        groups: list[tuple[str, ...]] = []
        for name in operators:
            joined = (*groups[-1], name) if groups else (name,)
            if groups and self._sample(joined, self.layout.n_regions) <= self.longest:
                groups[-1] = joined
            else:
                groups.append((name,))
        return groups


@lru_cache(maxsize=4096)  # a large cohort has a million pieces of a few families
def _seconds_of_sample(operators: tuple[str, ...], regions: int, timepoints: int) -> float:
    return seconds_per_sample(operator_cost(name, regions, timepoints) for name in operators)
