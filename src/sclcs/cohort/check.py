"""Look for every problem that would spoil later work: in signals, subjects and labels.

Values may be finite and well-formed and still be no signals of a region: counters, copies, padding,
spikes. What would make an answer wrong is a serious problem; what only may is a note. Limits lie
far outside what 1500 scans of four public data sets show (values beyond 24 robust standard
deviations, correlations of regions above 0.982 and repeated time points do not occur there).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import FEWEST_POINTS_TO_JUDGE, DamagedStoreError, checked, name_first
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.columns import unclear, vague_levels
from sclcs.cohort.design import SignalMarks, looks_like_site
from sclcs.cohort.problems import Problem
from sclcs.cohort.signals import LARGEST_OFFSET, fingerprint, iterate_samples
from sclcs.cohort.tables import class_columns, label_columns, number_columns
from sclcs.cohort.windows import WHOLE_SCAN, Windowing

Floats = NDArray[np.float32]

FEWEST_REPEATED = 3  # time points
SPIKE, LARGE = 1000.0, 100.0  # robust standard deviations from the median
SAME_SIGNAL = 1 - 1e-6  # correlation of regions
OFTEN = 0.25  # share of steps without a change
LONGEST_PLAUSIBLE_TR = 30.0  # seconds


@checked
def check_cohort(cohort: Cohort) -> list[Problem]:
    """Check a cohort completely; all signals are read once.

    Finds damaged data, implausible signals, subjects with one sample, classes with one subject,
    missing values; nothing if all is well.
    """
    sizes = cohort.samples.groupby("subject").size()
    single = [Problem("single-window", str(name), "") for name in sizes.index[sizes == 1]]
    settled = cohort.provenance.get("columns", {})  # when they were imported
    return [*check_content(cohort), *single, *check_labels(cohort.samples, settled)]


def implausible_tr(tr: float | None) -> list[Problem]:
    """Name a repetition time that cannot be seconds."""
    if tr is None or tr <= LONGEST_PLAUSIBLE_TR:
        return []
    return [Problem("implausible-tr", f"{tr:g} s", "")]


def check_content(cohort: Cohort) -> list[Problem]:
    """Read all signals, compare them with the fingerprint, and look for what is implausible."""
    try:
        content = fingerprint(cohort.signals, cohort.samples, cohort.regions, cohort.tr)
        if content != cohort.fingerprint:
            return [Problem("damaged", "the whole cohort", "fingerprint differs from the content")]
        return [*implausible_tr(cohort.tr), *_check_signals(cohort)]
    except DamagedStoreError as error:
        return [Problem("damaged", "signals", str(error))]


def _check_signals(cohort: Cohort) -> list[Problem]:
    problems, alike, marks = [], Lookalikes(), SignalMarks()
    names = np.asarray(cohort.regions)
    samples = cohort.samples
    groups = samples["scan" if "scan" in samples.columns else "subject"].map(str).tolist()
    owners = samples["subject"].map(str).tolist()
    for rows, block in iterate_samples(cohort.signals, cohort.lengths):
        for row, signals, flat in zip(rows, block, constant_regions(block), strict=True):
            name = cohort.sample_ids[row]
            if flat.any():
                detail = name_first(names[flat], limit=3)
                problems.append(Problem("constant-region", name, detail))
                continue
            problems += [
                Problem(kind, name, detail) for kind, detail in _implausible(signals, names)
            ]
            alike.add(name, signals, groups[row])
            marks.add(owners[row], signals)
    return [*problems, *alike.problems(), *looks_like_site(samples, marks)]


def check_labels(table: pd.DataFrame, settled: Collection[str]) -> list[Problem]:
    """Look at the columns of labels; those that are settled have been asked about."""
    problems = []
    for name in label_columns(table):
        doubt = "" if name in settled else unclear(table[name])
        if doubt:
            problems.append(Problem("mixed-column", name, doubt))
        problems += [Problem("vague-level", f"{name}={v}", "") for v in vague_levels(table[name])]
    for name in [*class_columns(table), *number_columns(table)]:
        missing = int(table[name].isna().sum())
        if missing:
            detail = f"{missing} of {len(table)} rows"
            problems.append(Problem("missing-value", name, detail))
    for name in class_columns(table):
        subjects = table.groupby(name)["subject"].nunique()
        problems += [
            Problem("single-member-class", f"{name}={value}", "")
            for value in subjects.index[subjects == 1]
        ]
    return problems


def constant_regions(signals: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Tell which rows of (..., region, time) do not vary over time."""
    return np.asarray(signals.max(axis=-1) == signals.min(axis=-1))


