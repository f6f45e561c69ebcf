"""Pair sums that follow a swap, the scores they give, and how good these are.

The pairs of a core-set are summed per operator: similarities and their squares, of within
and of between pairs. For every candidate the kernel keeps the sums of its pairs with the
chosen samples, so that proposing a swap costs O(operators) and making one costs
O(candidates x operators). What is swapped is a *unit*: one sample, or a whole subject.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.jit import raising_kernel

__all__ = ["FORMULAS", "Goal", "Pairs", "core_sums", "misfit", "move", "scores_of", "swap"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Similarities = NDArray[np.float32]


class Pairs(NamedTuple):
    """The pairs of all candidates, and each candidate's sums with the chosen ones.

    Parameters
    ----------
    similarity : array of float32, shape (candidate, candidate, operator)
    classes, blocks : arrays of int, shape (task, candidate)
    places : array, shape (candidate,)
        Windows less than 1 apart share time points and are not compared.
    partners : array, shape (candidate, task, 4, operator)
    partner_counts : array, shape (candidate, task, 2)
    """

    similarity: Similarities
    classes: Integers
    blocks: Integers
    places: Floats
    partners: Floats
    partner_counts: Floats


#: Scores that are made of pair sums, by name, and the number by which the kernel knows them.
FORMULAS = {"cohen_d": 0, "difference": 1, "ratio": 2, "rel_difference": 3}
NOTHING = 1e-6  # a smaller denominator gives no score


class Goal(NamedTuple):
    """The numbers of an objective, see :class:`sclcs.selection.guided.objective.Objective`."""

    full: Floats
    weights: Floats
    noise: Floats
    distrust: Floats
    formula: int


SUMS = 4  # similarities and squares of within pairs, then of between pairs


@raising_kernel
def _kind(classes: Integers, blocks: Integers, places: Floats, one: int, other: int) -> int:
    """Return 0 for a within pair, 2 for a between pair, -1 if it is not compared."""
    if blocks[one] == blocks[other] or classes[one] < 0 or classes[other] < 0:
        return -1
    if abs(places[one] - places[other]) < 1.0:  # the windows share time points
        return -1
    return 0 if classes[one] == classes[other] else 2


@raising_kernel
def _add_pair(
    sums: Floats, counts: Floats, kind: int, similarities: Similarities, factor: float
) -> None:
    """Add the similarities of one pair, times a factor, to sums (4, operator)."""
    if kind < 0:
        return
    counts[kind // 2] += factor
    for p in range(similarities.shape[0]):
        value = np.float64(similarities[p])
        sums[kind, p] += factor * value
        sums[kind + 1, p] += factor * value * value


@raising_kernel
def move(pairs: Pairs, sample: int, factor: float) -> None:
    """Update every candidate's sums when a sample enters (+1), leaves (-1) or weighs more."""
    for task in range(pairs.classes.shape[0]):
        for other in range(pairs.similarity.shape[0]):
            kind = _kind(pairs.classes[task], pairs.blocks[task], pairs.places, sample, other)
            _add_pair(
                pairs.partners[other, task],
                pairs.partner_counts[other, task],
                kind,
                pairs.similarity[sample, other],
                factor,
            )


@raising_kernel
def core_sums(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    places: Floats,
    rows: Integers,
    weights: Floats,
) -> tuple[Floats, Floats, Pairs]:
    """Sum the pairs of a core-set from scratch.

    Parameters
    ----------
    similarity : array of float32, shape (candidate, candidate, operator)
    classes, blocks : arrays of int, shape (task, candidate)
    places : array, shape (candidate,)
    rows : array of int
        The chosen candidates.
    weights : array
        How often each of them counts; a pair counts the product.

    Returns
    -------
    sums : array, shape (task, 4, operator)
        Over ordered pairs: within, within squared, between, between squared.
    counts : array, shape (task, 2)
        Ordered within and between pairs.
    pairs : Pairs
        What later swaps need.
    """
    n_tasks, n_candidates = classes.shape
    partners = np.zeros((n_candidates, n_tasks, SUMS, similarity.shape[2]))
    partner_counts = np.zeros((n_candidates, n_tasks, 2))
    pairs = Pairs(similarity, classes, blocks, places, partners, partner_counts)
    sums = np.zeros((n_tasks, SUMS, similarity.shape[2]))
    counts = np.zeros((n_tasks, 2))
    for place, sample in enumerate(rows):
        move(pairs, sample, weights[place])
    for place, sample in enumerate(rows):
        sums += weights[place] * partners[sample]
        counts += weights[place] * partner_counts[sample]
    return sums, counts, pairs


