"""Weights of the chosen samples: how often each counts when operators are scored later.

The search decides who is in; the weights are then fitted with the same objective, one sample
at a time. The sums of pairs are linear in the weight of one sample, so that trying another
weight costs as little as proposing a swap.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from sclcs.core.seeds import generator
from sclcs.numerics.jit import raising_kernel
from sclcs.selection.guided.kernel import Goal, core_sums, misfit, move, scores_of
from sclcs.selection.guided.objective import Objective, core_scores
from sclcs.selection.guided.panel import Panel

__all__ = ["MOST", "Weighed", "fit_weights"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: No sample counts more than this many times, or less than one over it.
MOST = 2.0
PROPOSALS = 40  # per sample


class Weighed(TypedDict):
    """Weights of the chosen candidates (mean one), and the objective under them."""

    weights: Floats
    value: float


def fit_weights(
    panel: Panel, objective: Objective, rows: Integers, *, most: float = MOST, seed: int = 0
) -> Weighed:
    """Find weights under which the objective is lower still.

    Parameters
    ----------
    panel : Panel
    objective : Objective
    rows : array of int
        The chosen candidates.
    most : float
        Largest weight; the smallest is one over it (before the mean is made one).
    seed : int

    Returns
    -------
    Weighed
    """
    picked = np.ascontiguousarray(panel.similarity[np.ix_(rows, rows)])
    chances = generator(seed, "guided", "weights").random((PROPOSALS * len(rows), 2))
    raw = _descend(
        picked,
        panel.classes[:, rows],
        panel.blocks[:, rows],
        panel.places[rows],
        objective.for_kernel(),
        most,
        chances,
    )
    weights = np.asarray(raw / raw.mean())
    scores = core_scores(panel, rows, weights)
    value = float("inf") if scores is None else objective.value(scores)
    return Weighed(weights=weights, value=value)


@raising_kernel
def _descend(  # noqa: PLR0917
    similarity: NDArray[np.float32],
    classes: Integers,
    blocks: Integers,
    places: Floats,
    goal: Goal,
    most: float,
    chances: Floats,
) -> Floats:
    """Try a random weight for a random sample; keep it if the objective falls."""
    rows = np.arange(similarity.shape[0])
    weights = np.ones(similarity.shape[0])
    sums, counts, pairs = core_sums(similarity, classes, blocks, places, rows, weights)
    scores = np.empty((sums.shape[0], sums.shape[2]))
    best = misfit(scores, goal) if scores_of(sums, counts, goal.formula, scores) else np.inf
    for step in range(chances.shape[0]):
        sample = int(chances[step, 0] * rows.shape[0])
        change = most ** (2 * chances[step, 1] - 1) - weights[sample]
        # A sample is never compared with itself: its own pairs are linear in its weight.
        new_sums = sums + 2 * change * pairs.partners[sample]
        new_counts = counts + 2 * change * pairs.partner_counts[sample]
        if not scores_of(new_sums, new_counts, goal.formula, scores):
            continue
        value = misfit(scores, goal)
        if value < best:
            best, sums, counts = value, new_sums, new_counts
            weights[sample] += change
            move(pairs, sample, change)
    return weights