def check_scan(
    scan_id: str,
    signals: Floats,
    regions: Sequence[str],
    windowing: Windowing = WHOLE_SCAN,
) -> list[Problem]:
    """Find what is wrong with one scan (region, time): one thing, or all that is implausible.

    Only the time points that the windowing uses are judged, and no region may be constant inside
    a window.
    """
    if signals.ndim != 2 or signals.shape[0] != len(regions):
        found = " x ".join(map(str, signals.shape))
        return [Problem("region-count", scan_id, f"{found}, expected {len(regions)} regions")]
    found_length, needed = signals.shape[1], windowing.minimum_scan_length
    if found_length < needed:
        return [Problem("too-short", scan_id, f"{found_length} time points, {needed} needed")]
    pieces = windowing.cut(signals)
    names = np.asarray(regions)
    broken = ~np.isfinite(pieces).all(axis=(0, 2))
    if broken.any():
        return [Problem("non-finite", scan_id, name_first(names[broken], limit=3))]
    flat = constant_regions(pieces).any(axis=0)
    if flat.any():
        return [Problem("constant-region", scan_id, name_first(names[flat], limit=3))]
    first = int(windowing.drop_first)
    used = signals[:, first : first + windowing.kept_length(signals.shape[1])]
    return [Problem(kind, scan_id, detail) for kind, detail in _implausible(used, names)]


def _implausible(signals: Floats, names: NDArray[np.str_]) -> Iterator[tuple[str, str]]:
    """Yield the kind and detail of whatever is implausible in one scan (region, time)."""
    n_regions, n_times = signals.shape
    if n_times < FEWEST_POINTS_TO_JUDGE:
        return
    values = signals.astype(np.float64)
    steps = np.diff(values, axis=1)
    counts = (steps > 0).all(axis=1) | (steps < 0).all(axis=1)
    if counts.any() and not counts.all():
        yield "index-region", name_first(names[counts], limit=3)
    frames = np.ascontiguousarray(signals.T).view([("", signals.dtype)] * n_regions)
    repeated = n_times - len(np.unique(frames))
    if repeated >= FEWEST_REPEATED:
        yield "repeated-frames", f"{repeated} of {n_times}"
    yield from _equal_regions(values, names)
    centre = np.median(values, axis=1, keepdims=True)
    spread = 1.4826 * np.median(np.abs(values - centre), axis=1)
    spread[spread == 0] = np.inf
    height = np.abs(values - centre).max(axis=1) / spread
    if height.max() > LARGE:
        worst = int(height.argmax())
        detail = f"{names[worst]}: {height[worst]:.3g} robust standard deviations"
        yield ("spike" if height[worst] > SPIKE else "large-value"), detail
    held = (steps == 0).mean(axis=1)
    if held.max() > OFTEN and repeated < FEWEST_REPEATED:
        yield "flat-stretch", name_first(names[held > OFTEN], limit=3)
    offset = np.abs(values.mean(axis=1)) / np.maximum(values.std(axis=1), np.finfo(float).tiny)
    if offset.max() > LARGEST_OFFSET:
        yield "lost-digits", name_first(names[offset > LARGEST_OFFSET], limit=3)