@raising_kernel
def swap(pairs: Pairs, leaving: Integers, entering: Integers, sums: Floats, counts: Floats) -> None:
    """Change sums and counts (in place) as if one unit left and another entered."""
    for task in range(pairs.classes.shape[0]):
        classes, blocks = pairs.classes[task], pairs.blocks[task]
        for one in leaving:
            sums[task] -= 2 * pairs.partners[one, task]
            counts[task] -= 2 * pairs.partner_counts[one, task]
            for other in leaving:  # pairs inside the unit were subtracted twice
                kind = _kind(classes, blocks, pairs.places, one, other)
                _add_pair(sums[task], counts[task], kind, pairs.similarity[one, other], 1.0)
        for one in entering:
            sums[task] += 2 * pairs.partners[one, task]
            counts[task] += 2 * pairs.partner_counts[one, task]
            for other in leaving:  # they are not there any more
                kind = _kind(classes, blocks, pairs.places, one, other)
                _add_pair(sums[task], counts[task], kind, pairs.similarity[one, other], -2.0)
            for other in entering:
                kind = _kind(classes, blocks, pairs.places, one, other)
                _add_pair(sums[task], counts[task], kind, pairs.similarity[one, other], 1.0)


@raising_kernel
def scores_of(sums: Floats, counts: Floats, formula: int, scores: Floats) -> bool:
    """Write the score of every task and operator; say whether all of them exist."""
    for task in range(sums.shape[0]):
        n_within, n_between = counts[task, 0], counts[task, 1]
        if n_within < 2 or n_between < 2:
            return False
        for p in range(sums.shape[2]):
            within, between = sums[task, 0, p] / n_within, sums[task, 2, p] / n_between
            if formula == 0:
                scatter_within = max(sums[task, 1, p] / n_within - within * within, 0.0)
                scatter_between = max(sums[task, 3, p] / n_between - between * between, 0.0)
                pooled = (n_within - 1) * scatter_within + (n_between - 1) * scatter_between
                divisor = np.sqrt(pooled / max(n_within + n_between - 2, 1.0))
            elif formula == 1:
                divisor = 1.0
            else:
                divisor = abs(between)
            if divisor < NOTHING:
                return False
            if formula == 2:
                scores[task, p] = within / between
            else:
                scores[task, p] = (within - between) / divisor
    return True


@raising_kernel
def misfit(scores: Floats, goal: Goal) -> float:
    """Return 1 - the correlation to expect on unseen operators, averaged over tasks.

    See :class:`sclcs.selection.guided.objective.Objective`.
    """
    full, weights = goal.full, goal.weights
    total = 0.0
    for task in range(scores.shape[0]):
        mean_core, mean_full = 0.0, 0.0
        for p in range(weights.shape[0]):
            mean_core += weights[p] * scores[task, p]
            mean_full += weights[p] * full[task, p]
        var_core, var_full, product = 0.0, 0.0, 0.0
        for p in range(weights.shape[0]):
            core, truth = scores[task, p] - mean_core, full[task, p] - mean_full
            var_core += weights[p] * core * core
            var_full += weights[p] * truth * truth
            product += weights[p] * core * truth
        slope = product / var_full
        unseen = goal.noise[task] + goal.distrust[task] * (slope - 1.0) ** 2 * var_full
        total += 1.0 - slope * np.sqrt(var_full) / np.sqrt(var_core + unseen)
    average: float = total / scores.shape[0]
    return average
