"""How much memory one operator may take, and how work is cut so that it does not take more."""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sclcs._core import InputError

__all__ = [
    "bytes_of",
    "memory_budget",
    "ranking_bytes",
    "release",
    "room",
    "row_blocks",
    "rows_at_once",
    "with_memory",
    "within",
]

#: Bytes for the arrays of one operator. What does not fit is kept in a temporary file.
DEFAULT_BUDGET = 2**30
PARTS = 4  # a block, its ranks and its vectors are there at the same time
BLOCK_ROWS = 1024  # of square tables that are worked on in place
WHOLE_BYTES = 2**30  # mean vectors of cases up to this size are multiplied at once
TILE_BYTES = 2**28  # else so many of them at a time; neither depends on the memory there is

PROCESS = 3e8  # what the program itself takes
SMALLEST_BUDGET = 2**26
TABLES = 3 * 8  # bytes per pair of cases: their kernel, what covariates leave of it, and scaled
_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

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


def release(array: NDArray[Any]) -> None:
    """Give the pages of a temporary file back to the system; what is in them stays in the file.

    Parameters
    ----------
    array : ndarray
        From :func:`room`. Nothing happens if it is in memory.
    """
    held = getattr(array, "_mmap", None)
    if held is not None and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def row_blocks(n_rows: int, block: int = BLOCK_ROWS) -> Iterator[slice]:
    """Cut rows into blocks that are always the same, so that memory has no part in a result."""
    for start in range(0, n_rows, block):
        yield slice(start, min(start + block, n_rows))


def bytes_of(memory: str | float, what: str = "memory") -> int:
    """Read an amount of memory, or of something else, as people write it.

    Examples
    --------
    >>> bytes_of("4G"), bytes_of("500M"), bytes_of(1e9)
    (4000000000, 500000000, 1000000000)
    """
    written = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([KMGT]?)B?\s*", str(memory), re.IGNORECASE)
    try:
        found = int(float(written[1]) * _UNITS[written[2].upper()]) if written else 0
    except ValueError:
        found = 0
    if found <= 0:
        raise InputError(f"Expected an amount of {what} such as 4G or 800M, got {memory!r}.")
    return found


def ranking_bytes(n_samples: int, n_regions: int) -> int:
    """Predict the peak of a process that ranks operators, each sample being a case of its own.

    Parameters
    ----------
    n_samples, n_regions : int

    Returns
    -------
    int
        Tables of all pairs grow with the square of the samples; vectors take no more than the
        budget, whatever their number.
    """
    n_edges = n_regions * (n_regions - 1)  # of operators that are not symmetric
    vectors = n_samples * n_edges * 8
    making = min(DEFAULT_BUDGET, n_samples * n_edges * 4)
    multiplying = 8 * n_samples**2 + (vectors if vectors <= WHOLE_BYTES else 4 * TILE_BYTES)
    return int(PROCESS + max(making + multiplying, TABLES * n_samples**2))


@contextmanager
def within(memory: str | float | None, n_samples: int, n_jobs: int = 1) -> Iterator[None]:
    """Work within an amount of memory, or say that it is too little. No result changes.

    Parameters
    ----------
    memory : str, number or None
        Of the whole process, for example ``"4G"``; None for the usual budget of vectors.
    n_samples : int
        Samples that are compared with each other.
    n_jobs : int
        Threads; each works on an operator of its own.
    """
    if memory is None:
        yield
        return
    given = bytes_of(memory)
    needed = PROCESS + n_jobs * TABLES * n_samples**2
    if given < needed + SMALLEST_BUDGET:
        raise InputError(
            f"Comparing {n_samples} samples with each other needs at least "
            f"{(needed + SMALLEST_BUDGET) / 1e9:.2g} GB of memory"
            f"{'' if n_jobs == 1 else f' in {n_jobs} threads'}, but {memory} are allowed; allow "
            f"more{'' if n_jobs == 1 else ', use fewer'}, or rank on a core-set."
        )
    left = given - PROCESS - n_jobs * 8 * n_samples**2
    share = min(max(left / 2, SMALLEST_BUDGET), given - needed) / n_jobs
    with with_memory(int(min(share, DEFAULT_BUDGET))):
        yield
