"""From scans to a cohort: check, cut, scale, and drop or refuse what is bad."""

from __future__ import annotations

import math
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
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
    atomic_directory,
    atomic_group,
    checked,
    name_first,
    refuse_existing,
    track,
)
from sclcs.cohort.check import Lookalikes, check_labels, check_scan, implausible_tr
from sclcs.cohort.cohort import Cohort, check_tr
from sclcs.cohort.columns import with_columns
from sclcs.cohort.labels import MEAN_FD
from sclcs.cohort.problems import NEVER_SKIPPED, Problem, explain, raise_for
from sclcs.cohort.regions import drop_regions, drop_uncovered, parse_share
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.signals import LENGTH_COLUMN, iterate_rows, padded
from sclcs.cohort.storage import CohortWriter
from sclcs.cohort.windows import Windowing, parse_extent
from sclcs.settings import CutSettings

FEWEST_REGIONS = 2
MOST_UNCOVERED = 0.1  # of the regions are left out without being asked, where few scans lack them
LARGEST_FACTOR = 1000  # ratios of repetition times are fractions of such numbers: 2.2 / 1.656


def make_cohort(
    scans: Scans, asked: CutSettings, out: str | os.PathLike[str] | None = None
) -> Cohort:
    """Choose regions and scans, cut them, and write the cohort (or keep it in memory)."""
    windowing = _windowing(asked)
    if out is not None:
        refuse_existing(Path(out))
    scans = _prepared(scans, asked, windowing)
    if len(scans.regions) < FEWEST_REGIONS:
        raise InputError(
            f"Expected at least {FEWEST_REGIONS} regions, found {len(scans.regions)}: operators "
            "compare pairs of regions; check the source, or choose the other --layout."
        )
    known = scans.problems if asked.on_bad == "error" else [
        problem for problem in scans.problems if problem.kind in NEVER_SKIPPED
    ]  # fmt: skip
    raise_for(known)
    if not len(scans):
        raise_for(scans.problems)
        raise InputError("Expected at least one scan, found none; check the source and filters.")
    if asked.mixed_tr == "error":
        _refuse_mixed_tr(scans, windowing)
    builder = _Builder(scans, windowing, asked)
    try:
        return _written(builder, out)
    except _SameScanError as found:  # which of them is right is not known: all are left out
        left_out = {problem.where for problem in found.problems}
        kept = [scan for scan in scans if scan.scan_id not in left_out]
        scans = scans.with_scans(kept, problems=[*scans.problems, *found.problems])
        return _written(_Builder(scans, windowing, asked), out)


def _prepared(scans: Scans, asked: CutSettings, windowing: Windowing) -> Scans:
    """Choose scans and regions, and settle what labels mean."""
    if asked.drop_regions:
        scans = drop_regions(scans, asked.drop_regions)
    if asked.max_fd is not None:
        scans = without_motion(scans, asked.max_fd)
    if asked.resample is not None:
        scans = resample_scans(scans, asked.resample)
    raise_for(implausible_tr(check_tr(scans.tr)))
    scans = with_columns(scans, asked.levels, asked.missing)
    most = None if asked.max_missing_subjects is None else parse_share(asked.max_missing_subjects)
    if asked.min_coverage or most is not None:
        least = asked.min_coverage
        return drop_uncovered(scans, windowing, min_coverage=least, most_subjects=most)
    if asked.on_bad == "error" and any(scan.coverage for scan in scans):
        return drop_uncovered(scans, windowing, most_subjects=0, most_regions=MOST_UNCOVERED)
    return scans


@checked
def check_scans(scans: Scans, window: str | None = None, drop_first: str = "0") -> list[Problem]:
    """Check scans before they are cut: what an import would refuse, ask or note.

    Every scan is loaded once; `window` and `drop_first` say how they will be cut.
    """
    asked = CutSettings(window=window, drop_first=drop_first, on_bad="skip")
    early = implausible_tr(scans.tr)
    read = with_columns(scans)
    builder = _Builder(read, _windowing(asked), asked)
    for _ in builder.cut():
        pass
    found = [*early, *builder.problems, *builder.doubts, *builder.alike.problems()]
    return [*found, *check_labels(read.table, read.provenance.get("columns", {}))]


def _windowing(asked: CutSettings) -> Windowing:
    window, stride, truncate = (
        None if text is None else parse_extent(text)
        for text in (asked.window, asked.stride, asked.truncate)
    )
    if stride is not None and window is None:
        raise InputError("A stride goes from window to window; give the length with --window too.")
    return Windowing(window, stride, truncate, parse_extent(asked.drop_first))


