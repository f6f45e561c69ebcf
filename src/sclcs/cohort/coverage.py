"""Regions that some scans do not cover: which, in how many subjects, and leaving them out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.quality import constant_regions
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.windows import WHOLE_SCAN, Windowing
from sclcs.core.errors import InputError, UnreadableFileError, name_first
from sclcs.core.progress import track

__all__ = ["CoverageRule", "parse_share"]


def parse_share(text: str) -> float | int:
    """Read a share of subjects (``5%``, ``0.05``) or a number of them (``3``).

    Examples
    --------
    >>> parse_share("5%"), parse_share("0.05"), parse_share("3")
    (0.05, 0.05, 3)
    """
    bare = text.strip()
    try:
        if bare.endswith("%"):
            value: float | int = float(bare[:-1]) / 100
        else:
            value = int(bare) if bare.isdigit() else float(bare)
    except ValueError:
        value = float("nan")
    if not value >= 0 or (isinstance(value, float) and value > 1):
        raise InputError(
            f"Expected a share of the subjects (5%, 0.05) or a number of them (3), got {text!r}."
        )
    return value


@dataclass(frozen=True)
class CoverageRule:
    """When a region is missing in a scan, and when it is left out for everybody.

    Parameters
    ----------
    min_coverage : float
        A region is missing in a scan that covers less of it, where the pipeline tells how
        much it covers (XCP-D does). A region that is NaN or constant in the part of the
        scan that is used is always missing.
    max_missing_subjects : float or int, optional
        A region that is missing in a larger share (float) or number (int) of the subjects is
        left out for everybody. A scan that lacks another region is a bad scan.
    """

    min_coverage: float = 0.0
    max_missing_subjects: float | int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.min_coverage <= 1:
            raise InputError(
                f"Expected a minimum coverage from 0 to 1 (0.5 is half of a region's voxels), "
                f"got {self.min_coverage:g}."
            )

    def __bool__(self) -> bool:
        return self.min_coverage > 0 or self.max_missing_subjects is not None

    def apply(self, scans: Scans, windowing: Windowing = WHOLE_SCAN) -> Scans:
        """Leave out regions that too many subjects miss.

        Parameters
        ----------
        scans : Scans
            All are loaded once.
        windowing : Windowing
            Which part of a scan is used.

        Returns
        -------
        Scans
            Without these regions. Where a scan covers too little of another region, the
            signal of that region is NaN, so that the scan is reported. The provenance has
            the table `regions_dropped`.
        """
        if not self:
            return scans
        missing = {
            number: self._missing(scan, scans, windowing)
            for number, scan in enumerate(track(scans, "Looking at coverage"))
        }
        subjects = self._subjects_missing(scans, missing)
        n_subjects = len({scan.subject for scan in scans})
        dropped = [name for name in scans.regions if self._too_many(subjects[name], n_subjects)]
        kept = [name for name in scans.regions if name not in set(dropped)]
        if len(kept) < 2:
            raise InputError(
                f"Expected at least 2 regions that most subjects cover, but {len(dropped)} of "
                f"{len(scans.regions)} are missing in more than {self._limit_text()} of "
                f"{n_subjects} subjects: {name_first(dropped)}; raise --max-missing-subjects or "
                "lower --min-coverage."
            )
        table = [{"region": name, "subjects_missing": subjects[name]} for name in dropped]
        record = {
            "min_coverage": self.min_coverage,
            "max_missing_subjects": self.max_missing_subjects,
            "subjects": n_subjects,
            "regions_dropped": table,
        }
        chosen = scans.keep_regions(kept) if dropped else scans
        place = {name: row for row, name in enumerate(kept)}
        marked = [
            _without(scan, [place[name] for name in missing[number] if name in place])
            for number, scan in enumerate(chosen)
        ]
        return chosen.with_scans(marked, provenance={**scans.provenance, "coverage": record})

    def _missing(self, scan: Scan, scans: Scans, windowing: Windowing) -> list[str]:
        covered = scan.coverage() if scan.coverage is not None else {}
        too_little = {name for name, share in covered.items() if not share >= self.min_coverage}
        gone = too_little | _silent(scan, scans, windowing)
        return [name for name in scans.regions if name in gone]

    def _subjects_missing(
        self, scans: Scans, missing: Mapping[int, Collection[str]]
    ) -> dict[str, int]:
        who: dict[str, set[str]] = {name: set() for name in scans.regions}
        for number, scan in enumerate(scans):
            for name in missing[number]:
                who[name].add(scan.subject)
        return {name: len(subjects) for name, subjects in who.items()}

    def _too_many(self, missing: int, n_subjects: int) -> bool:
        limit = self.max_missing_subjects
        if limit is None:
            return False
        return missing > (limit if isinstance(limit, int) else limit * n_subjects)

    def _limit_text(self) -> str:
        limit = self.max_missing_subjects
        return f"{limit:.3g}" if isinstance(limit, int) else f"{100 * (limit or 0):.3g}%"


def _silent(scan: Scan, scans: Scans, windowing: Windowing) -> set[str]:
    """Return the regions of a scan that are NaN or constant in a window."""
    try:
        signals = scan.signals()
    except UnreadableFileError:
        return set()  # reported when the cohort is built
    if signals.ndim != 2 or signals.shape[0] != len(scans.regions):
        return set()
    pieces = windowing.at(scans.repetition_time(scan)).cut(signals)
    if not len(pieces):
        return set()
    bad = (~np.isfinite(pieces)).any(axis=(0, 2)) | constant_regions(pieces).any(axis=0)
    return {scans.regions[row] for row in np.flatnonzero(bad)}


def _without(scan: Scan, rows: list[int]) -> Scan:
    if not rows or scan.coverage is None:
        return scan
    return replace(scan, load=partial(_blanked, scan.load, np.array(rows)))


def _blanked(load: Callable[[], NDArray[Any]], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    signals = np.array(load(), dtype=np.float32)
    if signals.ndim == 2 and len(signals) > rows.max():
        signals[rows] = np.nan
    return signals
