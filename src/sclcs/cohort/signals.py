"""Signals (sample, region, time): on disk or in memory, of one length or several, fingerprinted.

A stored chunk ends with a checksum of its content, which finds a flipped bit; it does not find a
chunk of an older version or of another position. The seal of the folder names the checksum of every
chunk, and whoever reads rows compares the last four bytes of the chunks that they are in.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from sclcs._core import (
    DamagedStoreError,
    InputError,
    get_logger,
    name_first,
    read_array,
    read_seal,
)
from sclcs.cohort.tables import column_kinds, table_to_csv

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort


_log = get_logger(__name__)

CHUNKS = "chunks"
_CHECKSUM_BYTES = 4


def chunk_checksums(array_folder: Path) -> list[str]:
    """Return the checksums of the chunks along the first axis, in order."""
    folder = array_folder / "c"
    count = sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
    return [_last_bytes(_file(array_folder, number)) for number in range(count)]


def check_chunks(array: Any, rows: NDArray[np.int64]) -> None:  # noqa: ANN401
    """Raise if the chunks that rows of a zarr array are in are not those that were signed."""
    folder = Path(array.store.root) / array.path
    seal = read_seal(folder.parent)
    known = None if seal is None else seal.metadata.get(CHUNKS)
    if known is None:
        return
    wrong = [
        number
        for number in np.unique(rows // array.chunks[0]).tolist()
        if number >= len(known) or _last_bytes(_file(folder, number)) != known[number]
    ]
    if wrong:
        raise DamagedStoreError(
            f"Signals are missing from {folder.parent} or are not those that were written: "
            f"a chunk file is gone or changed ({name_first(wrong)}); take it from a backup or "
            "make the cohort again from its source."
        )


def _file(array_folder: Path, number: int) -> Path:
    return array_folder / "c" / str(number) / "0" / "0"


def _last_bytes(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(-_CHECKSUM_BYTES, os.SEEK_END)
            return stream.read().hex()
    except OSError:
        return "missing"


Floats: TypeAlias = NDArray[np.float32]


class LazySignals:
    """A view (sample, region, time) of a stored array; reads only what is indexed.

    It behaves like a read-only float32 array for indexing, ``len``, ``shape`` and
    ``numpy.asarray``. Subsetting rows or regions gives another view and reads nothing. `lengths`
    are those of every stored row, where they differ (the rest of a row is NaN); `spans` say where
    each row of the view begins and ends in time.
    """

    ndim = 3
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        stored: Any,  # noqa: ANN401 (zarr.Array; importing zarr for a type costs a second)
        rows: NDArray[np.int64] | None = None,
        regions: NDArray[np.int64] | None = None,
        lengths: NDArray[np.int64] | None = None,
        spans: NDArray[np.int64] | None = None,
    ) -> None:
        self._stored = stored
        self._lengths = lengths
        self._spans = spans
        self._rows = np.arange(stored.shape[0]) if rows is None else rows
        self._regions = np.arange(stored.shape[1]) if regions is None else regions

    @property
    def shape(self) -> tuple[int, int, int]:
        """Samples, regions and time points of the view."""
        longest = int(self._stored.shape[2])
        if self._spans is not None:
            longest = int(np.diff(self._spans, axis=1).max(initial=0))
        return (len(self._rows), len(self._regions), longest)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"LazySignals(shape={self.shape}, dtype=float32)"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Signals on disk cannot be turned into an array without a copy.")
        return self._read(np.arange(len(self))).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key: Any) -> NDArray[Any]:  # noqa: ANN401 (numpy's own indexing)
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis:
            return np.asarray(np.asarray(self)[(first, *rest)])
        if rest and not all(isinstance(k, int | np.integer | slice) for k in rest):
            raise IndexError("Regions and time of stored signals are indexed by int or slice.")
        chosen = np.arange(len(self))[first]
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
            self._spans if rows is None or self._spans is None else self._spans[rows],
        )

    def cut(self, rows: NDArray[np.int64], spans: NDArray[np.int64]) -> LazySignals:
        """Return a view of stretches (begin, end) of rows, of which one may come several times."""
        if self._spans is not None:
            spans = spans + self._spans[rows, :1]
        return LazySignals(self._stored, self._rows[rows], self._regions, self._lengths, spans)

    def _read(self, chosen: NDArray[np.int64]) -> Floats:
        if len(chosen) == 0:
            return np.empty((0, *self.shape[1:]), dtype=np.float32)
        wanted, index = np.unique(self._rows[chosen], return_inverse=True)
        contiguous = wanted[-1] - wanted[0] + 1 == len(wanted)
        selection = slice(int(wanted[0]), int(wanted[-1]) + 1) if contiguous else wanted
        check_chunks(self._stored, wanted)
        block: Floats = read_array(self._stored, (selection, slice(None), slice(None)))
        if self._lacks_values(block, wanted):
            raise DamagedStoreError(
                f"Signals are missing from {self._stored.store_path}: a chunk file is gone; "
                "make the cohort again from its source."
            )
        rows = block[index][:, self._regions]
        if self._spans is None:
            return rows
        return stretches(rows, self._spans[chosen], self.shape[2])

    def _lacks_values(self, block: Floats, rows: NDArray[np.int64]) -> bool:
        """Tell whether values are NaN that are not padding: NaN is the fill value of chunks."""
        missing = np.isnan(block)
        if self._lengths is None:
            return bool(missing.any())
        padding = np.arange(block.shape[2]) >= self._lengths[rows][:, None]
        return bool((missing != padding[:, None, :]).any())


SignalArray: TypeAlias = Floats | LazySignals


def iterate_rows(signals: SignalArray, block_bytes: int = 2**24) -> Iterator[Floats]:
    """Go through signals in blocks of consecutive rows that take a bounded amount of memory."""
    row_bytes = int(np.prod(signals.shape[1:])) * 4
    step = max(1, block_bytes // max(1, row_bytes))
    for start in range(0, signals.shape[0], step):
        yield signals[start : start + step]


#: Offset, in standard deviations, from which on single precision loses digits of a signal: it
#: keeps seven of them, of which such an offset takes four.
LARGEST_OFFSET = 2e4


def as_float32(values: NDArray[Any]) -> Floats:
    """Return signals (..., time) in single precision without losing what varies.

    Regions whose offset is large beside their variation are centred first (in double
    precision), where the numbers have more digits than single precision keeps.
    """
    if values.dtype.kind == "f" and values.dtype.itemsize <= np.dtype(np.float32).itemsize:
        return values.astype(np.float32, copy=False)
    with np.errstate(all="ignore"):  # what is not finite is found and named later
        kept = values.astype(np.float32)
        far = 0
        for index in np.ndindex(values.shape[:-2]):  # a sample at a time, for memory's sake
            signals = np.asarray(values[index], dtype=np.float64)
            if signals.ndim < 2 or not signals.size:
                continue
            known = np.where(np.isfinite(signals), signals, np.nan)
            middle = _mean(known)
            spread = np.sqrt(_mean((known - middle) ** 2))
            rows = ((np.abs(middle) > LARGEST_OFFSET * spread) & (spread > 0)).ravel()
            if rows.any():
                kept[(*index, rows)] = (signals - middle)[rows]
                far += int(rows.sum())
    if far:
        _log.warning(
            "%d regions with an offset of more than %g standard deviations were centred: single "
            "precision would lose digits of their signals.",
            far,
            LARGEST_OFFSET,
        )
    return kept


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    count = np.maximum((~np.isnan(values)).sum(axis=1), 1)
    return np.asarray(np.nansum(values, axis=1) / count)[:, None]


LENGTH_COLUMN = "n_timepoints"
Lengths: TypeAlias = NDArray[np.int64]


def sample_lengths(samples: pd.DataFrame, longest: int) -> Lengths:
    """Return the time points of each sample: all of the axis without ``n_timepoints``."""
    if LENGTH_COLUMN not in samples.columns:
        return np.full(len(samples), longest, dtype=np.int64)
    column = pd.to_numeric(samples[LENGTH_COLUMN], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~((column >= 2) & (column <= longest) & (column == np.rint(column)))
    if wrong.any():
        raise InputError(
            f"Expected whole numbers from 2 to {longest} (the time axis) in the column "
            f"{LENGTH_COLUMN}, which says how long each sample is; others in "
            f"{name_first(samples.index[wrong])}; correct the column, or rename it if it means "
            "something else."
        )
    return column.astype(np.int64)


def by_length(lengths: Lengths) -> list[tuple[int, NDArray[np.int64]]]:
    """Group samples of one length: the length and their row numbers, the shortest first."""
    return [(int(n), np.flatnonzero(lengths == n)) for n in np.unique(lengths)]


def padded(signals: Floats, longest: int) -> Floats:
    """Fill up signals (..., time) with NaN to a length."""
    missing = longest - signals.shape[-1]
    widths = [(0, 0)] * (signals.ndim - 1) + [(0, missing)]
    return np.pad(signals, widths, constant_values=np.nan)


def iterate_samples(
    signals: SignalArray, lengths: Lengths
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Go through samples in blocks of one length: their row numbers, and signals without padding.

    Every sample comes once, in order where all have one length.
    """
    start = 0
    for block in iterate_rows(signals):
        for length, rows in by_length(lengths[start : start + len(block)]):
            yield rows + start, block[rows][:, :, :length]
        start += len(block)


