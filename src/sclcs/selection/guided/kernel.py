"""Pair sums that follow a swap: the kernels of the search.

The pairs of a core-set are summed per operator: similarities and their squares, of within
and of between pairs. For every candidate the kernel keeps the sums of its pairs with the
chosen samples, so that proposing a swap costs O(operators) and making one costs
O(candidates x operators). What is swapped is a *unit*: one sample, or a whole subject.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["core_sums", "scores_of", "swap_search"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Similarities = NDArray[np.float32]

SUMS = 4  # similarities and squares of within pairs, then of between pairs


@njit(nogil=True, cache=True)
def _kind(classes: Integers, blocks: Integers, one: int, other: int) -> int:
    """Return 0 for a within pair, 2 for a between pair, -1 if it is not compared."""
    if blocks[one] == blocks[other] or classes[one] < 0 or classes[other] < 0:
        return -1
    return 0 if classes[one] == classes[other] else 2


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _move(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    sample: int,
    factor: float,
    partners: Floats,
    partner_counts: Floats,
) -> None:
    """Update every candidate's sums when a sample enters (+1) or leaves (-1) the core-set."""
    for task in range(classes.shape[0]):
        for other in range(similarity.shape[0]):
            kind = _kind(classes[task], blocks[task], sample, other)
            _add_pair(
                partners[other, task],
                partner_counts[other, task],
                kind,
                similarity[sample, other],
                factor,
            )


@njit(nogil=True, cache=True)
def core_sums(
    similarity: Similarities, classes: Integers, blocks: Integers, rows: Integers
) -> tuple[Floats, Floats, Floats, Floats]:
    """Sum the pairs of a core-set from scratch.

    Parameters
    ----------
    similarity : array of float32, shape (candidate, candidate, operator)
    classes, blocks : arrays of int, shape (task, candidate)
    rows : array of int
        The chosen candidates.

    Returns
    -------
    sums : array, shape (task, 4, operator)
        Over ordered pairs: within, within squared, between, between squared.
    counts : array, shape (task, 2)
        Ordered within and between pairs.
    partners : array, shape (candidate, task, 4, operator)
        The same sums over the pairs of each candidate with the chosen ones.
    partner_counts : array, shape (candidate, task, 2)
    """
    n_tasks, n_candidates = classes.shape
    n_operators = similarity.shape[2]
    partners = np.zeros((n_candidates, n_tasks, SUMS, n_operators))
    partner_counts = np.zeros((n_candidates, n_tasks, 2))
    for sample in rows:
        _move(similarity, classes, blocks, sample, 1.0, partners, partner_counts)
    sums = np.zeros((n_tasks, SUMS, n_operators))
    counts = np.zeros((n_tasks, 2))
    for sample in rows:
        sums += partners[sample]
        counts += partner_counts[sample]
    return sums, counts, partners, partner_counts


@njit(nogil=True, cache=True)
def scores_of(sums: Floats, counts: Floats, scores: Floats) -> bool:
    """Write Cohen's d of every task and operator; say whether all of them exist."""
    for task in range(sums.shape[0]):
        n_within, n_between = counts[task, 0], counts[task, 1]
        if n_within < 2 or n_between < 2:
            return False
        for p in range(sums.shape[2]):
            within, between = sums[task, 0, p] / n_within, sums[task, 2, p] / n_between
            scatter_within = max(sums[task, 1, p] / n_within - within * within, 0.0)
            scatter_between = max(sums[task, 3, p] / n_between - between * between, 0.0)
            pooled = (n_within - 1) * scatter_within + (n_between - 1) * scatter_between
            deviation = np.sqrt(pooled / max(n_within + n_between - 2, 1.0))
            if deviation < 1e-6:
                return False
            scores[task, p] = (within - between) / deviation
    return True


@njit(nogil=True, cache=True)
def misfit(scores: Floats, full: Floats, weights: Floats, noise: Floats, distrust: float) -> float:
    """Return 1 - the correlation to expect on unseen operators, averaged over tasks.

    See :class:`sclcs.selection.guided.objective.Objective`.
    """
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
        unseen = noise[task] + distrust * (slope - 1.0) ** 2 * var_full
        total += 1.0 - slope * np.sqrt(var_full) / np.sqrt(var_core + unseen)
    return total / scores.shape[0]


@njit(nogil=True, cache=True)
def _propose(  # noqa: PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    leaving: Integers,
    entering: Integers,
    partners: Floats,
    partner_counts: Floats,
    sums: Floats,
    counts: Floats,
) -> None:
    """Change sums and counts (in place) as if one unit left and another entered."""
    for task in range(classes.shape[0]):
        kinds, groups = classes[task], blocks[task]
        for one in leaving:
            sums[task] -= 2 * partners[one, task]
            counts[task] -= 2 * partner_counts[one, task]
            for other in leaving:  # pairs inside the unit were subtracted twice
                kind = _kind(kinds, groups, one, other)
                _add_pair(sums[task], counts[task], kind, similarity[one, other], 1.0)
        for one in entering:
            sums[task] += 2 * partners[one, task]
            counts[task] += 2 * partner_counts[one, task]
            for other in leaving:  # they are not there any more
                kind = _kind(kinds, groups, one, other)
                _add_pair(sums[task], counts[task], kind, similarity[one, other], -2.0)
            for other in entering:
                kind = _kind(kinds, groups, one, other)
                _add_pair(sums[task], counts[task], kind, similarity[one, other], 1.0)


