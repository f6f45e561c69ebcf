"""The old pair scores under permutations of a label of two classes, from quadratic forms.

Each of them is a function of sums over pairs of classes: of similarities, of their squares, of
their ranks among all pairs, or of their ranks in the row of a sample. With the classes as
columns of zeros and ones, all permutations are one product of matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["OLD_SCORES", "old_statistics"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Scores that a user could have chosen before.
OLD_SCORES = ("cohen_d", "cohen_d pooled", "difference pooled", "auc pooled", "discr pooled")


def old_statistics(kernel: Floats, classes: Integers, permutations: Integers) -> dict[str, Floats]:
    """Return every old score as it is, and with the classes permuted.

    Parameters
    ----------
    kernel : array, shape (subject, subject)
        Similarities of the subjects under one operator.
    classes : array of int, shape (subject,)
        0 or 1.
    permutations : array of int, shape (permutation, subject)

    Returns
    -------
    dict of str to array, shape (1 + permutation,)
        The observed one first; pooled ones let every ordered pair of different subjects count
        alike.
    """
    orders = np.vstack([np.arange(len(kernel))[None, :], permutations])
    member = (classes[orders] == 1).astype(np.float64)
    apart = ~np.eye(len(kernel), dtype=bool)
    counts = _sums(apart.astype(np.float64), member)
    sums = _sums(np.where(apart, kernel, 0.0), member)
    squares = _sums(np.where(apart, kernel**2, 0.0), member)
    found = {"cohen_d": _cohen_d(sums / counts, squares / counts)}
    pooled = [np.stack([table[0] + table[1], table[2]]) for table in (counts, sums, squares)]
    means, mean_squares = pooled[1] / pooled[0], pooled[2] / pooled[0]
    difference = means[0] - means[1]
    variance = (pooled[0] * (mean_squares - means**2)).sum(axis=0) / pooled[0].sum(axis=0)
    found["cohen_d pooled"] = difference / np.sqrt(variance)
    found["difference pooled"] = difference
    found["auc pooled"] = _superiority(_ranks(kernel, apart), counts, member)
    found["discr pooled"] = _discriminability(kernel, apart, member)
    return {name: found[name] for name in OLD_SCORES}


def _sums(table: Floats, member: Floats) -> Floats:
    """Sum a table over the ordered pairs inside class 0, inside class 1, and between."""
    inside_one = np.einsum("pi,pi->p", member @ table, member)
    inside_zero = np.einsum("pi,pi->p", (1 - member) @ table, 1 - member)
    return np.stack([inside_zero, inside_one, table.sum() - inside_one - inside_zero])


def _cohen_d(means: Floats, squares: Floats) -> Floats:
    """Return the score with both classes counting alike (see ``cohen_d`` of the criteria)."""
    within, between = (means[0] + means[1]) / 2, means[2]
    within_square = (squares[0] + squares[1]) / 2
    variance = ((within_square - within**2) + (squares[2] - between**2)) / 2
    return np.asarray((within - between) / np.sqrt(variance))


def _ranks(kernel: Floats, apart: NDArray[np.bool_]) -> Floats:
    """Return the ranks of all similarities of different subjects; 0 elsewhere."""
    from scipy.stats import rankdata

    ranks = np.zeros_like(kernel)
    ranks[apart] = rankdata(kernel[apart])
    return ranks


def _superiority(ranks: Floats, counts: Floats, member: Floats) -> Floats:
    """Return the chance that a within pair is more alike than a between pair."""
    sums = _sums(ranks, member)
    n_within, n_between = counts[0] + counts[1], counts[2]
    lowest = n_within * (n_within + 1) / 2
    return np.asarray((sums[0] + sums[1] - lowest) / (n_within * n_between))


def _discriminability(kernel: Floats, apart: NDArray[np.bool_], member: Floats) -> Floats:
    """Return how often a within pair is more alike than the sample and one of another class."""
    from scipy.stats import rankdata

    size = len(kernel)
    ranks = np.zeros_like(kernel)
    ranks[apart] = rankdata(kernel[apart].reshape(size, size - 1), axis=1).ravel()
    total = np.zeros(len(member))
    pairs = np.zeros(len(member))
    for mine in (member, 1 - member):
        own = mine.sum(axis=1) - 1  # others of the class
        other = size - 1 - own
        sums = np.einsum("pi,pi->p", mine @ ranks.T, mine)  # row i is the sample's own order
        n_rows = own + 1
        total += (sums - n_rows * own * (own + 1) / 2) / other
        pairs += n_rows * own
    return np.asarray(total / pairs)
