"""Controlled rounding: whole numbers whose cells, rows, columns and total all stay within one.

A core-set of m subjects should hold m times the share of every class and of every site, but
subjects are whole. Rounding every cell on its own adds up to wrong margins (at 1 % of a cohort by
a factor of three). Here the fractions are walked at random to 0 or 1 along directions that keep
rows, columns and total, so that every margin is its share rounded down or up, and on average
exactly its share (Cox 1987; the flight of Deville & Tillé 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["controlled_rounding"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TINY = 1e-9


def controlled_rounding(
    shares: Floats, rows: Integers, columns: Integers, random: np.random.Generator
) -> Integers:
    """Round cells so that their rows and columns are rounded, too.

    Parameters
    ----------
    shares : array, shape (cell,)
        What each cell would hold if parts of subjects could be taken; their sum is whole.
    rows, columns : array of int, shape (cell,)
        Of each cell, for example class and site, numbered from 0.
    random : Generator

    Returns
    -------
    array of int, shape (cell,)
        Every cell, row and column is its share rounded down or up; on average it is its share.
    """
    whole = np.floor(shares + TINY)
    parts = np.clip(shares - whole, 0.0, 1.0)
    constraints, slack = _constraints(shares, rows, columns)
    state = np.concatenate([parts, slack])
    state = _fly(state, constraints, random)
    return np.asarray(whole + np.rint(state[: len(shares)]), dtype=np.int64)


def _constraints(shares: Floats, rows: Integers, columns: Integers) -> tuple[Floats, Floats]:
    """Return the sums that must not change, and how far every margin is below its ceiling."""
    margins = [
        (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64).T
        for codes in (rows, columns)
    ]
    slacks = []
    for member in margins:
        sums = member @ shares
        slacks.append(np.clip(np.ceil(sums - TINY) - sums, 0.0, 1.0))
    n_rows, n_columns, n_cells = len(slacks[0]), len(slacks[1]), len(shares)
    table = np.zeros((n_rows + n_columns + 1, n_cells + n_rows + n_columns))
    table[:n_rows, :n_cells] = margins[0]
    table[n_rows : n_rows + n_columns, :n_cells] = margins[1]
    table[:-1, n_cells:] = np.eye(n_rows + n_columns)
    table[-1, :n_cells] = 1.0  # the total
    return table, np.concatenate(slacks)


def _fly(state: Floats, constraints: Floats, random: np.random.Generator) -> Floats:
    """Move along directions that keep all sums until every value is 0 or 1."""
    state = state.copy()
    while True:
        free = np.flatnonzero((state > TINY) & (state < 1 - TINY))
        direction = _direction(constraints[:, free], random)
        if direction is None:
            return state
        with np.errstate(divide="ignore"):
            up = np.where(direction > 0, (1 - state[free]) / direction, -state[free] / direction)
            down = np.where(direction > 0, state[free] / direction, (state[free] - 1) / direction)
        forward, back = (float(np.min(step[np.abs(direction) > TINY])) for step in (up, down))
        step = forward if random.random() < back / (forward + back) else -back
        state[free] = np.clip(state[free] + step * direction, 0.0, 1.0)
        state[np.abs(state) < TINY] = 0.0
        state[np.abs(state - 1) < TINY] = 1.0


def _direction(constraints: Floats, random: np.random.Generator) -> Floats | None:
    """Return a direction in which all sums stay; None if there is none."""
    n_free = constraints.shape[1]
    if not n_free:
        return None
    _, sizes, vectors = np.linalg.svd(constraints, full_matrices=True)
    rank = int((sizes > TINY * max(1.0, float(sizes[0]))).sum())
    if rank == n_free:
        return None
    basis = vectors[rank:]
    return np.asarray(random.normal(size=len(basis)) @ basis)
