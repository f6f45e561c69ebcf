"""What a good core-set is: one on which operators nobody looked at keep their order.

Matching the panel's scores exactly does not generalise. On a small core-set the scores of
operators scatter far more than they differ on the whole cohort, and a core-set whose panel
scores are just as close together lets this scatter decide the order of all other operators.
What helps is a core-set on which the differences are *larger* than on the whole cohort, in
proportion: then they stand out of the scatter of unseen operators as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark import Kernel, Question, find_criterion, make_question
from sclcs.cohort.coreset import CoreSet
from sclcs.selection.guided.kernel import FORMULAS, Goal, core_sums, misfit, scores_of
from sclcs.selection.guided.panel import PROXY, Panel, score_of

__all__ = [
    "Line",
    "Objective",
    "asked_scores",
    "core_scores",
    "fit_line",
    "make_objective",
    "operator_weights",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Objective:
    """One minus the correlation with the full scores to expect on unseen operators.

    The scores on the core-set are taken as a line of the full scores, with slope a, plus
    a residual. With v the variance of the full scores and e the residual's on the panel, the
    correlation on the panel is a √v / √(a² v + e). An unseen operator has more residual:
    the scatter of a core-set that nothing guided, and a part that grows as the core-set is
    driven away from its natural slope of one:
    a √v / √(a² v + e + noise + distrust (a - 1)² v).

    Parameters
    ----------
    full : array, shape (task, operator)
        Scores on the whole cohort.
    weights : array, shape (operator,)
        How much each operator counts; their sum is one.
    noise : array, shape (task,)
        Variance about the line on core-sets that were only stratified.
    distrust : float or array, shape (task,)
        How badly a slope other than one carries over to unseen operators.
    score : str
        What the scores are; one that pair sums give.
    """

    full: Floats
    weights: Floats
    noise: Floats
    distrust: float | Floats
    score: str = PROXY

    def value(self, scores: Floats) -> float:
        """Return the objective of scores (task, operator); lower is better."""
        return float(misfit(scores, self.for_kernel()))

    def for_kernel(self) -> Goal:
        """Return the same as the compiled search takes it."""
        distrust = np.array(np.broadcast_to(self.distrust, len(self.full)), dtype=np.float64)
        return Goal(self.full, self.weights, self.noise, distrust, FORMULAS[self.score])


@dataclass(frozen=True)
class Line:
    """Core-set scores as a line of full scores, by weighted least squares."""

    slope: float
    shift: float

    def implied(self, core: Floats) -> Floats:
        """Return the full scores that core-set scores stand for."""
        return np.asarray((core - self.shift) / self.slope)


def fit_line(full: Floats, core: Floats, weights: Floats) -> Line:
    """Fit core-set scores by full scores."""
    share = weights / weights.sum()
    mean_full, mean_core = share @ full, share @ core
    spread = share @ (full - mean_full) ** 2
    slope = float(share @ ((full - mean_full) * (core - mean_core)) / spread)
    return Line(slope, float(mean_core - slope * mean_full))


def operator_weights(families: Sequence[str], left_out: Flags | None = None) -> Floats:
    """Return weights by which a family counts as the root of its number of operators.

    Parameters
    ----------
    families : sequence of str
        Of each operator.
    left_out : array of bool, optional
        Operators that must not count.

    Returns
    -------
    array
        Their sum is one.
    """
    sizes = Counter(families)
    raw = np.array([1 / np.sqrt(sizes[name]) for name in families])
    if left_out is not None:
        raw[left_out] = 0.0
    return np.asarray(raw / raw.sum())


def core_scores(panel: Panel, rows: Integers, weights: Floats | None = None) -> Floats | None:
    """Return the panel's searched scores (task, operator) on some candidates; None without any.

    Weights, if given, have a mean of one: how often each candidate counts.
    """
    picked = np.ascontiguousarray(panel.similarity[np.ix_(rows, rows)])
    classes, blocks = panel.classes[:, rows], panel.blocks[:, rows]
    weighed = np.ones(len(rows)) if weights is None else weights
    sums, counts, _ = core_sums(
        picked, classes, blocks, panel.places[rows], np.arange(len(rows)), weighed
    )
    scores = np.empty((len(classes), picked.shape[2]))
    return scores if scores_of(sums, counts, FORMULAS[panel.searched], scores) else None


def asked_scores(panel: Panel, rows: Integers, weights: Floats | None = None) -> Floats | None:
    """Return the same by the score that was asked for, as the benchmark computes it.

    Parameters
    ----------
    panel : Panel
    rows : array of int
        The chosen candidates.
    weights : array, optional
        How often each of them counts; their mean is one.

    Returns
    -------
    array or None
    """
    core = CoreSet([str(panel.samples.index[row]) for row in rows], weight=weights)
    questions = [
        make_question(panel.samples, target, core, n_timepoints=panel.n_timepoints)
        for target in panel.targets
    ]
    if any(question.degenerate for question in questions):
        return None
    pairs = zip(questions, panel.scores, strict=True)
    scores = np.array([_scores(panel, question, name) for question, name in pairs])
    return scores if np.isfinite(scores).all() else None


def _scores(panel: Panel, question: Question, name: str) -> list[float]:
    """Return the score of every operator under one question."""
    chosen = np.ix_(question.rows, question.rows)
    kernels = (
        Kernel.from_similarity(np.ascontiguousarray(panel.similarity[:, :, place][chosen]))
        for place in range(len(panel.operators))
    )
    moved = replace(question, samples=question.samples.iloc[question.rows], rows=_all(question))
    criterion = find_criterion(name, moved.target)
    return [score_of(kernel, moved, criterion) for kernel in kernels]


def _all(question: Question) -> Integers:
    return np.arange(len(question.rows))


def make_objective(
    panel: Panel, scored: Sequence[Floats], distrust: float | Floats, left_out: Flags | None = None
) -> Objective:
    """Measure the scatter of unguided core-sets.

    Parameters
    ----------
    panel : Panel
    scored : sequence of arrays, shape (task, operator)
        The panel's scores on core-sets that were only stratified.
    distrust : float or array, shape (task,)
    left_out : array of bool, optional
        Operators that must not guide.

    Returns
    -------
    Objective
    """
    weights = operator_weights(panel.families, left_out)
    noise = np.zeros(len(panel.full))
    for task, full in enumerate(panel.full):
        residuals = []
        for scores in scored:
            line = fit_line(full, scores[task], weights)
            off = scores[task] - line.shift - line.slope * full
            residuals.append(float(weights @ off**2))
        spread = float(weights @ (full - weights @ full) ** 2)
        noise[task] = np.mean(residuals) if residuals else spread
    return Objective(panel.full, weights, noise, distrust, panel.searched)