def _equal_regions(
    values: NDArray[np.float64], names: NDArray[np.str_]
) -> Iterator[tuple[str, str]]:
    """Compare the beginnings of all regions, and then the few that are equal there."""
    begun = _standardised(values[:, :64])
    alike = np.triu(np.abs(begun @ begun.T) > SAME_SIGNAL, 1)
    pairs = [
        f"{names[one]} = {names[other]}"
        for one, other in np.argwhere(alike).tolist()
        if abs(np.corrcoef(values[one], values[other])[0, 1]) > SAME_SIGNAL
    ]
    # Counters are all alike; they have been named.
    if pairs and len(pairs) < len(names) * (len(names) - 1) // 2:
        yield "equal-regions", name_first(pairs, limit=3)


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre rows and bring them to length one; what does not vary is zero."""
    centred = values - values.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0))


class Lookalikes:
    """Find scans that are one and the same, whatever their names, while they stream by.

    Of every scan the first and the last time points of some regions are kept, standardised:
    equal scans correlate at 1 whatever their scale, also if one end of one was cut off.
    """

    REGIONS, POINTS, FEWEST = 16, 64, 100
    SAME = 0.995

    def __init__(self) -> None:
        self._names: list[str] = []
        self._groups: list[str] = []
        self._prints: tuple[list[Floats], list[Floats]] = ([], [])

    def add(self, name: str, signals: Floats, group: str | None = None) -> None:
        """Add a scan (region, time); those of one group (windows of a scan) are not compared."""
        rows = np.linspace(0, len(signals) - 1, min(self.REGIONS, len(signals))).astype(int)
        chosen = signals[rows].astype(np.float64)
        points = min(self.POINTS, chosen.shape[1])
        for kept, part in zip(self._prints, (chosen[:, :points], chosen[:, -points:]), strict=True):
            vector = (_standardised(part) / np.sqrt(len(rows))).ravel()
            kept.append(vector.astype(np.float32))
        self._names.append(name)
        self._groups.append(name if group is None else group)

    def problems(self) -> list[Problem]:
        """Return every scan that equals another one, and pairs that may be one scan."""
        same: dict[int, int] = {}
        similar: dict[tuple[int, int], float] = {}
        groups = np.unique(self._groups, return_inverse=True)[1]
        for prints in self._prints:
            sizes = np.array([len(vector) for vector in prints])
            for size in np.unique(sizes):
                rows = np.flatnonzero(sizes == size)
                vectors = np.stack([prints[row] for row in rows.tolist()])
                limit = self._unlikely(vectors.shape[1])
                for one, other, alike in _pairs(vectors, limit):
                    first, second = int(rows[one]), int(rows[other])
                    if groups[first] == groups[second]:
                        continue
                    if alike >= (self.SAME if vectors.shape[1] >= self.FEWEST else 1 - 1e-6):
                        same.setdefault(second, first)
                        same.setdefault(first, second)
                    else:
                        similar[first, second] = max(alike, similar.get((first, second), 0.0))
        found = [
            Problem("same-scan", self._names[one], f"equals {self._names[other]}")
            for one, other in sorted(same.items())
        ]
        return found + [
            Problem("similar-scan", f"{self._names[i]} and {self._names[k]}", f"r = {alike:.3f}")
            for (i, k), alike in sorted(similar.items())
            if not {i, k} <= same.keys()
        ]

    @staticmethod
    def _unlikely(size: int) -> float:
        """Return a correlation that two scans do not reach by chance, of a million pairs.

        A dozen neighbouring values (in time and between regions) count as one.
        """
        return max(0.7, float(np.tanh(7 / np.sqrt(max(size / 12 - 3, 1)))))


def _pairs(vectors: Floats, limit: float, at_once: int = 1024) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of rows that are more alike than a limit, block by block."""
    for start in range(0, len(vectors), at_once):
        block = vectors[start : start + at_once]
        alike = block @ vectors[start:].T
        for one, other in np.argwhere(alike > limit).tolist():
            if other > one:
                yield start + one, start + other, float(alike[one, other])