def without_motion(scans: Scans, max_fd: float) -> Scans:
    """Leave scans out whose mean framewise displacement is above a limit in mm, or unknown."""
    moved = {scan.scan_id: _displacement(scan) for scan in scans}
    if all(value is None for value in moved.values()):
        raise InputError(
            "A limit of motion needs the column mean_fd, but no scan has it: it is read from "
            "motion.tsv and confounds.tsv files and from tables of labels."
        )
    left_out = {
        name: "unknown" if value is None else f"{value:.3g} mm"
        for name, value in moved.items()
        if value is None or value > max_fd
    }
    problems = [
        Problem("high-motion", name, f"mean_fd {found}, limit {max_fd:g} mm")
        for name, found in left_out.items()
    ]
    kept = [scan for scan in scans if scan.scan_id not in left_out]
    provenance = {**scans.provenance, "max_fd": max_fd}
    return scans.with_scans(kept, provenance=provenance, problems=[*scans.problems, *problems])


def _displacement(scan: Scan) -> float | None:
    value = scan.metadata.get(MEAN_FD)
    if value is None or isinstance(value, str) or not math.isfinite(float(value)):
        return None
    return float(value)


def _refuse_mixed_tr(scans: Scans, windowing: Windowing) -> None:
    """Raise if scans differ in their repetition time and samples would differ in duration.

    Windows in seconds last equally long in all scans and are fine. Whole scans are not asked to
    last equally long; and whoever truncates to a number of time points (the paper: 210) has said
    that time points are meant. Both are noted, not refused.
    """
    found = _repetition_times(scans)
    free = windowing.length is None or windowing.in_seconds or windowing.truncate is not None
    if len(found) < 2 or free:
        return
    times = [f"{tr:g} s ({len(found[tr])} scans, such as {found[tr][0]})" for tr in sorted(found)]
    usual = max(found, key=lambda tr: len(found[tr]))
    raise InputError(
        f"Expected one repetition time, found {len(found)}: {name_first(times)}; a number of time "
        f"points is not the same time in all of them: resample (--resample {usual:g}), "
        "cut windows in seconds (--window 140s), or accept it with --mixed-tr keep "
        "(mixed_tr='keep')."
    )


def _repetition_times(scans: Scans) -> dict[float, list[str]]:
    found: dict[float, list[str]] = defaultdict(list)
    for scan in scans:
        seconds = scans.repetition_time(scan)
        if seconds is not None:
            found[seconds].append(scan.scan_id)
    return found


def resample_scans(scans: Scans, tr: float) -> Scans:
    """Bring all scans to one repetition time in seconds.

    Signals are resampled when they are loaded, by a polyphase filter that removes what
    the new rate cannot hold (``scipy.signal.resample_poly``).
    """
    times = {scan.scan_id: scans.repetition_time(scan) for scan in scans}
    unknown = [name for name, seconds in times.items() if seconds is None]
    if unknown:
        raise InputError(
            f"Resampling needs the repetition time of every scan; it is not known for "
            f"{name_first(unknown)}; give it with --tr (tr=...)."
        )
    changed = []
    for scan in scans:
        old = times[scan.scan_id] or tr
        same = np.isclose(old, tr, rtol=1e-6)
        changed.append(scan if same else replace(scan, load=partial(_load, scan.load, old, tr)))
    provenance = {**scans.provenance, "resampled_to": tr}
    return scans.with_scans(changed, provenance=provenance).at_tr(tr)


def _load(load: Callable[[], NDArray[Any]], old: float, new: float) -> NDArray[np.float64]:
    from scipy.signal import resample_poly

    ratio = Fraction(old / new).limit_denominator(LARGEST_FACTOR)
    signals = np.asarray(load(), dtype=np.float64)
    # The line through both ends is taken out first: a step from end to beginning would ring.
    return np.asarray(
        resample_poly(signals, ratio.numerator, ratio.denominator, axis=-1, padtype="line")
    )


