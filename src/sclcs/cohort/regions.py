"""Named sets of regions, and choosing regions by name."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
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
from sclcs.cohort.plausible import constant_regions
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.windows import WHOLE_SCAN, Windowing

__all__ = [
    "ATLAS_SIZES",
    "REGION_SETS",
    "CoverageRule",
    "RegionSet",
    "choose_regions",
    "dosenbach_places",
    "drop_regions",
    "parse_share",
    "region_set",
]


ATLAS_SIZES = {"dosenbach": 160}
"""How many regions the atlases of the named sets have."""

ALL_REGIONS = "all"

# The paper's default-mode regions: number in the Dosenbach-160 atlas and anatomical name.
_DOSENBACH_DEFAULT_MODE = {
    1: "vmPFC",
    4: "mPFC",
    5: "aPFC",
    6: "vmPFC",
    7: "vmPFC",
    11: "vmPFC",
    13: "vmPFC",
    14: "ACC",
    15: "vlPFC",
    17: "sup frontal",
    20: "sup frontal",
    25: "vFC",
    63: "inf temporal",
    72: "inf temporal",
    73: "post cingulate",
    85: "precuneus",
    90: "post cingulate",
    91: "inf temporal",
    93: "post cingulate",
    94: "precuneus",
    100: "sup temporal",
    102: "angular gyrus",
    104: "IPL",
    105: "precuneus",
    108: "post cingulate",
    111: "post cingulate",
    112: "precuneus",
    115: "post cingulate",
    117: "angular gyrus",
    124: "angular gyrus",
    132: "precuneus",
    134: "IPS",
    137: "occipital",
}


@dataclass(frozen=True)
class RegionSet:
    """Some regions of an atlas.

    Parameters
    ----------
    name : str
        Name of the set.
    atlas : str
        The atlas, a key of :data:`ATLAS_SIZES`.
    numbers : tuple of int
        The regions as numbered by the atlas, from 1.
    names : tuple of str
        Their names, in the same order.
    """

    name: str
    atlas: str
    numbers: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.numbers)


def _dosenbach_name(number: int) -> str:
    anatomy = _DOSENBACH_DEFAULT_MODE.get(number)
    return f"dosenbach_{number:03d}" if anatomy is None else f"{anatomy}_{number}"


def _dosenbach_set(name: str, numbers: Sequence[int]) -> RegionSet:
    return RegionSet(name, "dosenbach", tuple(numbers), tuple(map(_dosenbach_name, numbers)))


REGION_SETS = {
    chosen.name: chosen
    for chosen in (
        _dosenbach_set("dosenbach-dmn33", list(_DOSENBACH_DEFAULT_MODE)),
        _dosenbach_set("dosenbach-160", range(1, ATLAS_SIZES["dosenbach"] + 1)),
    )
}
"""The known sets by name."""


@checked
def region_set(name: str) -> RegionSet:
    """Return a named set of regions.

    Parameters
    ----------
    name : str
        ``"dosenbach-dmn33"`` (the paper's 33 default-mode regions) or ``"dosenbach-160"``.

    Returns
    -------
    RegionSet

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
def dosenbach_places(extra: str = "nifti") -> Mapping[str, tuple[float, float, float]]:
    """Return where the regions of the Dosenbach atlas are, by name, in mm of MNI space.

    Parameters
    ----------
    extra : str
        The extra of this package that brings nilearn, which keeps the coordinates in its own
        files; named if it is not installed.

    Returns
    -------
    mapping of str to tuple of float
    """
    datasets = import_extra("nilearn.datasets", extra)
    # Not ordered by network: row i is region i + 1 of the atlas.
    table = datasets.fetch_coords_dosenbach_2010(ordered_regions=False).rois
    points = zip(*(map(float, table[axis]) for axis in "xyz"), strict=True)
    return dict(zip(region_set("dosenbach-160").names, points, strict=True))


def choose_regions(scans: Scans, wanted: str | Sequence[str] | None) -> Scans:
    """Keep some regions of scans.

    Parameters
    ----------
    scans : Scans
        The scans.
    wanted : str or sequence of str or None
        The name of a region set, region names or patterns such as ``"LH_Default_*"`` (a list,
        or one string separated by commas), or None or ``"all"`` for all regions. A set is found
        by the names of its regions; if the scans have as many regions as its atlas under other
        names, by their numbers, and they then get the names of the set.

    Returns
    -------
    Scans
    """
    if wanted is None or wanted == ALL_REGIONS:
        return scans
    if isinstance(wanted, str) and wanted in REGION_SETS:
        return _keep_set(scans, REGION_SETS[wanted])
    names = _words(wanted)
    if not names:
        raise InputError("Expected a region set or region names, got none.")
    return scans.keep_regions(_matching(scans, names))


def drop_regions(scans: Scans, unwanted: str | Sequence[str]) -> Scans:
    """Leave out some regions of scans.

    Parameters
    ----------
    scans : Scans
        The scans.
    unwanted : str or sequence of str
        Names or patterns (``"*Limbic*"``); a list, or one string separated by commas. Each
        must match a region.

    Returns
    -------
    Scans
    """
    dropped = set(_matching(scans, _words(unwanted)))
    kept = [name for name in scans.regions if name not in dropped]
    if not kept:
        raise InputError(
            f"Expected at least one region to be left, but {unwanted!r} drops all "
            f"{len(scans.regions)}; choose fewer."
        )
    record = [name for name in scans.regions if name in dropped]
    provenance = {**scans.provenance, "regions_unwanted": record}
    chosen = scans.keep_regions(kept)
    return chosen.with_scans(list(chosen), provenance=provenance)


def _words(names: str | Sequence[str]) -> list[str]:
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return [word for name in names for word in _words(str(name))]


def _matching(scans: Scans, patterns: Sequence[str]) -> list[str]:
    """Return the regions that names and patterns mean, in the order they are asked for."""
    plain = [name for name in patterns if not _is_pattern(name) or name in scans.regions]
    _require_known(scans, plain)
    found: dict[str, None] = {}
    for pattern in patterns:
        matches = [pattern] if pattern in plain else fnmatch.filter(scans.regions, pattern)
        if not matches:
            raise UnknownNameError(
                f"No region matches {pattern!r}; the scans have {name_first(scans.regions, 10)}."
            )
        found |= dict.fromkeys(matches)
    return list(found)


def _is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


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
    return kept.with_scans(list(kept), regions=chosen.names)


def _require_known(scans: Scans, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in scans.regions]
    if unknown:
        known = [*REGION_SETS, *scans.regions]
        raise UnknownNameError(
            f"Expected a region set ({', '.join(REGION_SETS)}) or names of regions of the scans "
            f"({name_first(scans.regions)}), got unknown {name_first(unknown)}."
            f"{did_you_mean(unknown[0], known)}"
        )


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
    most_regions : float
        If more than this share of the regions would be left out, none is.
    """

    min_coverage: float = 0.0
    max_missing_subjects: float | int | None = None
    most_regions: float = 1.0

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
        if self.most_regions < 1 and not 0 < len(dropped) <= self.most_regions * len(subjects):
            return scans
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
