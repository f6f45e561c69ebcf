"""From scans to a cohort: check, cut, scale, and drop or refuse what is bad."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnreadableFileError,
    atomic_group,
    name_first,
    refuse_existing,
    track,
)
from sclcs.cohort.cohort import Cohort, check_tr
from sclcs.cohort.columns import ColumnRules, sidecar_of, with_columns
from sclcs.cohort.motion import without_motion
from sclcs.cohort.plausible import LONGEST_PLAUSIBLE_TR, Lookalikes, check_scan
from sclcs.cohort.problems import NEVER_SKIPPED, OnBad, Problem, explain, raise_for
from sclcs.cohort.regions import CoverageRule, drop_regions, parse_share
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.signals import LENGTH_COLUMN, padded
from sclcs.cohort.storage import CohortWriter
from sclcs.cohort.windows import Windowing, parse_extent
from sclcs.settings import CutSettings

__all__ = [
    "make_cohort",
    "mixed_tr_note",
    "refuse_mixed_tr",
    "resample_scans",
    "windowing_of",
]

FEWEST_REGIONS = 2
MOST_UNCOVERED = 0.1  # of the regions are left out without being asked, where few scans lack them


def make_cohort(
    scans: Scans, asked: CutSettings, out: str | os.PathLike[str] | None = None
) -> Cohort:
    """Choose regions and scans, cut them, and write the cohort.

    Parameters
    ----------
    scans : Scans
    asked : CutSettings
        How.
    out : path-like, optional
        Where to; in memory without it.

    Returns
    -------
    Cohort
    """
    windowing = windowing_of(asked)
    most = asked.max_missing_subjects
    coverage = CoverageRule(asked.min_coverage, None if most is None else parse_share(most))
    if not coverage and asked.on_bad == "error" and any(scan.coverage for scan in scans):
        coverage = CoverageRule(max_missing_subjects=0, most_regions=MOST_UNCOVERED)
    if out is not None:
        refuse_existing(Path(out))
    if asked.drop_regions:
        scans = drop_regions(scans, asked.drop_regions)
    if asked.max_fd is not None:
        scans = without_motion(scans, asked.max_fd)
    if asked.resample is not None:
        scans = resample_scans(scans, asked.resample)
    scans = with_columns(scans, ColumnRules.of(asked.levels, asked.missing, sidecar_of(scans)))
    scans = coverage.apply(scans, windowing)
    check_tr(scans.tr)
    if scans.tr is not None and scans.tr > LONGEST_PLAUSIBLE_TR:
        raise_for([Problem("implausible-tr", f"{scans.tr:g} s", "")])
    if len(scans.regions) < FEWEST_REGIONS:
        raise InputError(
            f"Expected at least {FEWEST_REGIONS} regions, found {len(scans.regions)}: operators "
            "compare pairs of regions; check the source, or choose the other --layout."
        )
    _refuse_known_problems(scans, asked.on_bad)
    if asked.mixed_tr == "error":
        refuse_mixed_tr(scans, windowing)
    try:
        return _build(_Builder(scans, windowing, asked), out)
    except _SameScanError as found:  # which of them is right is not known: all are left out
        left_out = {problem.where for problem in found.problems}
        kept = [scan for scan in scans if scan.scan_id not in left_out]
        scans = scans.with_scans(kept, problems=[*scans.problems, *found.problems])
        return _build(_Builder(scans, windowing, asked), out)


def _build(builder: _Builder, out: str | os.PathLike[str] | None) -> Cohort:
    return _in_memory(builder) if out is None else _on_disk(builder, out)


class _SameScanError(Exception):
    """Some scans are equal, which is known when all have been read."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.problems = problems


def windowing_of(asked: CutSettings) -> Windowing:
    """Return how options cut scans."""
    window, stride, truncate = (
        None if text is None else parse_extent(text)
        for text in (asked.window, asked.stride, asked.truncate)
    )
    if stride is not None and window is None:
        raise InputError("A stride goes from window to window; give the length with --window too.")
    return Windowing(window, stride, truncate, parse_extent(asked.drop_first))


#: Ratios of repetition times are approximated by fractions of small numbers: 2.2 / 1.656.
LARGEST_FACTOR = 1000


