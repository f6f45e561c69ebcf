"""Who is in a simulated cohort: sites, groups, subjects and their facts.

A subject is named by site, group and number, and everything about it is drawn from that
name. So the same subject comes out of a cohort of ten and of a cohort of ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    DamagedStoreError,
    InputError,
    checked,
    create_array,
    generator,
    name_first,
    read_array,
    require_memory,
)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.simulation.signals import (
    Anatomy,
    Effects,
    Motion,
    Scanner,
    correlation_of,
    fisher_change,
    mixing_matrix,
    population_anatomy,
)

if TYPE_CHECKING:
    import zarr

__all__ = [
    "PAPER_GROUPS",
    "PAPER_SITES",
    "GroundTruth",
    "Subject",
    "enrol",
    "read_truth",
    "simulate_cohort",
    "write_truth",
]


PAPER_GROUPS = ("HC", "MDD")

# Subjects per site and group of the paper's cohort (446 controls, 458 patients).
PAPER_SITES: Mapping[str, tuple[int, int]] = {
    "15": (37, 30),
    "17": (41, 41),
    "19": (31, 18),
    "20": (229, 250),
    "21": (65, 79),
    "22": (20, 18),
    "23": (23, 22),
}
_PAPER_GROUP_SHARE = (446 / 904, 458 / 904)
_PAPER_MALE_SHARE = 330 / 904
_PAPER_AGES = (18, 65)


@dataclass(frozen=True)
class Subject:
    """One simulated subject and what is known about it."""

    name: str
    site: str
    group: str
    age: int
    sex: str


def enrol(
    subjects: int,
    sites: int | Mapping[str, float] | None,
    groups: Sequence[str],
    seed: int,
) -> list[Subject]:
    """Distribute subjects over sites and groups.

    Parameters
    ----------
    subjects : int
        Number of subjects.
    sites : int, mapping or None
        The number of sites of equal size; or the relative size of each site by name; or
        None for the paper's seven sites. Sizes are scaled by largest remainder.
    groups : sequence of str
        Diagnostic groups. Two groups have the paper's proportion, other numbers equal
        shares.
    seed : int
        For age and sex.

    Returns
    -------
    list of Subject
        Ordered by site and group.
    """
    shares = _group_shares(sites, len(groups))
    sizes = apportion(subjects, _site_weights(sites))
    carried = np.zeros(len(groups))
    enrolled = []
    for site, size in sizes.items():
        carried += size * np.asarray(shares[site])
        counts = _whole_numbers(carried, size)
        carried -= counts
        for group, count in zip(groups, counts, strict=True):
            enrolled += [_subject(site, group, number + 1, seed) for number in range(count)]
    return enrolled


def apportion(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Share whole units by largest remainder; ties go to the first.

    Examples
    --------
    >>> apportion(10, {"a": 1, "b": 1, "c": 1})
    {'a': 4, 'b': 3, 'c': 3}
    """
    scale = total / sum(weights.values())
    exact = {name: weight * scale for name, weight in weights.items()}
    counts = {name: math.floor(value + 1e-9) for name, value in exact.items()}
    # Rounded, so that equal remainders are equal and the first one wins.
    by_remainder = sorted(exact, key=lambda name: round(counts[name] - exact[name], 9))
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def _site_weights(sites: int | Mapping[str, float] | None) -> dict[str, float]:
    if sites is None:
        return {name: float(sum(cells)) for name, cells in PAPER_SITES.items()}
    if not isinstance(sites, Mapping):
        if sites < 1:
            raise InputError(f"Expected at least one site, got {sites}.")
        return {str(number + 1): 1.0 for number in range(sites)}
    weights = {str(name): float(size) for name, size in sites.items()}
    if (
        not weights
        or sum(weights.values()) <= 0
        or not all(math.isfinite(size) and size >= 0 for size in weights.values())
    ):
        raise InputError(f"Expected sites with sizes of 0 or more, not all 0, got {dict(sites)}.")
    return weights


def _group_shares(
    sites: int | Mapping[str, float] | None, n_groups: int
) -> dict[str, tuple[float, ...]]:
    """Return the share of each group at each site."""
    if n_groups != len(PAPER_GROUPS):
        return dict.fromkeys(_site_weights(sites), (1 / n_groups,) * n_groups)
    if sites is not None:
        return dict.fromkeys(_site_weights(sites), _PAPER_GROUP_SHARE)
    return {
        name: (controls / (controls + patients), patients / (controls + patients))
        for name, (controls, patients) in PAPER_SITES.items()
    }


def _whole_numbers(exact: np.ndarray, total: int) -> np.ndarray:
    """Round shares to whole numbers of the given sum; what is lost is carried to the next site."""
    edges = np.concatenate([[0.0], np.cumsum(np.maximum(exact, 0))])
    edges = np.floor(edges / max(edges[-1], 1e-12) * total + 0.5).astype(int)
    return np.array([high - low for low, high in pairwise(edges)])


