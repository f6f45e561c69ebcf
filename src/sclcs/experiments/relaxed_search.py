"""Relaxation: every sample has a share between 0 and 1, and the heaviest samples are kept.

The shares of a cell of equal strata add up to its number of samples in the design. They are
logistic functions of free numbers, moved along the slope of the objective (Adam, Kingma and Ba
2015) while the functions become steeper, so that the shares end near 0 and 1. The search is given
the same problem as the package's swaps; nothing but the study ``searches`` uses it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from sclcs.selection.guided.guide import Guide, Problem
from sclcs.selection.guided.kernel import Goal, core_sums
from sclcs.selection.guided.panel import Panel
from sclcs.selection.guided.swaps import value_of

__all__ = ["relaxed", "shares_of", "slopes"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

STEPS = 40
RATE = 1.0
FLAT, STEEP = 1.0, 8.0  # of the logistic function, at the start and at the end
NOTHING = 1e-4  # a smaller share counts as none
HALVINGS = 50
WIDE = 40.0  # beyond all free numbers: there the function is 0 or 1


def relaxed(guide: Guide, problem: Problem, steps: int = STEPS) -> Integers:
    """Descend on the shares of all samples, then keep the heaviest of every cell.

    Parameters
    ----------
    guide : Guide
    problem : Problem
        The strata of its first start are kept.
    steps : int

    Returns
    -------
    array of int
    """
    cell_of, goal = guide.units.cell_of, problem.objective.for_kernel()
    room = np.bincount(cell_of[problem.starts[0]], minlength=int(cell_of.max()) + 1)
    free = np.zeros(len(cell_of))
    first, second = np.zeros((2, len(free)))
    for step in range(1, steps + 1):
        steepness = FLAT * (STEEP / FLAT) ** (step / steps)
        shares = shares_of(free, cell_of, room, steepness)
        slope = _through(shares, slopes(guide.panel, goal, shares), cell_of, steepness)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        scale = np.sqrt(second / (1 - 0.999**step)) + 1e-12
        free -= RATE * first / (1 - 0.9**step) / scale
    heavier = pd.Series(-free).groupby(cell_of).rank(method="first").to_numpy()
    return np.flatnonzero(heavier <= room[cell_of])


def shares_of(free: Floats, cell_of: Integers, room: Integers, steepness: float) -> Floats:
    """Return shares that grow with the free numbers and fill the room of every cell.

    Parameters
    ----------
    free : array, shape (sample,)
    cell_of : array of int, shape (sample,)
    room : array of int, shape (cell,)
        What the shares of a cell add up to.
    steepness : float

    Returns
    -------
    array, shape (sample,)
        Between 0 and 1.
    """
    low, high = np.full(len(room), free.min() - WIDE), np.full(len(room), free.max() + WIDE)
    for _ in range(HALVINGS):  # of an interval that holds the threshold of each cell
        middle = (low + high) / 2
        shares = _logistic(steepness * (free - middle[cell_of]))
        full = np.bincount(cell_of, shares, minlength=len(room)) > room
        low, high = np.where(full, middle, low), np.where(full, high, middle)
    return shares


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -500, 500))))


def _through(shares: Floats, slope: Floats, cell_of: Integers, steepness: float) -> Floats:
    """Return the slope by free numbers: where one rises, the threshold of its cell rises too."""
    own = steepness * shares * (1 - shares)
    total = np.maximum(np.bincount(cell_of, own), 1e-300)
    mean = np.bincount(cell_of, own * slope) / total
    return np.asarray(own * (slope - mean[cell_of]))


def slopes(panel: Panel, goal: Goal, shares: Floats) -> Floats:
    """Return how the objective changes with the share of each sample.

    Parameters
    ----------
    panel : Panel
    goal : Goal
    shares : array, shape (candidate,)

    Returns
    -------
    array, shape (candidate,)
    """
    rows = np.flatnonzero(shares > NOTHING)
    sums, counts, pairs = core_sums(
        panel.similarity, panel.classes, panel.blocks, rows, shares[rows]
    )
    by_sum, by_count = _by_sums(sums, counts, goal)
    # A pair is counted in both orders.
    found = np.einsum("ctsp,tsp->c", pairs.partners, by_sum)
    return np.asarray(2 * (found + np.einsum("ctk,tk->c", pairs.partner_counts, by_count)))


@njit(nogil=True, cache=True)
def _by_sums(sums: Floats, counts: Floats, goal: Goal) -> tuple[Floats, Floats]:
    """Return the slopes by pair sums and counts; these are so few that differences will do."""
    scores = np.empty((sums.shape[0], sums.shape[2]))
    flat = np.concatenate((sums.ravel(), counts.ravel()))
    both = flat[: sums.size].reshape(sums.shape), flat[sums.size :].reshape(counts.shape)
    slope = np.empty(flat.shape[0])
    for place in range(flat.shape[0]):
        kept = flat[place]
        change = 1e-6 * max(abs(kept), 1e-3)
        flat[place] = kept + change  # both are views of it
        above = value_of(both[0], both[1], goal, scores)
        flat[place] = kept - change
        slope[place] = (above - value_of(both[0], both[1], goal, scores)) / (2 * change)
        flat[place] = kept
    return slope[: sums.size].reshape(sums.shape), slope[sums.size :].reshape(counts.shape)
