"""Where the windows of a scan begin."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import InputError

__all__ = ["PAPER_WINDOWS", "ROBUSTNESS_WINDOWS", "WHOLE_SCAN", "Windowing"]


@dataclass(frozen=True)
class Windowing:
    """How scans are cut into samples of one length.

    Parameters
    ----------
    length : int or None
        Time points per window. None takes the whole scan as one sample (the static
        network); the scans must then have one length, or `truncate` must give it.
    stride : int
        Time points from the start of one window to the start of the next.
    truncate : int, optional
        Use exactly the first `truncate` time points; a shorter scan is too short.
    drop_first : int
        Time points dropped at the start of the scan before anything else
        (for example dummy volumes).
    """

    length: int | None
    stride: int = 1
    truncate: int | None = None
    drop_first: int = 0

    def __post_init__(self) -> None:
        self._require_at_least("length", self.length, 2)
        self._require_at_least("stride", self.stride, 1)
        self._require_at_least("truncate", self.truncate, 2)
        self._require_at_least("drop_first", self.drop_first, 0)
        if self.length and self.truncate and self.truncate < self.length:
            raise InputError(
                f"The window length must fit into the time points kept, but length is "
                f"{self.length} and truncate is {self.truncate}; lower one or raise the other."
            )

    @staticmethod
    def _require_at_least(name: str, value: int | None, least: int) -> None:
        if value is not None and value < least:
            raise InputError(f"Expected {name} of at least {least}, got {value}.")

    @property
    def minimum_scan_length(self) -> int:
        """Time points a scan must have to give at least one sample."""
        return self.drop_first + max(self.truncate or 0, self.length or 0, 2)

    def kept_length(self, n_timepoints: int) -> int:
        """Return how many time points of a scan are used."""
        kept = n_timepoints - self.drop_first
        return min(kept, self.truncate) if self.truncate else kept

    def starts(self, n_timepoints: int) -> NDArray[np.int64]:
        """Return where windows begin, counted after the dropped time points.

        Parameters
        ----------
        n_timepoints : int
            Length of the scan as recorded.

        Returns
        -------
        ndarray of int64
            Empty if the scan is too short.

        Examples
        --------
        >>> PAPER_WINDOWS.starts(230).tolist()
        [0, 35, 70, 105, 140]
        >>> Windowing(length=50, stride=45).starts(230).tolist()
        [0, 45, 90, 135, 180]
        """
        if n_timepoints < self.minimum_scan_length:
            return np.empty(0, dtype=np.int64)
        kept = self.kept_length(n_timepoints)
        length = kept if self.length is None else self.length
        return np.arange(0, kept - length + 1, self.stride if self.length else kept, dtype=np.int64)

    def cut(self, signals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cut one scan (region, time) into windows (window, region, time)."""
        starts = self.starts(signals.shape[1])
        length = self.length or self.kept_length(signals.shape[1])
        pieces = [signals[:, s : s + length] for s in starts + self.drop_first]
        if not pieces:
            return np.empty((0, signals.shape[0], max(length, 0)), dtype=signals.dtype)
        return np.stack(pieces)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, for the provenance."""
        return asdict(self)


PAPER_WINDOWS = Windowing(length=70, stride=35, truncate=210)
ROBUSTNESS_WINDOWS = Windowing(length=50, stride=45, truncate=210)
WHOLE_SCAN = Windowing(length=None)
