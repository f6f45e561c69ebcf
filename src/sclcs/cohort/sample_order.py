"""The order of sample ids, on which results may depend because that of the rows must not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["id_order"]


def id_order(sample_ids: Sequence[str]) -> NDArray[np.int64]:
    """Return the row numbers in alphabetical order of the sample ids.

    Examples
    --------
    >>> id_order(["b", "c", "a"]).tolist()
    [2, 0, 1]
    """
    return np.argsort(np.array(list(sample_ids), dtype=str), kind="stable").astype(np.int64)
