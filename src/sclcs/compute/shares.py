"""Deal work to shares that end at about the same time.

Processes that start at different moments, on different machines, must agree on who does what
without talking to each other. So the cost of a part comes from the laws that ship with the
package and never from a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush

from sclcs.compute.cutting import Part, Scissors
from sclcs.spi.fc_records import Piece

__all__ = ["Work"]

PARTS_PER_SHARE = 4
SHORTEST = 2.0  # predicted CPU seconds; to cut finer costs more than it gains


@dataclass(frozen=True)
class Work:
    """Pieces of a computation with what they are expected to cost.

    Parameters
    ----------
    pieces : sequence of Piece
    scissors : Scissors
        They know the store, and how long something may take that is done at once.
    """

    pieces: Sequence[Piece]
    scissors: Scissors

    @cached_property
    def parts(self) -> list[Part]:
        """What is done at once, in the order of the pieces."""
        return [part for piece in self.pieces for part in self.scissors.cut(piece)]

    def seconds(self, part: Part) -> float:
        """Predict the CPU seconds of a part, on the machine of the benchmark."""
        return self.scissors.seconds(part)

    def cut(self, longest: float, fair: float = math.inf) -> Work:
        """Return the same work in parts that should not exceed some seconds."""
        return replace(self, scissors=replace(self.scissors, longest=longest, fair=fair))

    def even(self, count: int) -> Work:
        """Return the same work, cut so that so many shares can end at about the same time.

        Shares would wait for the one with the longest piece.
        """
        fair = sum(map(self.seconds, self.parts)) / (PARTS_PER_SHARE * count)
        return self.cut(self.scissors.longest, max(fair, SHORTEST))

    def deal(self, count: int, parts: Sequence[Part] | None = None) -> list[list[Part]]:
        """Deal the work: the longest first, each to the share that has least to do.

        Parameters
        ----------
        count : int
            Number of shares.
        parts : sequence of Part, optional
            Only these.

        Returns
        -------
        list of list of Part
            By share; the families of a block follow each other.
        """
        chosen = self.parts if parts is None else parts
        seconds = [self.seconds(part) for part in chosen]
        longest_first = sorted(range(len(seconds)), key=lambda place: (-seconds[place], place))
        loads = [(0.0, share) for share in range(count)]  # a heap
        dealt: list[list[int]] = [[] for _ in range(count)]
        for place in longest_first:
            load, share = heappop(loads)
            dealt[share].append(place)
            heappush(loads, (load + seconds[place], share))
        return [[chosen[place] for place in sorted(places)] for places in dealt]
