"""Who is in a simulated cohort: sites, groups, subjects and their facts.

A subject is named by site, group and number, and everything about it is drawn from that
name. So the same subject comes out of a cohort of ten and of a cohort of ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sclcs.core.errors import InputError
from sclcs.core.seeds import generator

__all__ = ["PAPER_GROUPS", "PAPER_SITES", "Subject", "enrol"]

PAPER_GROUPS = ("HC", "MDD")

# Subjects per site and group of the paper's cohort (446 controls, 458 patients).
PAPER_SITES: Mapping[str, tuple[int, int]] = {
    "15": (37, 30),
    "17": (41, 41),
    "19": (31, 18),
    "20": (229, 250),
    "21": (65, 79),
    "22": (20, 18),
    "23": (23, 22),
}
_PAPER_GROUP_SHARE = (446 / 904, 458 / 904)
_PAPER_MALE_SHARE = 330 / 904
_PAPER_AGES = (18, 65)


@dataclass(frozen=True)
class Subject:
    """One simulated subject and what is known about it."""

    name: str
    site: str
    group: str
    age: int
    sex: str


def enrol(
    subjects: int,
    sites: int | Mapping[str, float] | None,
    groups: Sequence[str],
    seed: int,
) -> list[Subject]:
    """Distribute subjects over sites and groups.

    Parameters
    ----------
    subjects : int
        Number of subjects.
    sites : int, mapping or None
        The number of sites of equal size; or the relative size of each site by name; or
        None for the paper's seven sites. Sizes are scaled by largest remainder.
    groups : sequence of str
        Diagnostic groups. Two groups have the paper's proportion, other numbers equal
        shares.
    seed : int
        For age and sex.

    Returns
    -------
    list of Subject
        Ordered by site and group.
    """
    shares = _group_shares(sites, len(groups))
    sizes = apportion(subjects, _site_weights(sites))
    carried = np.zeros(len(groups))
    enrolled = []
    for site, size in sizes.items():
        carried += size * np.asarray(shares[site])
        counts = _whole_numbers(carried, size)
        carried -= counts
        for group, count in zip(groups, counts, strict=True):
            enrolled += [_subject(site, group, number + 1, seed) for number in range(count)]
    return enrolled


def apportion(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Share whole units by largest remainder; ties go to the first.

    Examples
    --------
    >>> apportion(10, {"a": 1, "b": 1, "c": 1})
    {'a': 4, 'b': 3, 'c': 3}
    """
    scale = total / sum(weights.values())
    exact = {name: weight * scale for name, weight in weights.items()}
    counts = {name: math.floor(value + 1e-9) for name, value in exact.items()}
    # Rounded, so that equal remainders are equal and the first one wins.
    by_remainder = sorted(exact, key=lambda name: round(counts[name] - exact[name], 9))
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def _site_weights(sites: int | Mapping[str, float] | None) -> dict[str, float]:
    if sites is None:
        return {name: float(sum(cells)) for name, cells in PAPER_SITES.items()}
    if not isinstance(sites, Mapping):
        if sites < 1:
            raise InputError(f"Expected at least one site, got {sites}.")
        return {str(number + 1): 1.0 for number in range(sites)}
    weights = {str(name): float(size) for name, size in sites.items()}
    if (
        not weights
        or sum(weights.values()) <= 0
        or not all(math.isfinite(size) and size >= 0 for size in weights.values())
    ):
        raise InputError(f"Expected sites with sizes of 0 or more, not all 0, got {dict(sites)}.")
    return weights


def _group_shares(
    sites: int | Mapping[str, float] | None, n_groups: int
) -> dict[str, tuple[float, ...]]:
    """Return the share of each group at each site."""
    if n_groups != len(PAPER_GROUPS):
        return dict.fromkeys(_site_weights(sites), (1 / n_groups,) * n_groups)
    if sites is not None:
        return dict.fromkeys(_site_weights(sites), _PAPER_GROUP_SHARE)
    return {
        name: (controls / (controls + patients), patients / (controls + patients))
        for name, (controls, patients) in PAPER_SITES.items()
    }


def _whole_numbers(exact: np.ndarray, total: int) -> np.ndarray:
    """Round shares to whole numbers of the given sum; what is lost is carried to the next site."""
    edges = np.concatenate([[0.0], np.cumsum(np.maximum(exact, 0))])
    edges = np.floor(edges / max(edges[-1], 1e-12) * total + 0.5).astype(int)
    return np.array([high - low for low, high in pairwise(edges)])


def _subject(site: str, group: str, number: int, seed: int) -> Subject:
    name = f"sub-{site}-{group}-{number:04d}"
    draw = generator(seed, "simulate", "facts", name)
    low, high = _PAPER_AGES
    age = int(draw.integers(low, high + 1))
    sex = "M" if draw.random() < _PAPER_MALE_SHARE else "F"
    return Subject(name, site, group, age, sex)
