"""Go through the operators once, and answer every question about each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sclcs._core import InputError, checked, name_first, progress
from sclcs.stats.criteria import Criterion
from sclcs.stats.features import Similarity, Vectorize
from sclcs.stats.kernel import AnyMatrices, Kernel, make_kernel
from sclcs.stats.ordering import (
    NeighbourScores,
    Superiority,
    neighbour_scores,
    subject_statistics,
    superiority,
)
from sclcs.stats.pairs import PairMoments, pair_moments
from sclcs.stats.prediction import Scorer, cross_fit
from sclcs.stats.question import Question
from sclcs.stats.share import Scatter, scatter_of
from sclcs.stats.sources import FCSource, lazy_matrices

__all__ = ["Evaluation", "Inquiry", "KernelView", "Measure", "evaluate"]


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
            See :func:`~sclcs.stats.prediction`.
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


Integers = NDArray[np.int64]
T = TypeVar("T")
MANY_QUESTIONS = 16  # from here on, similarities of all samples pay for themselves


@dataclass(frozen=True)
class Measure:
    """How matrices are compared, and when an operator is left out.

    Parameters
    ----------
    vectorize : {"offdiag", "upper", "sym_upper"}
        Which entries.
    similarity : {"spearman", "pearson"}
        How two matrices are compared.
    max_nonfinite : float
        Share of samples that may hold values that are not finite before the operator is
        left out. The pairs of such samples are not used.
    max_constant : float
        The same for matrices whose entries are all equal.
    """

    vectorize: Vectorize = "offdiag"
    similarity: Similarity = "spearman"
    max_nonfinite: float = 0.0
    max_constant: float = 0.01


@dataclass(frozen=True, eq=False)
class Inquiry:
    """A question, the criteria wanted under it, and draws and permutations to repeat them under.

    Parameters
    ----------
    question : Question
    criteria : tuple of Criterion
    draws : array, shape (draw, subject), optional
        1 for the subjects of a draw, 0 for the others.
    permutations : array of int, shape (permutation, case), optional
        Of the target; with them comes the test whether there is an effect, and for labels
        the test of scatter.
    training_halves : array, shape (2 * split, case), optional
        Halves to train on, for criteria that learn.
    """

    question: Question
    criteria: tuple[Criterion, ...]
    draws: Floats | None = None
    permutations: Integers | None = None
    training_halves: Floats | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The answers to one inquiry, one row per operator.

    Parameters
    ----------
    operators : list of str
    point : dict of str to array, shape (operator,)
        Scores on all samples of the question, by criterion.
    drawn : dict of str to array, shape (operator, draw)
        Scores under each draw of subjects.
    statistics : dict of str to array, shape (operator, 1 + permutation)
        By criterion, the observed one first; empty without permutations.
    scatter : list of Scatter or None
        For labels, with permutations.
    n_samples : array of int
        Samples that were used.
    status, reason : list of str
        ``ok``, ``not-finite``, ``constant`` or ``undefined``, and why.
    cross_fit : dict of str to array, shape (operator, 2, 2 * split)
        By criterion that learns: scores inside training halves, and of their models on the other
        halves; empty for the others.
    """

    operators: list[str]
    point: dict[str, Floats]
    drawn: dict[str, Floats]
    statistics: dict[str, Floats]
    scatter: list[Scatter | None]
    n_samples: Integers
    status: list[str]
    reason: list[str]
    cross_fit: dict[str, Floats]

    @classmethod
    def together(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """Put answers to one inquiry together that were given for different operators."""
        if not parts:
            raise InputError("Expected answers to put together, got none.")

        def each(name: str) -> dict[str, Floats]:
            tables: list[dict[str, Floats]] = [getattr(part, name) for part in parts]
            return {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}

        return cls(
            [name for part in parts for name in part.operators],
            each("point"),
            each("drawn"),
            each("statistics"),
            [scatter for part in parts for scatter in part.scatter],
            np.concatenate([part.n_samples for part in parts]),
            [status for part in parts for status in part.status],
            [reason for part in parts for reason in part.reason],
            each("cross_fit"),
        )

    def in_order(self, places: NDArray[np.intp]) -> Evaluation:
        """Return the same answers with the operators in another order."""

        def listed(values: list[T]) -> list[T]:
            return [values[place] for place in places]

        def each(values: dict[str, Floats]) -> dict[str, Floats]:
            return {name: array[places] for name, array in values.items()}

        return Evaluation(
            listed(self.operators),
            each(self.point),
            each(self.drawn),
            each(self.statistics),
            listed(self.scatter),
            self.n_samples[places],
            listed(self.status),
            listed(self.reason),
            each(self.cross_fit),
        )


@dataclass
class _Answer:
    point: dict[str, float]
    drawn: dict[str, Floats]
    statistics: dict[str, Floats]
    cross_fit: dict[str, Floats]
    scatter: Scatter | None = None
    n_samples: int = 0
    status: str = "ok"
    reason: str = ""


@checked
def evaluate(
    source: FCSource,
    operators: Sequence[str],
    inquiries: Sequence[Inquiry],
    measure: Measure | None = None,
    *,
    n_jobs: int = 1,
) -> list[Evaluation]:
    """Score operators under several questions, from one kernel per operator.

    Parameters
    ----------
    source : FCSource
        Where the matrices come from.
    operators : sequence of str
        Which operators.
    inquiries : sequence of Inquiry
        Questions (targets on core-sets), criteria, draws and permutations.
    measure : Measure, optional
        How matrices are compared.
    n_jobs : int
        Threads; each works on one operator. It does not change the result.

    Returns
    -------
    list of Evaluation
        One per inquiry.
    """
    if n_jobs < 1:
        raise InputError(f"n_jobs must be a positive number, not {n_jobs}.")
    if all(inquiry.question.degenerate for inquiry in inquiries):  # before any long work
        blanks = [
            _blank(inquiry, "undefined", inquiry.question.degenerate) for inquiry in inquiries
        ]
        return [_gather(list(operators), [blank] * len(operators)) for blank in blanks]
    measure = measure or Measure()
    needed = np.unique(np.concatenate([inquiry.question.rows for inquiry in inquiries]))

    def work(spi: str, matrices: AnyMatrices) -> list[_Answer]:
        kernel, status, reason = _prepare(spi, matrices, needed, source, measure)
        if len(inquiries) >= MANY_QUESTIONS and status == "ok":
            _ = kernel.similarity  # one product now serves every question
        return [_answer(kernel, needed, inquiry, status, reason) for inquiry in inquiries]

    answers: list[list[_Answer]] = []
    learns = any(one.predictions is not None for each in inquiries for one in each.criteria)
    alone = _one_thread() if learns or n_jobs > 1 else nullcontext()
    with alone, progress("ranking operators", len(operators)) as ticker:
        for answer in _each_operator(operators, partial(lazy_matrices, source), work, n_jobs):
            answers.append(answer)
            ticker.advance()
    return [_gather(list(operators), column) for column in zip(*answers, strict=True)]


def _one_thread() -> AbstractContextManager[object]:
    """Let linear algebra use one thread.

    Predictions are thousands of products of small matrices. A second thread does not help them, and
    where the machine has other work, waiting for it took thirty times the CPU time.
    """
    import scipy.linalg  # noqa: F401 - brings a library of its own, which must be there to be told

    limited: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limited


def _each_operator(
    operators: Sequence[str],
    fetch: Callable[[str], AnyMatrices],
    work: Callable[[str, AnyMatrices], T],
    n_jobs: int,
) -> Iterator[T]:
    if n_jobs == 1:
        for spi in operators:
            yield work(spi, fetch(spi))
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(n_jobs) as pool:
        for spi in operators:
            waiting.append(pool.submit(work, spi, fetch(spi)))
            if len(waiting) > n_jobs:  # never hold more operators in memory than are worked on
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _prepare(
    spi: str,
    matrices: AnyMatrices,
    needed: Integers,
    source: FCSource,
    measure: Measure,
) -> tuple[Kernel, str, str]:
    """Make the kernel of the needed samples; judge the operator on all samples it has."""
    kernel = make_kernel(matrices, measure.vectorize, measure.similarity, needed)
    screen = kernel.screen
    for status, bad, limit, what in (
        ("not-finite", ~screen.finite, measure.max_nonfinite, "hold values that are not finite"),
        ("constant", screen.constant, measure.max_constant, "have a constant matrix"),
    ):
        if bad.mean() > limit:
            first = name_first(np.asarray(source.sample_ids, dtype=object)[bad], 3)
            reason = f"{int(bad.sum())} of {len(bad)} samples {what}: {first}"
            said = source.reason(spi)
            return kernel, status, f"{reason} ({said})" if said else reason
    return kernel, "ok", ""


def _answer(
    kernel: Kernel, needed: Integers, inquiry: Inquiry, status: str, reason: str
) -> _Answer:
    question = inquiry.question
    if status != "ok":
        return _blank(inquiry, status, reason)
    if question.degenerate:
        return _blank(inquiry, "undefined", question.degenerate)
    view = KernelView(kernel.take(np.searchsorted(needed, question.rows)), question)
    answer = _blank(inquiry, "ok", "")
    answer.n_samples = view.n_samples
    for criterion in inquiry.criteria:
        answer.point[criterion.name] = float(criterion.compute(view)[0])
    if inquiry.permutations is not None:
        _test(view, inquiry, answer)
    if inquiry.draws is not None:
        redrawn = view.drawn(inquiry.draws)
        for criterion in inquiry.criteria:
            answer.drawn[criterion.name] = criterion.compute(redrawn)
    for criterion in inquiry.criteria:
        if criterion.predictions is not None and inquiry.training_halves is not None:
            trained = view.cross_fit(criterion.predictions, inquiry.training_halves)
            answer.cross_fit[criterion.name] = trained
    if any(np.isnan(value) for value in answer.point.values()):
        answer.status = "undefined"
        answer.reason = "no within pair or no between pair is left, or the denominator is zero"
    return answer


def _test(view: KernelView, inquiry: Inquiry, answer: _Answer) -> None:
    """Add the statistics of the tests under all permutations."""
    question, permutations = inquiry.question, inquiry.permutations
    if permutations is None:
        return
    common: Floats | None = None
    for criterion in inquiry.criteria:
        if criterion.statistics is not None:
            found = criterion.statistics(view, permutations)
        else:
            common = _common_statistics(view, permutations) if common is None else common
            found = common
        answer.statistics[criterion.name] = found
    if question.target.kind == "classes":
        noise = question.model.permuted_noise(view.of_cases, permutations)
        classes = np.asarray(question.values, dtype=np.int64)
        answer.scatter = scatter_of(noise, classes, permutations)


def _common_statistics(view: KernelView, permutations: Integers) -> Floats:
    """Return the statistics of the test that all criteria of a target share."""
    question = view.question
    if question.target.kind == "subject":
        return subject_statistics(view.of_pairs, question.pairs, permutations)
    return question.model.statistics(view.of_cases, permutations)


def _blank(inquiry: Inquiry, status: str, reason: str) -> _Answer:
    """Return the answer of an operator that has no score."""
    n_draws = 0 if inquiry.draws is None else len(inquiry.draws)
    n_tests = 0 if inquiry.permutations is None else 1 + len(inquiry.permutations)
    n_halves = 0 if inquiry.training_halves is None else len(inquiry.training_halves)
    names = [criterion.name for criterion in inquiry.criteria]
    return _Answer(
        dict.fromkeys(names, float("nan")),
        {name: np.full(n_draws, np.nan) for name in names},
        {name: np.full(n_tests, np.nan) for name in names},
        {name: np.full((2, n_halves), np.nan) for name in names},
        status=status,
        reason=reason,
    )


def _gather(operators: list[str], answers: Sequence[_Answer]) -> Evaluation:
    names = list(answers[0].point) if answers else []
    return Evaluation(
        operators,
        {name: np.array([answer.point[name] for answer in answers]) for name in names},
        {name: np.stack([answer.drawn[name] for answer in answers]) for name in names},
        {name: np.stack([answer.statistics[name] for answer in answers]) for name in names},
        [answer.scatter for answer in answers],
        np.array([answer.n_samples for answer in answers], dtype=np.int64),
        [answer.status for answer in answers],
        [answer.reason for answer in answers],
        {name: np.stack([answer.cross_fit[name] for answer in answers]) for name in names},
    )
