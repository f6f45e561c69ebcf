"""Deal pieces of work to shares that end at about the same time.

Processes that start at different moments, on different machines, must agree on who does what
without talking to each other. So the cost of a piece comes from the laws that ship with the
package and never from a measurement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush

from sclcs.spi.catalogue import operator_facts
from sclcs.spi.cost_laws import cost_law
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece

__all__ = ["Work"]


@dataclass(frozen=True)
class Work:
    """All pieces of a computation, done or not, with what they are expected to cost.

    Parameters
    ----------
    pieces : sequence of Piece
    layout : StoreLayout
        Of the store.
    n_timepoints : int
        Length of a sample.
    """

    pieces: Sequence[Piece]
    layout: StoreLayout
    n_timepoints: int

    def seconds(self, piece: Piece) -> float:
        """Predict the CPU seconds of a piece, on the machine of the benchmark."""
        rows = self.layout.block_rows(piece.block)
        family = cost_law(piece.family).seconds_at(self.layout.n_regions, self.n_timepoints)
        members = max(_family_sizes()[piece.family], len(piece.operators))
        return float((rows.stop - rows.start) * family * len(piece.operators) / members)

    def deal(self, count: int) -> list[list[Piece]]:
        """Deal the pieces: the longest first, each to the share that has least to do.

        Parameters
        ----------
        count : int
            Number of shares.

        Returns
        -------
        list of list of Piece
            By share; the families of a block follow each other.
        """
        seconds = [self.seconds(piece) for piece in self.pieces]
        longest_first = sorted(range(len(seconds)), key=lambda place: (-seconds[place], place))
        loads = [(0.0, share) for share in range(count)]  # a heap
        dealt: list[list[int]] = [[] for _ in range(count)]
        for place in longest_first:
            load, share = heappop(loads)
            dealt[share].append(place)
            heappush(loads, (load + seconds[place], share))
        return [[self.pieces[place] for place in sorted(places)] for places in dealt]


@cache
def _family_sizes() -> Counter[str]:
    return Counter(facts.family for facts in operator_facts().values())