@njit(nogil=True, cache=True)
def _fewer_subjects(
    leaving: Integers, entering: Integers, subjects: Integers, held: Integers
) -> int:
    """Return by how much the number of subjects falls in a swap."""
    fall = 0
    for one in leaving:
        held[subjects[one]] -= 1
        fall += held[subjects[one]] == 0
    for one in entering:
        fall -= held[subjects[one]] == 0
        held[subjects[one]] += 1
    for one in entering:  # undo: this was a question
        held[subjects[one]] -= 1
    for one in leaving:
        held[subjects[one]] += 1
    return fall


@njit(nogil=True, cache=True)
def swap_search(  # noqa: C901, PLR0917
    similarity: Similarities,
    classes: Integers,
    blocks: Integers,
    members: Integers,
    cells: Integers,
    cell_starts: Integers,
    cell_of: Integers,
    subjects: Integers,
    min_subjects: int,
    chosen: Integers,
    full: Floats,
    weights: Floats,
    noise: Floats,
    distrust: float,
    chances: Floats,
    patience: int,
) -> tuple[float, float, Integers, int]:
    """Swap units as long as the objective falls.

    Parameters
    ----------
    similarity : array of float32, shape (candidate, candidate, operator)
    classes, blocks : arrays of int, shape (task, candidate)
    members : array of int, shape (unit, samples of a unit)
        The candidates that enter and leave together, padded with -1.
    cells, cell_starts, cell_of : arrays of int
        Units by cell; a unit is only replaced by one of its cell, which keeps the shares.
    subjects : array of int
        Subject of each candidate.
    min_subjects : int
        A swap never leaves fewer.
    chosen : array of int
        Units to start from; changed in place.
    full : array, shape (task, operator)
        Scores on the whole cohort.
    weights : array, shape (operator,)
        Their sum is one.
    noise : array, shape (task,)
    distrust : float
    chances : array, shape (proposal, 2)
        Uniform random numbers: which unit leaves, and which of its cell enters.
    patience : int
        Stop after so many proposals in a row that did not help.

    Returns
    -------
    began, best : float
        The objective at the start and at the end; infinite if no score exists.
    chosen : array of int
    swaps : int
    """
    rows = _samples(members, chosen)
    sums, counts, partners, partner_counts = core_sums(similarity, classes, blocks, rows)
    scores = np.empty((classes.shape[0], similarity.shape[2]))
    best = np.inf
    if scores_of(sums, counts, scores):
        best = misfit(scores, full, weights, noise, distrust)
    began = best
    inside = np.zeros(members.shape[0], np.bool_)
    inside[chosen] = True
    held = np.zeros(subjects.max() + 1, np.int64)
    for row in rows:
        held[subjects[row]] += 1
    n_subjects, swaps, idle = (held > 0).sum(), 0, 0
    for step in range(chances.shape[0]):
        idle += 1
        if idle > patience:
            break
        place = int(chances[step, 0] * chosen.shape[0])
        first = cell_starts[cell_of[chosen[place]]]
        size = cell_starts[cell_of[chosen[place]] + 1] - first
        unit = cells[first + int(chances[step, 1] * size)]
        if inside[unit]:
            continue
        leaving = _samples(members, chosen[place : place + 1])
        entering = _samples(members, np.array([unit]))
        fall = _fewer_subjects(leaving, entering, subjects, held)
        if fall > 0 and n_subjects - fall < min_subjects:
            continue
        new_sums, new_counts = sums.copy(), counts.copy()
        _propose(
            similarity, classes, blocks, leaving, entering, partners, partner_counts,
            new_sums, new_counts,
        )  # fmt: skip
        if not scores_of(new_sums, new_counts, scores):
            continue
        value = misfit(scores, full, weights, noise, distrust)
        if value >= best:
            continue
        best, sums, counts, idle = value, new_sums, new_counts, 0
        swaps += 1
        n_subjects -= fall
        inside[chosen[place]], inside[unit], chosen[place] = False, True, unit
        for row in leaving:
            held[subjects[row]] -= 1
            _move(similarity, classes, blocks, row, -1.0, partners, partner_counts)
        for row in entering:
            held[subjects[row]] += 1
            _move(similarity, classes, blocks, row, 1.0, partners, partner_counts)
    return began, best, chosen, swaps


@njit(nogil=True, cache=True)
def _samples(members: Integers, units: Integers) -> Integers:
    """Return the candidates of some units."""
    rows = members[units].ravel()
    return rows[rows >= 0]
