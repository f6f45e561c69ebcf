"""The content fingerprint of a cohort."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.signals import SignalArray, iterate_rows
from sclcs.cohort.table import column_kinds, table_to_csv

__all__ = ["FingerprintBuilder", "fingerprint", "fingerprints"]


class FingerprintBuilder:
    """Hash a cohort piece by piece while it streams by.

    Signals first (in row order, any block size), then the facts.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add_signals(self, block: NDArray[np.float32]) -> None:
        """Add consecutive rows."""
        self._hash.update(np.ascontiguousarray(block, dtype="<f4").data)

    def copy(self) -> FingerprintBuilder:
        """Return one that goes on from here on its own."""
        other = FingerprintBuilder()
        other._hash = self._hash.copy()
        return other

    def finish(self, samples: pd.DataFrame, regions: Sequence[str], tr: float | None) -> str:
        """Add the facts and return the fingerprint, 32 hexadecimal digits."""
        facts = {"kinds": column_kinds(samples), "regions": list(regions), "tr": tr}
        self._hash.update(table_to_csv(samples).encode())
        self._hash.update(json.dumps(facts, sort_keys=True).encode())
        return self._hash.hexdigest()[:32]


def fingerprint(
    signals: SignalArray, samples: pd.DataFrame, regions: Sequence[str], tr: float | None
) -> str:
    """Return the fingerprint of a cohort's content."""
    return fingerprints(signals, (samples,), regions, tr)[0]


def fingerprints(
    signals: SignalArray, tables: Sequence[pd.DataFrame], regions: Sequence[str], tr: float | None
) -> list[str]:
    """Return the fingerprints of the same signals with several tables of facts, read once."""
    builder = FingerprintBuilder()
    for block in iterate_rows(signals):
        builder.add_signals(block)
    return [builder.copy().finish(table, regions, tr) for table in tables]
