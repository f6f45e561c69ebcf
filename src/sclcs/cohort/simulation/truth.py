"""The effects a simulated cohort was made from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import DamagedStoreError, name_first
from sclcs.store import create_array, read_array

if TYPE_CHECKING:
    import zarr

__all__ = ["GroundTruth", "read_truth", "write_truth"]

GROUP = "truth"
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class GroundTruth:
    """Effects on the connectivity of a simulated cohort.

    Parameters
    ----------
    subjects, sites, groups : tuple of str
        Names along the first axis of the effects.
    population : ndarray, shape (region, region)
        Connectivity shared by everybody: a correlation matrix, before measurement noise.
    subject_effects, site_effects, group_effects : ndarray, shape (name, region, region)
        Deviations of each subject, site and diagnostic group: the change of the Fisher-z
        connectivity that each alone makes to the population.
    """

    subjects: tuple[str, ...]
    sites: tuple[str, ...]
    groups: tuple[str, ...]
    population: Floats
    subject_effects: Floats
    site_effects: Floats
    group_effects: Floats

    def keep_regions(self, regions: NDArray[np.int64]) -> GroundTruth:
        """Return the effects between some regions."""
        pick = np.ix_(regions, regions)
        return GroundTruth(
            self.subjects,
            self.sites,
            self.groups,
            self.population[pick],
            self.subject_effects[:, pick[0], pick[1]],
            self.site_effects[:, pick[0], pick[1]],
            self.group_effects[:, pick[0], pick[1]],
        )


_NAME_LISTS = ("subjects", "sites", "groups")
_ARRAY_NAMES = [field.name for field in fields(GroundTruth) if field.name not in _NAME_LISTS]


def write_truth(parent: zarr.Group, truth: GroundTruth) -> None:
    """Write the effects as the sub-group ``truth``."""
    group = parent.create_group(GROUP)
    group.update_attributes({key: list(getattr(truth, key)) for key in _NAME_LISTS})
    for name in _ARRAY_NAMES:
        values: Floats = getattr(truth, name)
        lead = (name.removesuffix("_effects"),) if values.ndim == 3 else ()
        array = create_array(
            group,
            name,
            values.shape,
            np.float32,
            chunks=values.shape,
            dimensions=(*lead, "region", "other_region"),
        )
        array[...] = values


def read_truth(parent: zarr.Group) -> GroundTruth | None:
    """Read the effects, or return None if the cohort is not a simulated one."""
    if GROUP not in parent:
        return None
    group = parent[GROUP]
    attrs: dict[str, Any] = dict(group.attrs)
    content: dict[str, Any] = {key: tuple(attrs[key]) for key in _NAME_LISTS}
    content |= {name: read_array(group[name]) for name in _ARRAY_NAMES}  # type: ignore[index, arg-type]
    gone = [name for name in _ARRAY_NAMES if not np.isfinite(content[name]).all()]
    if gone:  # a chunk that is not there is read as NaN
        raise DamagedStoreError(f"{name_first(gone)} of the truth: a chunk file is gone")
    return GroundTruth(**content)