def refuse_mixed_tr(scans: Scans, windowing: Windowing) -> None:
    """Raise if scans differ in their repetition time and samples would differ in duration.

    Parameters
    ----------
    scans : Scans
    windowing : Windowing
        Windows in seconds last equally long in all scans and are fine. Whole scans are not
        asked to last equally long; and whoever truncates to a number of time points (the
        paper: 210) has said that time points are meant. Both are noted, not refused.
    """
    found = _repetition_times(scans)
    whole = windowing.length is None
    if len(found) < 2 or whole or windowing.in_seconds or windowing.truncate is not None:
        return
    times = [f"{tr:g} s ({len(found[tr])} scans, such as {found[tr][0]})" for tr in sorted(found)]
    usual = max(found, key=lambda tr: len(found[tr]))
    raise InputError(
        f"Expected one repetition time, found {len(found)}: {name_first(times)}; a number of time "
        f"points is not the same time in all of them: resample (--resample {usual:g}), "
        "cut windows in seconds (--window 140s), or accept it with --mixed-tr keep "
        "(mixed_tr='keep')."
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


def _refuse_known_problems(scans: Scans, on_bad: OnBad) -> None:
    """Raise what the reader already found, before any signal is loaded."""
    if on_bad == "error":
        raise_for(scans.problems)
    raise_for([p for p in scans.problems if p.kind in NEVER_SKIPPED])
    if not len(scans):
        raise_for(scans.problems)
        raise InputError("Expected at least one scan, found none; check the source and filters.")


class _Builder:
    """Goes through the scans once and collects samples, facts and problems."""

    def __init__(self, scans: Scans, windowing: Windowing, asked: CutSettings) -> None:
        self.scans = scans
        self.asked = asked
        self.windowing = windowing
        self.problems: list[Problem] = list(scans.problems)
        self.rows: list[dict[str, Any]] = []
        self.lengths: list[int] = []
        self.doubts: list[Problem] = []
        self.alike = Lookalikes()

    @property
    def one_length(self) -> bool:
        """Whether all samples will have one length, whatever the scans are."""
        cut = self.windowing.length is not None or self.windowing.truncate is not None
        return cut and not (self.windowing.in_seconds and self.scans.tr is None)

    @property
    def longest(self) -> int:
        """Time points of the longest sample so far."""
        return max(self.lengths, default=0)

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield the windows of each good scan (window, region, time) at their own length."""
        for scan in track(self.scans, "Preparing scans"):
            windows = self._windows_of(scan)
            if windows is not None:
                yield windows
        found = self.alike.problems()
        if self.asked.on_bad == "error":
            raise_for([*self.problems, *found])
        same = [problem for problem in found if problem.fatal]
        if same:
            raise _SameScanError(same)
        self.doubts += found
        if not self.rows:
            raise_for(self.problems)

    def _windows_of(self, scan: Scan) -> NDArray[np.float32] | None:
        try:
            signals = scan.signals()
        except UnreadableFileError as error:
            self.problems.append(Problem("unreadable", scan.scan_id, str(error)))
            return None
        windowing = self.windowing.at(self.scans.repetition_time(scan))
        found = check_scan(scan.scan_id, signals, self.scans.regions, windowing)
        fatal = [problem for problem in found if problem.fatal]
        self.problems += fatal
        if fatal:
            return None
        self.doubts += found
        self.alike.add(scan.scan_id, signals)
        windows = _scaled(windowing, signals, self.asked.zscore)
        self.lengths += [windows.shape[2]] * len(windows)
        whole = windowing.length is None
        starts = windowing.starts(signals.shape[1]) + int(windowing.drop_first)
        for number, start in enumerate(starts):
            self.rows.append(
                {
                    "sample_id": scan.scan_id if whole else f"{scan.scan_id}_w{number}",
                    "subject": scan.subject,
                    "window": number,
                    "scan": scan.scan_id,
                    "start": int(start),
                    **scan.facts,
                }
            )
        return windows

    def samples(self) -> pd.DataFrame:
        """Return the facts of all samples kept; their lengths are one if they differ."""
        table = pd.DataFrame(self.rows).set_index("sample_id")
        if len(set(self.lengths)) > 1:
            table.insert(list(table.columns).index("start") + 1, LENGTH_COLUMN, self.lengths)
        return table

    def provenance(self) -> dict[str, Any]:
        """Return where the cohort comes from and what was done to it."""
        notes = [
            *self.scans.provenance.get("notes", ()),
            *mixed_tr_note(self.scans, self.windowing),
            *([explain(self.doubts)] if self.doubts else []),
        ]
        return {
            **self.scans.provenance,
            "windowing": self.windowing.to_dict(),
            "zscore": self.asked.zscore,
            "on_bad": self.asked.on_bad,
            "n_scans_found": len(self.scans),
            **({"notes": notes} if notes else {}),
            "excluded": [problem.to_dict() for problem in self.problems],
        }


def _scaled(windowing: Windowing, signals: NDArray[np.float32], zscore: str) -> NDArray[np.float32]:
    if zscore == "scan":
        first = int(windowing.drop_first)
        kept = slice(first, first + windowing.kept_length(signals.shape[1]))
        signals = signals.copy()
        signals[:, kept] = _standardise(signals[:, kept])
    windows = windowing.cut(signals)
    return _standardise(windows) if zscore == "window" else windows


def _standardise(signals: NDArray[np.float32]) -> NDArray[np.float32]:
    values = signals.astype(np.float64)
    values -= values.mean(axis=-1, keepdims=True)
    values /= values.std(axis=-1, ddof=1, keepdims=True)
    return values.astype(np.float32)


def _in_memory(builder: _Builder) -> Cohort:
    blocks = list(builder.blocks())
    return Cohort(
        np.concatenate([padded(block, builder.longest) for block in blocks]),
        builder.samples(),
        builder.scans.regions,
        builder.scans.tr,
        provenance=builder.provenance(),
    )


def _on_disk(builder: _Builder, out: str | os.PathLike[str]) -> Cohort:
    refuse_existing(out)
    with atomic_group(out) as folder:
        writer: CohortWriter | None = None
        blocks = builder.blocks() if builder.one_length else _of_unknown_length(builder, folder)
        for block in blocks:
            writer = writer or CohortWriter(folder, *block.shape[1:])
            writer.append(block)
        if writer is None:  # blocks() raises when nothing is left, so this cannot happen
            raise InputError("No sample is left after the checks.")
        writer.finish(
            builder.samples(), builder.scans.regions, builder.scans.tr, builder.provenance()
        )
    return Cohort.open(out)


def _of_unknown_length(builder: _Builder, folder: Path) -> Iterator[NDArray[np.float32]]:
    """Yield blocks filled up to the longest, which is known only when all have been seen.

    Until then they wait on disk: one scan at a time is in memory, and each is loaded once.
    """
    with tempfile.TemporaryDirectory(
        dir=folder.parent, prefix=f".{folder.name}-", suffix=".partial"
    ) as waiting:
        files = []
        for number, block in enumerate(builder.blocks()):
            files.append(Path(waiting) / f"{number}.npy")
            np.save(files[-1], block)
        for file in files:
            yield padded(np.load(file, allow_pickle=False), builder.longest)
