"""What is exported: one matrix per window, or one per subject (the mean over the windows)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import InputError
from sclcs.spi.catalogue import catalogue_rows
from sclcs.spi.fc_store import FCStore

__all__ = ["ExportRows", "Per"]

Per = Literal["window", "subject"]
Matrix = NDArray[np.float32]

# Facts of windows: they have no meaning for a mean over windows.
_OF_WINDOWS = ("window", "scan", "start", "n_timepoints")


@dataclass(frozen=True)
class ExportRows:
    """The matrices of a store, one by one.

    Parameters
    ----------
    store : FCStore
    per : {'window', 'subject'}
        What one matrix stands for.
    """

    store: FCStore
    per: Per = "window"

    def __post_init__(self) -> None:
        if self.per not in get_args(Per):
            raise InputError(f"Expected one matrix per 'window' or 'subject', got {self.per!r}.")

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def groups(self) -> list[NDArray[np.int64]]:
        """The rows of the store behind each matrix."""
        if self.per == "window":
            return [np.array([row]) for row in range(len(self.store))]
        codes, _ = pd.factorize(self.store.samples["subject"])
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row of facts per matrix; of a subject those that are the same in all its windows."""
        table = self.store.samples
        if self.per == "window":
            return table
        rows = [self._shared(table.iloc[group]) for group in self.groups]
        index = pd.Index([str(row["subject"]) for row in rows], name="sample_id", dtype=object)
        made = pd.DataFrame(rows, index=index)
        return made.assign(windows=[len(group) for group in self.groups])

    def _shared(self, windows: pd.DataFrame) -> dict[str, Any]:
        kept = [name for name in windows.columns if name not in _OF_WINDOWS]
        return {
            str(name): windows[name].iloc[0] if len(set(map(str, windows[name]))) == 1 else None
            for name in kept
        }

    def matrices(self, operator: str) -> Iterator[Matrix]:
        """Yield the matrices of an operator in the order of :attr:`samples`."""
        if self.per == "window":
            for block in range(self.store.layout.n_blocks):
                rows = np.arange(len(self.store))[self.store.layout.block_rows(block)]
                yield from self.store.matrices(operator, rows)
            return
        for group in self.groups:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a pair without any value: NaN
                yield np.nanmean(
                    self.store.matrices(operator, group).astype(np.float64), axis=0
                ).astype(np.float32)

    def directed(self, operator: str) -> bool:
        """Tell whether an operator's matrices are not symmetric."""
        return str(catalogue_rows()[operator]["symmetry"]) != "symmetric"
