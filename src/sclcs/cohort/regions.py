"""Named sets of regions, and choosing regions by name."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from sclcs.cohort.scans import Scans
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, UnknownNameError, did_you_mean, name_first
from sclcs.core.optional import import_extra

__all__ = [
    "ATLAS_SIZES",
    "REGION_SETS",
    "RegionSet",
    "choose_regions",
    "dosenbach_places",
    "drop_regions",
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
