"""One operator under one question: what every criterion is computed from, each part once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.kernel import Kernel
from sclcs.benchmark.pairs.moments import PairMoments, pair_moments
from sclcs.benchmark.pairs.ordering import (
    NeighbourScores,
    Superiority,
    neighbour_scores,
    superiority,
)
from sclcs.benchmark.prediction import Scorer, cross_fit
from sclcs.benchmark.question import Question

__all__ = ["KernelView"]

Floats = NDArray[np.float64]


class KernelView:
    """The kernel of one operator, seen by one question.

    Criteria share their parts (sums, sorted orders, the kernel of subjects), so that asking
    for eight scores costs hardly more than asking for the dearest.

    Parameters
    ----------
    kernel : Kernel
        The operator on the samples of the question, in its order.
    question : Question
        What is asked.
    draws : array, shape (draw, subject), optional
        1 for the subjects of a draw, 0 for the others; one score comes out per draw. By
        default there is one draw, of all subjects.
    """

    def __init__(self, kernel: Kernel, question: Question, draws: Floats | None = None) -> None:
        self.kernel = kernel
        self.question = question
        self.draws = np.ones((1, question.n_subjects)) if draws is None else draws

    def drawn(self, draws: Floats) -> KernelView:
        """Return the same operator under draws of subjects."""
        other = KernelView(self.kernel, self.question, draws)
        for part in ("of_cases", "of_pairs", "predictions"):  # these do not depend on draws
            if part in self.__dict__:
                other.__dict__[part] = self.__dict__[part]
        return other

    @property
    def n_samples(self) -> int:
        """Number of samples that are used."""
        places = self.question.places_of(self.question.used_rows)
        return int(self.kernel.usable[places].sum())

    @cached_property
    def of_cases(self) -> Floats:
        """The kernel of cases (subjects), shape (case, case); of harmonised ones, if asked."""
        if self.question.harmonise is not None:
            return self.question.harmoniser.kernel(self._case_vectors)
        cases = self.question.cases
        return self.kernel.of_cases(cases, self.question.places_of(cases.rows))

    @cached_property
    def _case_vectors(self) -> Floats:
        cases = self.question.cases
        return self.kernel.case_vectors(cases, self.question.places_of(cases.rows))

    @cached_property
    def of_pairs(self) -> Kernel:
        """The kernel of the samples in the order of the pair design."""
        return self.kernel.reordered(self.question.pair_places)

    @property
    def case_draws(self) -> Floats:
        """The draws by case."""
        return self.draws[:, self.question.cases.subjects]

    @cached_property
    def predictions(self) -> Floats:
        """Out-of-fold predictions of all cases, shape (repeat, case, column)."""
        question = self.question
        if question.harmonise is not None:
            harmoniser, vectors = question.harmoniser, self._case_vectors
            return question.predictor.out_of_fold_each(
                lambda training: harmoniser.kernel(vectors, training)
            )
        return question.predictor.out_of_fold(self._kernel_to_learn_from)

    @property
    def _kernel_to_learn_from(self) -> Floats:
        return self.question.model.kernel_within_subjects(self.of_cases)

    def cross_fit(self, score: Scorer, halves: Floats) -> Floats:
        """Score predictions inside halves of the cases, and from each half to the other.

        Parameters
        ----------
        score : callable
            From predictions to scores.
        halves : array, shape (2 * split, case)

        Returns
        -------
        array, shape (2, 2 * split)
            See :func:`~sclcs.benchmark.prediction.cross_fit`.
        """
        question, harmonise = self.question, None
        if question.harmonise is not None:
            harmonise = (question.harmoniser, self._case_vectors)
        return cross_fit(
            question.predictor,
            self._kernel_to_learn_from,
            halves,
            score,
            question.class_codes,
            harmonise=harmonise,
        )

    @cached_property
    def moments(self) -> PairMoments:
        """Means and spread of the similarities of within and between pairs."""
        return pair_moments(self.of_pairs, self.question.pairs, self.draws)

    @cached_property
    def superiority(self) -> Superiority:
        """Within pairs against between pairs, over all pairs."""
        return superiority(self.of_pairs, self.question.pairs, self.draws)

    @cached_property
    def neighbours(self) -> NeighbourScores:
        """Within pairs against between pairs, sample by sample."""
        return neighbour_scores(self.of_pairs, self.question.pairs, self.draws)
