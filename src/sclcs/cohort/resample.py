"""One repetition time for all scans: what it is now, and bringing scans to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.windows import Windowing
from sclcs.core.errors import InputError, name_first

__all__ = ["MixedTr", "mixed_tr_note", "refuse_mixed_tr", "resample_scans"]

MixedTr = Literal["error", "keep"]

#: Ratios of repetition times are approximated by fractions of small numbers: 2.2 / 1.656.
LARGEST_FACTOR = 1000


def refuse_mixed_tr(scans: Scans, windowing: Windowing) -> None:
    """Raise if scans differ in their repetition time and samples would differ in duration.

    Parameters
    ----------
    scans : Scans
    windowing : Windowing
        Windows in seconds last equally long in all scans and are fine. Whoever truncates to
        a number of time points (the paper: 210) has said that time points are meant; that
        is noted in the provenance, not refused.
    """
    found = _repetition_times(scans)
    if len(found) < 2 or windowing.in_seconds or windowing.truncate is not None:
        return
    times = [f"{tr:g} s ({len(found[tr])} scans, such as {found[tr][0]})" for tr in sorted(found)]
    usual = max(found, key=lambda tr: len(found[tr]))
    others = "" if windowing.length is None else ", cut windows in seconds (--length 140s)"
    raise InputError(
        f"Expected one repetition time, found {len(found)}: {name_first(times)}; a number of time "
        f"points is not the same time in all of them: resample (--resample {usual:g})"
        f"{others}, or accept it with --mixed-tr keep (mixed_tr='keep')."
    )


def mixed_tr_note(scans: Scans, windowing: Windowing) -> list[str]:
    """Say that samples last differently long, if they do; empty otherwise."""
    found = _repetition_times(scans)
    if len(found) < 2:
        return []
    times = ", ".join(f"{tr:g}" for tr in sorted(found))
    effect = (
        "windows in seconds differ in time points"
        if windowing.in_seconds
        else "the same number of time points is not the same time in all scans"
    )
    return [f"Repetition times differ ({times} s): {effect}, and bands in Hz differ."]


def _repetition_times(scans: Scans) -> dict[float, list[str]]:
    found: dict[float, list[str]] = defaultdict(list)
    for scan in scans:
        seconds = scans.repetition_time(scan)
        if seconds is not None:
            found[seconds].append(scan.scan_id)
    return found


def resample_scans(scans: Scans, tr: float) -> Scans:
    """Bring all scans to one repetition time.

    Parameters
    ----------
    scans : Scans
        Of known repetition times, equal or not.
    tr : float
        In seconds.

    Returns
    -------
    Scans
        Signals are resampled when they are loaded, by a polyphase filter that removes what
        the new rate cannot hold (``scipy.signal.resample_poly``). Scans that have the
        wanted repetition time stay as they are.
    """
    if not (np.isfinite(tr) and tr > 0):
        raise InputError(f"Expected a repetition time above 0 seconds, got {tr:g}.")
    unknown = [scan.scan_id for scan in scans if scans.repetition_time(scan) is None]
    if unknown:
        raise InputError(
            f"Resampling needs the repetition time of every scan; it is not known for "
            f"{name_first(unknown)}; give it with --tr (tr=...)."
        )
    changed = [_resampled(scan, scans.repetition_time(scan) or tr, tr) for scan in scans]
    provenance = {**scans.provenance, "resampled_to": tr}
    return scans.with_scans(changed, tr=tr, provenance=provenance)


def _resampled(scan: Scan, old: float, new: float) -> Scan:
    facts = {name: value for name, value in scan.facts.items() if name != "tr"}
    if np.isclose(old, new, rtol=1e-6):
        return replace(scan, facts=facts)
    return replace(scan, facts=facts, load=partial(_load, scan.load, old, new))


def _load(load: Callable[[], NDArray[Any]], old: float, new: float) -> NDArray[np.float64]:
    from scipy.signal import resample_poly

    ratio = Fraction(old / new).limit_denominator(LARGEST_FACTOR)
    signals = np.asarray(load(), dtype=np.float64)
    # The line through both ends is taken out first: a step from end to beginning would ring.
    return np.asarray(
        resample_poly(signals, ratio.numerator, ratio.denominator, axis=-1, padtype="line")
    )
