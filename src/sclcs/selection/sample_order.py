"""Chance that belongs to a sample's id, so that the order of a cohort's rows never matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import InputError
from sclcs.core.seeds import child_seed

__all__ = ["best", "chances", "place_in_group"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def chances(seed: int, purpose: str, names: Iterable[str]) -> Floats:
    """Return a random number in [0, 1) for each name; it depends on nothing else.

    Sorting by it is a random permutation, and picking the lowest is a random draw without
    replacement.

    Parameters
    ----------
    seed : int
        The user's seed.
    purpose : str
        What the numbers are for; other purposes get other numbers.
    names : iterable of str
        Sample ids, subjects, ...

    Returns
    -------
    array of float
    """
    seeds = [child_seed(seed, "select", purpose, str(name)) for name in names]
    return np.array(seeds, dtype=np.float64) / 2.0**63


def best(scores: Floats, size: int, keep: Literal["low", "high"], ties: Floats) -> Integers:
    """Return the rows with the best scores, best first.

    Parameters
    ----------
    scores : array of float
        One per sample. Non-finite ones are never chosen.
    size : int
        How many.
    keep : {"low", "high"}
        Which end is best.
    ties : array of float
        Decides between equal scores, lowest first: see :func:`chances`.

    Returns
    -------
    array of int
    """
    n_finite = int(np.isfinite(scores).sum())
    if size > n_finite:
        raise InputError(
            f"The core-set needs {size} samples, but only {n_finite} of {len(scores)} have a "
            "finite score; lower the ratio or train longer."
        )
    ascending = scores if keep == "low" else -scores
    ranked = np.where(np.isfinite(ascending), ascending, np.inf)
    return np.lexsort((ties, ranked))[:size].astype(np.int64)


def place_in_group(groups: Integers, order: Floats) -> Integers:
    """Give the members of each group numbers from 0.

    Parameters
    ----------
    groups : array of int
        Group of each sample.
    order : array of float
        In which order members are numbered; equal ones in that of the rows.

    Returns
    -------
    array of int
    """
    sorted_rows = np.lexsort((order, groups))
    counts = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.empty(len(groups), dtype=np.int64)
    place[sorted_rows] = np.arange(len(groups)) - starts[groups[sorted_rows]]
    return place
