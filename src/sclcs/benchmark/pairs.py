"""One operator under one design: what every score is computed from, each part once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign
from sclcs.benchmark.moments import PairMoments, closed_form_moments, table_moments
from sclcs.benchmark.ordering import (
    NeighbourScores,
    Superiority,
    neighbour_scores,
    superiority,
)
from sclcs.benchmark.similarity import OperatorVectors

__all__ = ["OperatorPairs"]

Floats = NDArray[np.float64]


class OperatorPairs:
    """The pairs of one operator that a design compares.

    Scores share their parts (sums, sorted orders), so that asking for eight scores costs
    hardly more than asking for the dearest.

    Parameters
    ----------
    vectors : OperatorVectors
        The operator on the samples of the design, in its order.
    design : PairDesign
        Which pairs are compared.
    multiplicity : array, shape (draw, subject), optional
        How often each subject was drawn; one score comes out per draw. By default there is
        one draw in which every subject counts once.
    """

    def __init__(
        self, vectors: OperatorVectors, design: PairDesign, multiplicity: Floats | None = None
    ) -> None:
        self.vectors = vectors
        self.design = design
        self._drawn = multiplicity

    def drawn(self, multiplicity: Floats) -> OperatorPairs:
        """Return the same pairs under draws of subjects."""
        return OperatorPairs(self.vectors, self.design, multiplicity)

    @property
    def n_samples(self) -> int:
        """Number of samples that form pairs."""
        return int(self.vectors.usable.sum())

    @property
    def _multiplicity(self) -> Floats:
        return np.ones((1, self.design.n_subjects)) if self._drawn is None else self._drawn

    @cached_property
    def moments(self) -> PairMoments:
        """Count, sum and sum of squares of the similarities of within and between pairs."""
        if self._drawn is None:
            return closed_form_moments(self.vectors, self.design)
        return table_moments(self.vectors, self.design, self._drawn)

    @cached_property
    def superiority(self) -> Superiority:
        """Within pairs against between pairs, over all pairs."""
        return superiority(self.vectors, self.design, self._multiplicity)

    @cached_property
    def neighbours(self) -> NeighbourScores:
        """Within pairs against between pairs, sample by sample."""
        return neighbour_scores(self.vectors, self.design, self._multiplicity)
