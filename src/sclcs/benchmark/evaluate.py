"""Go through the operators once, and answer every question about each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sclcs.benchmark.design import PairDesign
from sclcs.benchmark.fc_source import FCSource, Matrices
from sclcs.benchmark.pairs import OperatorPairs
from sclcs.benchmark.scores import Score
from sclcs.benchmark.similarity import (
    OperatorVectors,
    Similarity,
    Vectorize,
    operator_vectors,
)
from sclcs.core.errors import InputError, name_first
from sclcs.core.progress import task as progress

__all__ = ["Evaluation", "Measure", "Question", "evaluate"]

Floats = NDArray[np.float64]
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
class Question:
    """A design, the scores wanted under it, and draws of subjects to repeat them under."""

    design: PairDesign
    scores: tuple[Score, ...]
    draws: Floats | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The answers to one question, one row per operator.

    Parameters
    ----------
    operators : list of str
    point : dict of str to array, shape (operator,)
        Scores on all samples of the design, by name.
    drawn : dict of str to array, shape (operator, draw)
        Scores under each draw of subjects.
    n_samples : array of int
        Samples that formed pairs.
    status, reason : list of str
        ``ok``, ``not-finite``, ``constant`` or ``undefined``, and why.
    """

    operators: list[str]
    point: dict[str, Floats]
    drawn: dict[str, Floats]
    n_samples: NDArray[np.int64]
    status: list[str]
    reason: list[str]


@dataclass(frozen=True)
class _Answer:
    point: dict[str, float]
    drawn: dict[str, Floats]
    n_samples: int
    status: str
    reason: str


def evaluate(
    source: FCSource,
    operators: Sequence[str],
    questions: Sequence[Question],
    measure: Measure | None = None,
    *,
    n_jobs: int = 1,
) -> list[Evaluation]:
    """Score operators under several designs, from one set of vectors per operator.

    Parameters
    ----------
    source : FCSource
        Where the matrices come from.
    operators : sequence of str
        Which operators.
    questions : sequence of Question
        Designs (tasks on core-sets), scores and draws.
    measure : Measure, optional
        How matrices are compared.
    n_jobs : int
        Threads; each works on one operator. It does not change the result.

    Returns
    -------
    list of Evaluation
        One per question.
    """
    if n_jobs < 1:
        raise InputError(f"n_jobs must be a positive number, not {n_jobs}.")
    if all(question.design.degenerate for question in questions):  # known before any long work
        blanks = [
            _blank(question, "undefined", question.design.degenerate) for question in questions
        ]
        return [_gather(list(operators), [blank] * len(operators)) for blank in blanks]
    measure = measure or Measure()
    needed = np.unique(np.concatenate([question.design.rows for question in questions]))

    def work(spi: str, matrices: Matrices) -> list[_Answer]:
        vectors, status, reason = _prepare(spi, matrices, needed, source, measure)
        if len(questions) >= MANY_QUESTIONS and status == "ok":
            _ = vectors.similarity  # one product now serves every question
        return [_answer(vectors, needed, question, status, reason) for question in questions]

    answers: list[list[_Answer]] = []
    with progress("ranking operators", len(operators)) as ticker:
        for answer in _each_operator(operators, source.matrices, work, n_jobs):
            answers.append(answer)
            ticker.advance()
    return [_gather(list(operators), column) for column in zip(*answers, strict=True)]


def _each_operator(
    operators: Sequence[str],
    fetch: Callable[[str], Matrices],
    work: Callable[[str, Matrices], T],
    n_jobs: int,
) -> Iterator[T]:
    if n_jobs == 1:
        for spi in operators:
            yield work(spi, fetch(spi))
        return
    waiting: deque[Future[T]] = deque()
    with threadpool_limits(limits=1), ThreadPoolExecutor(n_jobs) as pool:
        for spi in operators:
            waiting.append(pool.submit(work, spi, fetch(spi)))
            if len(waiting) > n_jobs:  # never hold more operators in memory than are worked on
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _prepare(
    spi: str,
    matrices: Matrices,
    needed: NDArray[np.int64],
    source: FCSource,
    measure: Measure,
) -> tuple[OperatorVectors, str, str]:
    """Make the vectors of the needed samples; judge the operator on all samples it has."""
    vectors = operator_vectors(matrices, measure.vectorize, measure.similarity, needed)
    screen = vectors.screen
    for status, bad, limit, what in (
        ("not-finite", ~screen.finite, measure.max_nonfinite, "hold values that are not finite"),
        ("constant", screen.constant, measure.max_constant, "have a constant matrix"),
    ):
        if bad.mean() > limit:
            first = name_first(np.asarray(source.sample_ids, dtype=object)[bad], 3)
            reason = f"{int(bad.sum())} of {len(bad)} samples {what}: {first}"
            return vectors, status, reason + _engine_reason(source, spi)
    return vectors, "ok", ""


def _engine_reason(source: FCSource, spi: str) -> str:
    """Return what the engine said about the operator, if it said anything."""
    table = source.status()
    if not {"spi", "reason"} <= set(table.columns):
        return ""
    said = table.loc[(table["spi"] == spi), "reason"]
    words = [str(text) for text in said if isinstance(text, str) and text]
    return f" ({words[0]})" if words else ""


def _answer(
    vectors: OperatorVectors,
    needed: NDArray[np.int64],
    question: Question,
    status: str,
    reason: str,
) -> _Answer:
    if status != "ok":
        return _blank(question, status, reason)
    if question.design.degenerate:
        return _blank(question, "undefined", question.design.degenerate)
    places = np.searchsorted(needed, question.design.rows)
    whole = len(places) == len(needed) and bool((places == np.arange(len(needed))).all())
    pairs = OperatorPairs(vectors if whole else vectors.take(places), question.design)
    point = {score.name: float(score.compute(pairs)[0]) for score in question.scores}
    drawn = {score.name: np.empty(0) for score in question.scores}
    if question.draws is not None:
        redrawn = pairs.drawn(question.draws)
        drawn = {score.name: score.compute(redrawn) for score in question.scores}
    if any(np.isnan(value) for value in point.values()):
        status = "undefined"
        reason = "no within pair or no between pair is left, or the denominator is zero"
    return _Answer(point, drawn, pairs.n_samples, status, reason)


def _blank(question: Question, status: str, reason: str) -> _Answer:
    """Return the answer of an operator that has no score."""
    n_draws = 0 if question.draws is None else len(question.draws)
    names = [score.name for score in question.scores]
    point = dict.fromkeys(names, float("nan"))
    return _Answer(point, {name: np.full(n_draws, np.nan) for name in names}, 0, status, reason)


def _gather(operators: list[str], answers: Sequence[_Answer]) -> Evaluation:
    names = list(answers[0].point) if answers else []
    return Evaluation(
        operators,
        {name: np.array([answer.point[name] for answer in answers]) for name in names},
        {name: np.stack([answer.drawn[name] for answer in answers]) for name in names},
        np.array([answer.n_samples for answer in answers], dtype=np.int64),
        [answer.status for answer in answers],
        [answer.reason for answer in answers],
    )