def stretches(signals: Floats, spans: NDArray[np.int64], longest: int) -> Floats:
    """Cut one stretch (begin, end) out of every sample, and fill up with NaN to a length."""
    cut = np.full((*signals.shape[:2], longest), np.nan, dtype=np.float32)
    for row, (start, stop) in enumerate(spans):
        cut[row, :, : stop - start] = signals[row, :, start:stop]
    return cut


def require_equal_lengths(cohort: Cohort, who: str) -> None:
    """Refuse a cohort of unequal lengths; `who` needs one (``"The encoder"``)."""
    if cohort.equal_lengths:
        return
    lengths = cohort.lengths
    raise InputError(
        f"{who} needs samples of one length, but this cohort's have {lengths.min()} to "
        f"{lengths.max()} time points; cut windows (--window) or the first n time points "
        "(--truncate n), or choose a method that compares matrices."
    )


def id_order(sample_ids: Sequence[str]) -> NDArray[np.int64]:
    """Return the row numbers in alphabetical order of the sample ids.

    Examples
    --------
    >>> id_order(["b", "c", "a"]).tolist()
    [2, 0, 1]
    """
    return np.argsort(np.array(list(sample_ids), dtype=str), kind="stable").astype(np.int64)


class FingerprintBuilder:
    """Hash a cohort while it streams by: signals in row order, then the metadata."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add_signals(self, block: NDArray[np.float32]) -> None:
        """Add consecutive rows."""
        self._hash.update(np.ascontiguousarray(block, dtype="<f4").data)

    def finish(self, samples: pd.DataFrame, regions: Sequence[str], tr: float | None) -> str:
        """Return the fingerprint with the metadata, 32 hexadecimal digits."""
        whole = self._hash.copy()
        whole.update(table_to_csv(samples).encode())
        about = {"kinds": column_kinds(samples), "regions": list(regions), "tr": tr}
        whole.update(json.dumps(about, sort_keys=True).encode())
        return whole.hexdigest()[:32]


def fingerprint(
    signals: SignalArray, samples: pd.DataFrame, regions: Sequence[str], tr: float | None
) -> str:
    """Return the fingerprint of a cohort's content."""
    return fingerprints(signals, (samples,), regions, tr)[0]


def fingerprints(
    signals: SignalArray, tables: Sequence[pd.DataFrame], regions: Sequence[str], tr: float | None
) -> list[str]:
    """Return the fingerprints of the same signals with several tables, read once."""
    builder = FingerprintBuilder()
    for block in iterate_rows(signals):
        builder.add_signals(block)
    return [builder.finish(table, regions, tr) for table in tables]
