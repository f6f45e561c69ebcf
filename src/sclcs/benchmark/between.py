"""What a permutation inside groups leaves in place: differences of the target between them.

If sites differ in age, an operator that sees sites sees age. A permutation within sites keeps
that, so p is right: it asks for more than sites tell. The score contains it, though, unless
sites are a covariate; whoever reads both must be told.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.criteria import Criterion
from sclcs.benchmark.question import Question

__all__ = ["kept_by_permutations"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def kept_by_permutations(
    question: Question, criterion: Criterion, statistics: Floats, point: Floats
) -> dict[str, float]:
    """Return how far groups tell the target, and what the best operator scores by that alone.

    Parameters
    ----------
    question : Question
    criterion : Criterion
    statistics : array, shape (operator, 1 + permutation)
    point : array, shape (operator,)
        Scores of the same operators.

    Returns
    -------
    dict
        ``between``: the share of the target's variance that lies between the groups, beyond what
        chance gives; ``shuffled``: the mean score of the best operator with the target permuted
        inside groups, for predictions of numbers (whose statistic is their score). Empty if
        there are no groups, or if they are taken out anyway.
    """
    group = question.exchangeable
    if group is None or question.target.kind == "subject" or group in question.blocks:
        return {}
    if question.cases.repeated or question.harmonise == group:
        return {}
    codes = question.class_codes
    columns = question.values[:, None]
    if codes is not None:
        columns = codes[:, None] == np.arange(len(question.classes))
    found = {"between": _between(columns.astype(np.float64), question.groups)}
    known = np.isfinite(point) & np.isfinite(statistics).all(axis=1)
    if criterion.name == "predict" and codes is None and known.any() and statistics.shape[1] > 1:
        best = int(np.argmax(np.where(known, point, -np.inf)))
        found["shuffled"] = float(statistics[best, 1:].mean())
    return found


def _between(columns: Floats, groups: Integers) -> float:
    """Return the adjusted share of variance between groups; 0 on average by chance."""
    n_cases, n_groups = len(columns), len(np.unique(groups))
    if n_groups < 2 or n_cases <= n_groups:
        return 0.0
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, column) for column in columns.T], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    inside = ((columns - means[groups]) ** 2).sum()
    total = ((columns - columns.mean(axis=0)) ** 2).sum()
    if total == 0:
        return 0.0  # nothing varies
    return float(1.0 - inside / (n_cases - n_groups) * (n_cases - 1) / total)
