"""What the engine tells a family besides the signals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FamilyContext"]

MEBIBYTE = 2**20


@dataclass(frozen=True)
class FamilyContext:
    """Facts and limits of one call of a family function.

    Parameters
    ----------
    sample_seeds : array of uint64, shape (sample,)
        One seed per sample for randomised operators. It belongs to the sample,
        not to its place in the batch.
    memory_bytes : int
        Budget for intermediates; families work in tiles that fit in it.
    """

    sample_seeds: NDArray[np.uint64]
    memory_bytes: int = 512 * MEBIBYTE