def _subject(site: str, group: str, number: int, seed: int) -> Subject:
    name = f"sub-{site}-{group}-{number:04d}"
    draw = generator(seed, "simulate", "facts", name)
    low, high = _PAPER_AGES
    age = int(draw.integers(low, high + 1))
    sex = "M" if draw.random() < _PAPER_MALE_SHARE else "F"
    return Subject(name, site, group, age, sex)


GROUP = "truth"
Floats32 = NDArray[np.float32]


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
    population: Floats32
    subject_effects: Floats32
    site_effects: Floats32
    group_effects: Floats32

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
        values: Floats32 = getattr(truth, name)
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


Floats = NDArray[np.float64]
_SHORTEST_WINDOW = 10
_LONGEST_TR = 10.0  # beyond, a haemodynamic response falls between two time points
_DOSENBACH_REGIONS = 33
_BYTES_PER_SAMPLE = 2000  # its row of facts, as Python objects
_COPIES_OF_A_SCAN = 20  # sampled more finely than it is kept, in several stages


@checked
def simulate_cohort(
    subjects: int = 904,
    windows: int = 5,
    regions: int = 33,
    *,
    length: int = 70,
    stride: int = 35,
    tr: float = 2.0,
    sessions: int = 1,
    sites: int | Mapping[str, float] | None = None,
    groups: Sequence[str] = PAPER_GROUPS,
    effects: Effects | None = None,
    seed: int = 0,
    **strengths: float,
) -> Cohort:
    """Simulate a resting-state cohort with known effects.

    Each subject has one stable connectivity: that of the population plus deviations of
    its site, its diagnostic group and its own. Inside a scan the brain changes slowly
    between a few states. The signals pass a haemodynamic response, get coloured noise and,
    in some scans, motion artefacts, and are band-limited as preprocessed data are. One
    scan per subject and session is cut into windows.

    Parameters
    ----------
    subjects, windows, regions : int
        Size of the cohort; windows per scan.
    length, stride : int
        Time points of a window and from one start to the next.
    tr : float
        Repetition time in seconds.
    sessions : int
        Scans per subject; with more than one, the fact `session` tells them apart.
    sites : int, mapping of str to number, or None
        Number of equal sites; or the size of each by name, scaled to `subjects`; or None
        for the seven sites of the paper.
    groups : sequence of str
        Diagnostic groups; two have the paper's proportion, 446 to 458.
    effects : Effects, optional
        Strengths of all effects; the defaults are calibrated on real data.
    seed : int
        The same seed gives the same cohort. A subject's signals do not depend on how
        many others there are.
    **strengths : float
        Single strengths that replace those of `effects`, for example ``group=0.2``.

    Returns
    -------
    Cohort
        With the facts `site`, `diagnosis`, `age`, `sex`, `motion` (mean displacement in
        mm) of every sample, and the effects in :attr:`Cohort.truth`.

    Examples
    --------
    >>> simulate_cohort(subjects=4, windows=2, regions=6)
    Cohort(8 samples, 4 subjects, 6 regions, 70 time points)
    """
    effects = (effects or Effects()).change(strengths)
    sizes = {"subjects": subjects, "windows": windows, "sessions": sessions, "stride": stride}
    _check_sizes(sizes)
    _check_shape(regions, length, tr, groups)
    _check_memory(sizes, regions, length)
    people = enrol(subjects, sites, groups, seed)
    scanner = Scanner(length + (windows - 1) * stride, tr, effects)
    study = _Study(people, tuple(groups), sessions, population_anatomy(regions), scanner, seed)
    options = {
        **sizes,
        "regions": regions,
        "length": length,
        "tr": tr,
        "sites": dict(sites) if isinstance(sites, Mapping) else sites,
        "groups": list(groups),
        "effects": effects.to_dict(),
        "seed": seed,
    }
    provenance = {"reader": "simulate", "source": "simulation", "options": options}
    scans = Scans(list(study.scans()), _region_names(regions), tr, provenance)
    cohort = scans.to_cohort(window=length, stride=stride)
    cohort.truth = study.truth()
    return cohort