class _SameScanError(Exception):
    """Some scans are equal, which is known when all have been read."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.problems = problems


class _Builder:
    """Goes through the scans once and collects samples, metadata and problems."""

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

    def cut(self) -> Iterator[NDArray[np.float32]]:
        """Yield the windows of each good scan (window, region, time) at their own length."""
        for scan in track(self.scans, "Preparing scans"):
            windows = self._windows_of(scan)
            if windows is not None:
                yield windows

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield the windows of all good scans, and raise in the end what cannot be accepted."""
        yield from self.cut()
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
        windows = windowing.cut(signals)
        self.lengths += [windows.shape[2]] * len(windows)
        whole = windowing.length is None
        starts = windowing.starts(signals.shape[1]) + int(windowing.drop_first)
        self.rows += [
            {
                "sample_id": scan.scan_id if whole else f"{scan.scan_id}_w{number}",
                "subject": scan.subject,
                "window": number,
                "scan": scan.scan_id,
                "start": int(start),
                **scan.metadata,
            }
            for number, start in enumerate(starts)
        ]
        return windows

    def samples(self) -> pd.DataFrame:
        """Return the metadata of all samples kept, with their lengths if these differ."""
        table = pd.DataFrame(self.rows).set_index("sample_id")
        if len(set(self.lengths)) > 1:
            table.insert(list(table.columns).index("start") + 1, LENGTH_COLUMN, self.lengths)
        return table

    def _mixed_tr_note(self) -> list[str]:
        found = _repetition_times(self.scans)
        effect = "the same number of time points is not the same time in all scans"
        effect = "windows differ in time points" if self.windowing.in_seconds else effect
        times = ", ".join(f"{tr:g}" for tr in sorted(found))
        note = f"Repetition times differ ({times} s): {effect}, and bands in Hz differ."
        return [note] if len(found) > 1 else []

    def provenance(self) -> dict[str, Any]:
        """Return where the cohort comes from and what was done to it."""
        notes = [
            *self.scans.provenance.get("notes", ()),
            *self._mixed_tr_note(),
            *([explain(self.doubts)] if self.doubts else []),
        ]
        return {
            **self.scans.provenance,
            "windowing": self.windowing.to_dict(),
            "on_bad": self.asked.on_bad,
            "n_scans_found": len(self.scans),
            **({"notes": notes} if notes else {}),
            "excluded": [problem.to_dict() for problem in self.problems],
        }


def _written(builder: _Builder, out: str | os.PathLike[str] | None) -> Cohort:
    scans = builder.scans
    if out is None:
        blocks = [*builder.blocks()]  # before the rest is asked for
        signals = np.concatenate([padded(block, builder.longest) for block in blocks])
        provenance = builder.provenance()
        return Cohort(signals, builder.samples(), scans.regions, scans.tr, provenance=provenance)
    refuse_existing(out)
    with atomic_group(out) as folder:
        writer: CohortWriter | None = None
        found = builder.blocks() if builder.one_length else _of_unknown_length(builder, folder)
        for block in found:
            writer = writer or CohortWriter(folder, *block.shape[1:])
            writer.append(block)
        if writer is None:  # blocks() raises when nothing is left, so this cannot happen
            raise InputError("No sample is left after the checks.")
        writer.finish(builder.samples(), scans.regions, scans.tr, builder.provenance())
    return Cohort.open(out)


def _of_unknown_length(builder: _Builder, folder: Path) -> Iterator[NDArray[np.float32]]:
    """Yield blocks filled up to the longest, which is known only when all have been read.

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


def join_cohorts(parts: Mapping[str, Cohort], out: str | os.PathLike[str]) -> Cohort:
    """Write cohorts of the same regions as one, sample by sample, into a new folder.

    Samples must have different ids. The provenance names the fingerprint of every part.
    """
    _check_alike(parts)
    refuse_existing(out)
    cohorts = list(parts.values())
    first, longest = cohorts[0], max(cohort.n_timepoints for cohort in cohorts)
    tables = [cohort.samples for cohort in cohorts]
    if len({int(length) for cohort in cohorts for length in cohort.lengths}) > 1:
        tables = [cohort.samples.assign(**{LENGTH_COLUMN: cohort.lengths}) for cohort in cohorts]
    fingerprints = {name: cohort.fingerprint for name, cohort in parts.items()}
    provenance = {"source": "joined cohorts", "parts": fingerprints}
    with atomic_directory(out) as folder:
        writer = CohortWriter(folder, first.n_regions, longest)
        for cohort in track(cohorts, "Joining cohorts"):
            for block in iterate_rows(cohort.signals):
                writer.append(padded(block, longest))
        writer.finish(pd.concat(tables), first.regions, first.tr, provenance)
    return Cohort.open(out)


def _check_alike(parts: Mapping[str, Cohort]) -> None:
    if not parts:
        raise InputError("Expected at least one cohort to join, found none.")
    first_name, first = next(iter(parts.items()))
    for name, cohort in parts.items():
        for what, own, others in (
            ("regions", tuple(cohort.regions), tuple(first.regions)),
            ("repetition time", cohort.tr, first.tr),
        ):
            if own != others:
                raise InputError(
                    f"{name} has other {what} than {first_name}; make both "
                    "with the same atlas and settings."
                )
    ids = pd.Index([name for cohort in parts.values() for name in cohort.sample_ids])
    if ids.has_duplicates:
        twice = name_first(sorted(set(ids[ids.duplicated()])))
        raise InputError(f"Samples occur in more than one cohort: {twice}.")
