"""Named sets of regions, choosing regions by name, and regions that scans do not cover."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    checked,
    did_you_mean,
    import_extra,
    name_first,
    track,
)
from sclcs.cohort.check import constant_regions
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.windows import WHOLE_SCAN, Windowing

#: How many regions the atlases of the named sets have.
ATLAS_SIZES = {"dosenbach": 160}

#: The paper's default-mode regions: number in the Dosenbach-160 atlas and anatomical name.
_DOSENBACH_DEFAULT_MODE = {
    1: "vmPFC", 4: "mPFC", 5: "aPFC", 6: "vmPFC", 7: "vmPFC", 11: "vmPFC", 13: "vmPFC", 14: "ACC",
    15: "vlPFC", 17: "sup frontal", 20: "sup frontal", 25: "vFC", 63: "inf temporal",
    72: "inf temporal", 73: "post cingulate", 85: "precuneus", 90: "post cingulate",
    91: "inf temporal", 93: "post cingulate", 94: "precuneus", 100: "sup temporal",
    102: "angular gyrus", 104: "IPL", 105: "precuneus", 108: "post cingulate",
    111: "post cingulate", 112: "precuneus", 115: "post cingulate", 117: "angular gyrus",
    124: "angular gyrus", 132: "precuneus", 134: "IPS", 137: "occipital",
}  # fmt: skip


@dataclass(frozen=True)
class RegionSet:
    """Some regions of an atlas, as it numbers them (from 1) and by name."""

    name: str
    atlas: str
    numbers: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.numbers)


def _dosenbach_set(name: str, numbers: Sequence[int]) -> RegionSet:
    names = [
        f"{_DOSENBACH_DEFAULT_MODE[n]}_{n}"
        if n in _DOSENBACH_DEFAULT_MODE
        else f"dosenbach_{n:03d}"
        for n in numbers
    ]
    return RegionSet(name, "dosenbach", tuple(numbers), tuple(names))


#: The known sets by name.
REGION_SETS = {
    chosen.name: chosen
    for chosen in (
        _dosenbach_set("dosenbach-dmn33", list(_DOSENBACH_DEFAULT_MODE)),
        _dosenbach_set("dosenbach-160", range(1, ATLAS_SIZES["dosenbach"] + 1)),
    )
}


@checked
def region_set(name: str) -> RegionSet:
    """Return ``"dosenbach-dmn33"`` (the paper's 33 default-mode regions) or ``"dosenbach-160"``.

    Examples
    --------
    >>> region_set("dosenbach-dmn33").names[:3]
    ('vmPFC_1', 'mPFC_4', 'aPFC_5')
    """
    if name not in REGION_SETS:
        raise UnknownNameError(
            f"Unknown region set {name!r}; known sets are {', '.join(REGION_SETS)}."
            f"{did_you_mean(name, REGION_SETS)}"
        )
    return REGION_SETS[name]


@cache
def dosenbach_coordinates(extra: str = "nifti") -> Mapping[str, tuple[float, float, float]]:
    """Return the centres of the Dosenbach regions by name, in mm of MNI space.

    They are in nilearn's own files; the extra that brings it is named if it is not installed.
    """
    datasets = import_extra("nilearn.datasets", extra)
    # Not ordered by network: row i is region i + 1 of the atlas.
    table = datasets.fetch_coords_dosenbach_2010(ordered_regions=False).rois
    points = zip(*(map(float, table[axis]) for axis in "xyz"), strict=True)
    return dict(zip(region_set("dosenbach-160").names, points, strict=True))


def choose_regions(scans: Scans, wanted: str | Sequence[str] | None) -> Scans:
    """Keep some regions of scans: a region set, names or patterns (``"LH_Default_*"``), or all.

    A set is found by the names of its regions; if the scans have as many regions as its atlas under
    other names, by their numbers, and they then get the names of the set.
    """
    names = _words("all" if wanted is None else wanted)
    if names == ["all"]:
        return scans
    if len(names) == 1 and names[0] in REGION_SETS:
        return _keep_set(scans, REGION_SETS[names[0]])
    if not names:
        raise InputError("Expected a region set or region names, got none.")
    return scans.keep_regions(_matching(scans, names))


def _keep_set(scans: Scans, chosen: RegionSet) -> Scans:
    if set(chosen.names) <= set(scans.regions):
        return scans.keep_regions(chosen.names)
    size = ATLAS_SIZES[chosen.atlas]
    if len(scans.regions) != size:
        raise InputError(
            f"The region set {chosen.name} needs its {len(chosen)} regions by name, or all {size} "
            f"regions of the {chosen.atlas} atlas in order; the scans have {len(scans.regions)} "
            f"regions: {name_first(scans.regions)}. Name regions with --regions a,b,c."
        )
    kept = scans.keep_regions([scans.regions[number - 1] for number in chosen.numbers])
    return kept.with_scans(kept, regions=chosen.names)


def drop_regions(scans: Scans, unwanted: str | Sequence[str]) -> Scans:
    """Leave out regions by names or patterns (``"*Limbic*"``), each of which must match one."""
    dropped = set(_matching(scans, _words(unwanted)))
    kept = [name for name in scans.regions if name not in dropped]
    if not kept:
        raise InputError(
            f"Expected at least one region to be left, but {unwanted!r} drops all "
            f"{len(scans.regions)}; choose fewer."
        )
    record = [name for name in scans.regions if name in dropped]
    provenance = {**scans.provenance, "regions_unwanted": record}
    return scans.with_scans(scans, provenance=provenance).keep_regions(kept)


def _words(names: str | Sequence[str]) -> list[str]:
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return [word for name in names for word in _words(str(name))]


def _matching(scans: Scans, patterns: Sequence[str]) -> list[str]:
    """Return the regions that names and patterns mean, in the order they are asked for."""
    found: dict[str, None] = {}
    for pattern in patterns:
        is_pattern = any(character in pattern for character in "*?[")
        if pattern in scans.regions:
            found[pattern] = None
        elif is_pattern and (matches := fnmatch.filter(scans.regions, pattern)):
            found |= dict.fromkeys(matches)
        elif is_pattern:
            raise UnknownNameError(
                f"No region matches {pattern!r}; the scans have {name_first(scans.regions, 10)}."
            )
        else:
            unknown = [name for name in patterns if name not in scans.regions]
            raise UnknownNameError(
                f"Expected a region set ({', '.join(REGION_SETS)}) or names of regions of the "
                f"scans ({name_first(scans.regions)}), got unknown {name_first(unknown)}."
                f"{did_you_mean(pattern, [*REGION_SETS, *scans.regions])}"
            )
    return list(found)


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


def drop_uncovered(
    scans: Scans,
    windowing: Windowing = WHOLE_SCAN,
    *,
    min_coverage: float = 0.0,
    most_subjects: float | int | None = None,
    most_regions: float = 1.0,
) -> Scans:
    """Leave out regions that too many subjects miss; all scans are loaded once.

    A region is missing in a scan that covers less of it than `min_coverage` (XCP-D and HALFpipe say
    how much), or where it is NaN or constant in the part that is used. One that is missing in a
    larger share (float) or number (int) of the subjects is left out of all scans, and stands in the
    provenance. If more than `most_regions` of the regions would go, none does. Where a scan covers
    too little of another region, the signal of that region becomes NaN, so that it is reported.
    """
    missing = []
    lacking: dict[str, set[str]] = {name: set() for name in scans.regions}
    for scan in track(scans, "Looking at coverage"):
        covered = scan.coverage() if scan.coverage is not None else {}
        too_little = {name for name, share in covered.items() if not share >= min_coverage}
        missing.append(too_little & set(scans.regions) | _silent(scan, scans, windowing))
        for name in missing[-1]:
            lacking[name].add(scan.subject)
    n_subjects, n_regions = len({scan.subject for scan in scans}), len(scans.regions)
    limit = np.inf if most_subjects is None else most_subjects
    limit = limit * n_subjects if isinstance(limit, float) else limit
    dropped = [name for name in scans.regions if len(lacking[name]) > limit]
    if most_regions < 1 and not 0 < len(dropped) <= most_regions * n_regions:
        return scans
    kept = [name for name in scans.regions if name not in set(dropped)]
    if len(kept) < 2:
        raise InputError(
            f"Expected at least 2 regions that most subjects cover, but {len(dropped)} of "
            f"{n_regions} are missing in more than {limit:.3g} of {n_subjects} subjects: "
            f"{name_first(dropped)}; raise --max-missing-subjects or lower --min-coverage."
        )
    table = [{"region": name, "subjects_missing": len(lacking[name])} for name in dropped]
    record = {
        "min_coverage": min_coverage,
        "max_missing_subjects": most_subjects,
        "subjects": n_subjects,
        "regions_dropped": table,
    }
    chosen = scans.keep_regions(kept) if dropped else scans
    marked = [
        _without(scan, [row for row, name in enumerate(kept) if name in names])
        for scan, names in zip(chosen, missing, strict=True)
    ]
    return chosen.with_scans(marked, provenance={**scans.provenance, "coverage": record})


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
    return replace(scan, load=partial(_blanked, scan.load, rows))


def _blanked(load: Callable[[], NDArray[Any]], rows: list[int]) -> NDArray[np.float32]:
    signals = np.array(load(), dtype=np.float32)
    if signals.ndim == 2 and len(signals) > max(rows):
        signals[rows] = np.nan
    return signals