@dataclass(frozen=True)
class _Study:
    """A cohort before it is scanned."""

    subjects: list[Subject]
    groups: tuple[str, ...]
    sessions: int
    anatomy: Anatomy
    scanner: Scanner
    seed: int

    @property
    def effects(self) -> Effects:
        return self.scanner.effects

    @cached_property
    def sites(self) -> dict[str, Floats]:
        """Deviation of each site."""
        names = dict.fromkeys(subject.site for subject in self.subjects)
        return {
            name: self.anatomy.pattern(self.effects.site, self.seed, "site", name) for name in names
        }

    @cached_property
    def group_deviations(self) -> dict[str, Floats]:
        """Deviation of each group from their mean, so that no group is the normal one."""
        drawn = np.stack(
            [
                self.anatomy.pattern(self.effects.group, self.seed, "group", name)
                for name in self.groups
            ]
        )
        centred = drawn - drawn.mean(axis=0)
        size = np.sqrt(len(self.groups) / max(len(self.groups) - 1, 1))
        return dict(zip(self.groups, centred * size, strict=True))

    @cached_property
    def states(self) -> Floats:
        """Deviation of each brain state."""
        return self.anatomy.states(self.effects, self.seed)

    def own_deviation(self, subject: Subject) -> Floats:
        """Deviation of a subject from its site and group."""
        return self.anatomy.subject(self.effects, self.seed, subject.name)

    def scans(self) -> Iterator[Scan]:
        """Yield the scans; their signals are made when they are loaded."""
        for subject in self.subjects:
            for session in range(1, self.sessions + 1):
                yield self._scan(subject, session)

    def _scan(self, subject: Subject, session: int) -> Scan:
        name = f"{subject.name}_ses-{session}" if self.sessions > 1 else subject.name
        axes = (subject.name, session)
        motion = self.scanner.motion(generator(self.seed, "simulate", "motion", *axes))
        facts: dict[str, Any] = {"session": session} if self.sessions > 1 else {}
        facts |= {
            "site": subject.site,
            "diagnosis": subject.group,
            "age": subject.age,
            "sex": subject.sex,
            "motion": motion.displacement,
        }
        return Scan(name, subject.name, self._loader(subject, session, motion), facts)

    def _loader(
        self, subject: Subject, session: int, motion: Motion
    ) -> Callable[[], NDArray[np.float32]]:
        def load() -> NDArray[np.float32]:
            axes = (subject.name, session)
            log_connectivity = (
                self.anatomy.log_connectivity
                + self.sites[subject.site]
                + self.group_deviations[subject.group]
                + self.own_deviation(subject)
                + self.anatomy.pattern(self.effects.session, self.seed, "session", *axes)
            )
            mixing = mixing_matrix(log_connectivity + self.states)
            draw = generator(self.seed, "simulate", "scan", *axes)
            return self.scanner.scan(mixing, motion, draw)

        return load

    def truth(self) -> GroundTruth:
        """Return the effects as changes of the Fisher-z connectivity."""
        own = np.stack([self.own_deviation(subject) for subject in self.subjects])
        sites, groups = self.sites, self.group_deviations
        population = correlation_of(self.anatomy.log_connectivity)
        return GroundTruth(
            subjects=tuple(subject.name for subject in self.subjects),
            sites=tuple(sites),
            groups=tuple(groups),
            population=population.astype(np.float32),
            subject_effects=fisher_change(self.anatomy, own),
            site_effects=fisher_change(self.anatomy, np.stack(list(sites.values()))),
            group_effects=fisher_change(self.anatomy, np.stack(list(groups.values()))),
        )


def _check_sizes(sizes: Mapping[str, int]) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise InputError(f"Expected {name} of at least 1, got {value}.")


def _check_memory(sizes: Mapping[str, int], regions: int, length: int) -> None:
    """Refuse a cohort that cannot be held, before hours are spent on making it."""
    scans = sizes["subjects"] * sizes["sessions"]
    scan = (length + (sizes["windows"] - 1) * sizes["stride"]) * regions * 8
    samples = scans * sizes["windows"] * regions * length * 4
    effects = (sizes["subjects"] + regions) * regions * regions * 4
    rows = scans * sizes["windows"] * _BYTES_PER_SAMPLE
    require_memory(samples + effects + rows + _COPIES_OF_A_SCAN * scan, "The simulated cohort")


def _check_shape(regions: int, length: int, tr: float, groups: Sequence[str]) -> None:
    if regions < 2:
        raise InputError(f"Expected at least 2 regions, got {regions}.")
    if length < _SHORTEST_WINDOW:
        raise InputError(
            f"Expected windows of at least {_SHORTEST_WINDOW} time points, got {length}."
        )
    if not 0 < tr <= _LONGEST_TR:
        raise InputError(
            f"Expected a repetition time tr above 0 and up to {_LONGEST_TR:.0f} seconds, got {tr}."
        )
    if isinstance(groups, str) or not groups or len(set(groups)) != len(groups):
        raise InputError(f"Expected a list of different group names, got {groups!r}.")


def _region_names(regions: int) -> tuple[str, ...]:
    if regions == _DOSENBACH_REGIONS:
        from sclcs.cohort.regions import region_set

        return tuple(region_set("dosenbach-dmn33").names)
    return tuple(f"region-{number}" for number in range(regions))
