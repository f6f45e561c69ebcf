"""Where the windows of a scan begin, in time points or in seconds."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, checked_record

_EXTENT = re.compile(r"(\d+)|(\d+(?:\.\d*)?|\.\d+)\s*s")


class Seconds(float):
    """A stretch of time; how many time points it is depends on the repetition time.

    Examples
    --------
    >>> Seconds(140).points(2.0), str(Seconds(140))
    (70, '140s')
    """

    def __str__(self) -> str:
        return f"{float(self):g}s"

    def points(self, tr: float) -> int:
        """Return the nearest number of time points."""
        return round(float(self) / tr)


Extent = int | Seconds
"""How long something is: time points, or seconds."""


def parse_extent(text: str) -> Extent:
    """Read what a user wrote: ``70`` time points, or ``140s``.

    Examples
    --------
    >>> parse_extent("70"), str(parse_extent("17.5s"))
    (70, '17.5s')
    """
    found = _EXTENT.fullmatch(text.strip())
    if not found:
        raise InputError(
            f"Expected time points (70) or seconds (140s), got {text!r}; write one of these."
        )
    return int(found[1]) if found[1] else Seconds(found[2])


@checked_record
@dataclass(frozen=True)
class Windowing:
    """How scans are cut into samples, in time points or seconds.

    Parameters
    ----------
    length : int, Seconds or None
        Of a window. None takes the whole scan as one sample (the static network).
    stride : int or Seconds, optional
        From the start of one window to the start of the next; by default windows do not
        overlap.
    truncate : int or Seconds, optional
        Use exactly the beginning of every scan; a shorter scan is too short.
    drop_first : int or Seconds
        Dropped at the start of the scan before anything else (for example dummy volumes).
    """

    length: Extent | None
    stride: Extent | None = None
    truncate: Extent | None = None
    drop_first: Extent = 0

    def __post_init__(self) -> None:
        for name, least in (("length", 2), ("stride", 1), ("truncate", 2), ("drop_first", 0)):
            value = getattr(self, name)
            if value is not None and value < (min(least, 0.001) if _timed(value) else least):
                raise InputError(f"Expected {name} of at least {least}, got {value}.")
        comparable = isinstance(self.length, Seconds) == isinstance(self.truncate, Seconds)
        if self.length and self.truncate and comparable and self.truncate < self.length:
            raise InputError(
                f"The window length must fit into the time points kept, but length is "
                f"{self.length} and truncate is {self.truncate}; lower one or raise the other."
            )

    @property
    def in_seconds(self) -> bool:
        """Whether the length of a sample depends on the repetition time."""
        return any(_timed(extent) for extent in (self.length, self.truncate))

    def at(self, tr: float | None) -> Windowing:
        """Return the same in time points, for the repetition time of a scan in seconds."""
        if not any(_timed(extent) for extent in vars(self).values()):
            return self
        if tr is None:
            raise InputError(
                "Windows in seconds need the repetition time of every scan, but it is not known; "
                "give it with --tr (tr=...), or give windows in time points."
            )
        given = vars(self)
        points = {name: e.points(tr) for name, e in given.items() if isinstance(e, Seconds)}
        return replace(self, **points)

    @property
    def minimum_scan_length(self) -> int:
        """Time points a scan must have to give at least one sample."""
        needed = max(_points(self.truncate), _points(self.length), 2)
        return _points(self.drop_first) + needed

    def kept_length(self, n_timepoints: int) -> int:
        """Return how many time points of a scan are used."""
        kept = n_timepoints - _points(self.drop_first)
        return min(kept, _points(self.truncate)) if self.truncate else kept

    def starts(self, n_timepoints: int) -> NDArray[np.int64]:
        """Return where windows begin, counted after the dropped time points of a scan.

        Empty if the scan is too short.

        Examples
        --------
        >>> Windowing(length=70, stride=35, truncate=210).starts(230).tolist()
        [0, 35, 70, 105, 140]
        """
        if n_timepoints < self.minimum_scan_length:
            return np.empty(0, dtype=np.int64)
        kept = self.kept_length(n_timepoints)
        length = _points(self.length) or kept
        stride = (_points(self.stride) or length) if self.length else kept
        return np.arange(0, kept - length + 1, stride, dtype=np.int64)

    def cut(self, signals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cut one scan (region, time) into windows (window, region, time)."""
        starts = self.starts(signals.shape[1])
        length = _points(self.length) or self.kept_length(signals.shape[1])
        pieces = [signals[:, s : s + length] for s in starts + _points(self.drop_first)]
        if not pieces:
            return np.empty((0, signals.shape[0], max(length, 0)), dtype=signals.dtype)
        return np.stack(pieces)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, for the provenance; seconds as a string (``140s``)."""
        return {k: str(v) if isinstance(v, Seconds) else v for k, v in asdict(self).items()}


def _timed(extent: Extent | None) -> bool:
    return isinstance(extent, Seconds)


def _points(extent: Extent | None) -> int:
    return int(extent or 0)


WHOLE_SCAN = Windowing(length=None)
