"""Regions in parts, so that every two of them are together in one: finite projective planes.

Regions are dealt to groups, and a part is some of the groups. In a plane of order q there are
q² + q + 1 groups and as many parts; a part holds q + 1 groups, and any two groups are together in
exactly one part. So pairs of regions are computed once, but for those inside a group, which are
few: all parts together cost about 1 + 1/q times the whole.

A plane is the translates of a *perfect difference set*: numbers whose differences, modulo the
number of groups, are all others once (Singer 1938).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PLANES", "part_regions", "regions_in_part"]

#: By the number of groups, which is that of the parts: the groups of the first part.
PLANES: dict[int, tuple[int, ...]] = {
    3: (0, 1),
    7: (0, 1, 3),
    13: (0, 1, 3, 9),
    21: (0, 1, 4, 14, 16),
    31: (0, 1, 3, 8, 12, 18),
    57: (0, 1, 3, 13, 32, 36, 43, 52),
    73: (0, 1, 3, 7, 15, 31, 36, 54, 63),
    91: (0, 1, 3, 9, 27, 49, 56, 61, 77, 81),
    133: (0, 1, 3, 12, 20, 34, 38, 81, 88, 94, 104, 109),
    183: (0, 1, 3, 16, 23, 28, 42, 76, 82, 86, 119, 137, 154, 175),
}


def part_regions(n_regions: int, count: int, number: int) -> NDArray[np.int64]:
    """Return the regions of a part, in order.

    Parameters
    ----------
    n_regions : int
        At least as many as parts.
    count : int
        Number of parts: a key of :data:`PLANES`.
    number : int
        Which part, from 0.

    Returns
    -------
    array of int

    Examples
    --------
    >>> [part_regions(7, 7, k).tolist() for k in (0, 1, 6)]
    [[0, 1, 3], [1, 2, 4], [0, 2, 6]]
    """
    groups = [(group + number) % count for group in PLANES[count]]
    return np.flatnonzero(np.isin(np.arange(n_regions) % count, groups))


def regions_in_part(n_regions: int, count: int) -> int:
    """Return about how many regions a part has."""
    return -(-n_regions * len(PLANES[count]) // count)
