"""How much memory one operator may take, and how work is cut so that it does not take more."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["memory_budget", "room", "rows_at_once", "with_memory"]

#: Bytes for the arrays of one operator. What does not fit is kept in a temporary file.
DEFAULT_BUDGET = 2**30
PARTS = 4  # a block, its ranks and its vectors are there at the same time

_budget = [DEFAULT_BUDGET]


def memory_budget() -> int:
    """Return how many bytes the arrays of one operator may take."""
    return _budget[-1]


@contextmanager
def with_memory(budget: int) -> Iterator[None]:
    """Work within another budget, in bytes. It does not change any result."""
    _budget.append(budget)
    try:
        yield
    finally:
        _budget.pop()


def rows_at_once(row_bytes: int) -> int:
    """Return how many rows of an array may be worked on at the same time."""
    return max(1, memory_budget() // (PARTS * max(row_bytes, 1)))


def room(shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return an array to be filled: in memory if it fits, else in a nameless temporary file.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype

    Returns
    -------
    ndarray
        The system reads and drops the pages of a file as needed.
    """
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size <= memory_budget() or not size:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile(prefix="sclcs-") as file:  # the map keeps it alive
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
