"""Neighbourhoods in time as bit matrices: who lies within a width of whom.

Row t of a matrix has bit s set when |x_s - x_t| <= width. Joint neighbourhoods of several
variables are ANDs of rows, and their sizes are population counts: per series the O(T^2)
comparisons are made once, per pair 64 of them cost one AND.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel

__all__ = ["Words", "log2_table", "n_words", "neighbours", "population"]

Words = NDArray[np.uint64]

WORD = 64
PAIRS = np.uint64(0x5555555555555555)
QUADS = np.uint64(0x3333333333333333)
BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
ONES = np.uint64(0x0101010101010101)


def n_words(n_times: int) -> int:
    """Return the number of 64-bit words in a row."""
    return -(-n_times // WORD)


def log2_table(n_times: int) -> Array:
    """Return log2 of the counts 0 .. n_times; entry 0 is never used and left at zero."""
    table = np.zeros(n_times + 1)
    table[1:] = np.log2(np.arange(1, n_times + 1))
    return table


@kernel
def population(word: np.uint64) -> np.uint64:
    """Count the set bits (LLVM turns this idiom into the processor's instruction)."""
    word = word - ((word >> np.uint64(1)) & PAIRS)
    word = (word & QUADS) + ((word >> np.uint64(2)) & QUADS)
    word = (word + (word >> np.uint64(4))) & BYTES
    return (word * ONES) >> np.uint64(56)


@kernel
def neighbours(x: Array, widths: Array, first: int, end: int) -> Words:
    """Return rows first .. end-1 of the bit matrix of every series, (series, row, word)."""
    n_series, n_times = x.shape
    words = (n_times + WORD - 1) // WORD
    out = np.zeros((n_series, end - first, words), dtype=np.uint64)
    for i in range(n_series):
        series = x[i]
        width = widths[i]
        for t in range(first, end):
            row = out[i, t - first]
            centre = series[t]
            for w in range(words):
                bits = np.uint64(0)
                for s in range(w * WORD, min((w + 1) * WORD, n_times)):
                    near = np.uint64(abs(series[s] - centre) <= width)
                    bits |= near << np.uint64(s - w * WORD)
                row[w] = bits
    return out
