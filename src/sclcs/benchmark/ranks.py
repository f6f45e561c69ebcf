"""Ranks with ties, and which operators rank alike by construction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["descending_ranks", "entries", "equivalence_groups", "share_scores"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
DECIMALS = 9  # scores that differ by less are equal: rounding error is not a difference
SINGLE_PRECISION = 1e-4  # scores of equivalent operators differ by less if matrices are float32


def descending_ranks(scores: Floats) -> Floats:
    """Rank along the first axis, 1 for the highest score, ties averaged.

    Parameters
    ----------
    scores : array, shape (operator,) or (operator, draw)
        Rounded to 1e-9 first. Operators without a score (NaN) are jointly last.

    Returns
    -------
    array
        Of the same shape.
    """
    from scipy.stats import rankdata

    rounded = np.round(scores, DECIMALS)
    rounded = np.where(np.isnan(rounded), -np.inf, rounded)
    return np.asarray(rankdata(-rounded, axis=0), dtype=np.float64)


def equivalence_groups(operators: Sequence[str]) -> list[str]:
    """Name the group of operators that order the entries of every matrix in the same way.

    Parameters
    ----------
    operators : sequence of str

    Returns
    -------
    list of str
        The catalogue's group where at least two of the operators belong to it, else empty.
    """
    from sclcs.spi import catalogue

    groups = catalogue()["rank_group"].to_dict()
    named = [str(groups.get(name, "")) for name in operators]
    return [group if named.count(group) > 1 else "" for group in named]


def entries(groups: Sequence[str], scores: Floats) -> Integers:
    """Give the distinct entries of a ranking numbers: equivalent operators that tie are one.

    Parameters
    ----------
    groups : sequence of str
        From :func:`equivalence_groups`.
    scores : array, shape (operator,)
        After :func:`share_scores`; members of a group that differ for real stay apart.

    Returns
    -------
    array of int, shape (operator,)
        From 0, in the order of the operators.
    """
    numbers: dict[object, int] = {}
    keys: list[object] = [
        (group, round(float(score), DECIMALS)) if group and np.isfinite(score) else place
        for place, (group, score) in enumerate(zip(groups, scores, strict=True))
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def share_scores(scores: Floats, groups: Sequence[str]) -> Floats:
    """Give the operators of a group one score, if theirs differ by rounding only.

    Equivalent operators have the same ranks inside every matrix until the matrices are
    rounded to single precision, which ties some entries of one operator and not of another.

    Parameters
    ----------
    scores : array, shape (operator,) or (operator, draw)
    groups : sequence of str
        The group of each operator; empty for none.

    Returns
    -------
    array
        Of the same shape.
    """
    shared = np.array(scores, dtype=np.float64)
    names = np.asarray(groups, dtype=object)
    scored = np.isfinite(shared).reshape(len(names), -1).any(axis=1)
    for name in dict.fromkeys(group for group in groups if group):
        members = np.flatnonzero((names == name) & scored)
        if len(members) < 2:
            continue
        values = shared[members]
        mean = values.mean(axis=0)
        close = np.ptp(values, axis=0) <= SINGLE_PRECISION * np.maximum(1.0, np.abs(mean))
        shared[members] = np.where(close, mean, values)
    return shared
