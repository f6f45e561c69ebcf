"""Signals that stay on disk until they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sclcs.core.errors import DamagedStoreError
from sclcs.store import check_chunks, read_array

__all__ = ["LazySignals", "SignalArray", "iterate_rows"]

Floats: TypeAlias = NDArray[np.float32]


class LazySignals:
    """A view (sample, region, time) of a stored array; reads only what is indexed.

    It behaves like a read-only float32 array for indexing, ``len``, ``shape`` and
    ``numpy.asarray``. Subsetting rows or regions gives another view and reads nothing.

    Parameters
    ----------
    stored : zarr.Array
        The stored signals (sample, region, time).
    rows, regions : ndarray of int, optional
        Which stored rows and regions the view shows, in order. All by default.
    lengths : ndarray of int, optional
        Time points of every stored row, where they differ; the rest of a row is NaN.
    """

    ndim = 3
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        stored: Any,  # noqa: ANN401 (zarr.Array; importing zarr for a type costs a second)
        rows: NDArray[np.int64] | None = None,
        regions: NDArray[np.int64] | None = None,
        lengths: NDArray[np.int64] | None = None,
    ) -> None:
        self._stored = stored
        self._lengths = lengths
        self._rows = np.arange(stored.shape[0]) if rows is None else rows
        self._regions = np.arange(stored.shape[1]) if regions is None else regions

    @property
    def shape(self) -> tuple[int, int, int]:
        """Samples, regions and time points of the view."""
        return (len(self._rows), len(self._regions), int(self._stored.shape[2]))

    @property
    def nbytes(self) -> int:
        """Bytes the view would take in memory."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"LazySignals(shape={self.shape}, dtype=float32)"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Signals on disk cannot be turned into an array without a copy.")
        return self._read(self._rows).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key: Any) -> NDArray[Any]:  # noqa: ANN401 (numpy's own indexing)
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis:
            return np.asarray(np.asarray(self)[(first, *rest)])
        if rest and not all(isinstance(k, int | np.integer | slice) for k in rest):
            raise IndexError("Regions and time of stored signals are indexed by int or slice.")
        chosen = self._rows[first]
        block = self._read(np.atleast_1d(chosen))
        inner = block[0] if np.ndim(chosen) == 0 else block
        lead: tuple[slice, ...] = () if np.ndim(chosen) == 0 else (slice(None),)
        return np.asarray(inner[(*lead, *rest)])

    def take(
        self,
        rows: NDArray[np.int64] | None = None,
        regions: NDArray[np.int64] | None = None,
    ) -> LazySignals:
        """Return a view of some rows and regions of this view; nothing is read."""
        return LazySignals(
            self._stored,
            self._rows if rows is None else self._rows[rows],
            self._regions if regions is None else self._regions[regions],
            self._lengths,
        )

    def _read(self, rows: NDArray[np.int64]) -> Floats:
        if len(rows) == 0:
            return np.empty((0, *self.shape[1:]), dtype=np.float32)
        wanted, place = np.unique(rows, return_inverse=True)
        contiguous = wanted[-1] - wanted[0] + 1 == len(wanted)
        selection = slice(int(wanted[0]), int(wanted[-1]) + 1) if contiguous else wanted
        check_chunks(self._stored, wanted)
        block: Floats = read_array(self._stored, (selection, slice(None), slice(None)))
        if self._lacks_values(block, wanted):
            raise DamagedStoreError(
                f"Signals are missing from {self._stored.store_path}: a chunk file is gone; "
                "make the cohort again from its source."
            )
        return block[place][:, self._regions]

    def _lacks_values(self, block: Floats, rows: NDArray[np.int64]) -> bool:
        """Tell whether values are NaN that are not padding: NaN is the fill value of chunks."""
        missing = np.isnan(block)
        if self._lengths is None:
            return bool(missing.any())
        padding = np.arange(block.shape[2]) >= self._lengths[rows][:, None]
        return bool((missing != padding[:, None, :]).any())


SignalArray: TypeAlias = Floats | LazySignals


def iterate_rows(signals: SignalArray, block_bytes: int = 2**24) -> Iterator[Floats]:
    """Go through signals in blocks of rows of a bounded size.

    Parameters
    ----------
    signals : ndarray or LazySignals, shape (sample, region, time)
        What to read.
    block_bytes : int
        Memory of one block.

    Yields
    ------
    ndarray
        Consecutive rows, in order.
    """
    row_bytes = int(np.prod(signals.shape[1:])) * 4
    step = max(1, block_bytes // max(1, row_bytes))
    for start in range(0, signals.shape[0], step):
        yield signals[start : start + step]
