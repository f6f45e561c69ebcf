"""Simulated cohorts with known effects: who is in them, and their scans.

A subject is named by site, group and number, and everything about it is drawn from that
name. So the same subject comes out of a cohort of ten and of a cohort of ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, checked, generator, require_memory
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.regions import region_set
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.simulated_signals import (
    Anatomy,
    Effects,
    Motion,
    Scanner,
    mixing_matrix,
    population_anatomy,
)

Floats = NDArray[np.float64]

GROUPS = ("HC", "MDD")
#: Subjects per site and group of the paper's cohort (446 controls, 458 patients).
PAPER_SITES: Mapping[str, tuple[int, int]] = {
    "15": (37, 30),
    "17": (41, 41),
    "19": (31, 18),
    "20": (229, 250),
    "21": (65, 79),
    "22": (20, 18),
    "23": (23, 22),
}
_CONTROLS, _PATIENTS = (sum(cells) for cells in zip(*PAPER_SITES.values(), strict=True))
_MALE_SHARE = 330 / 904
_AGES = (18, 65)
_SHORTEST_WINDOW = 10
_LONGEST_SIMULATED_TR = 10.0  # beyond, a haemodynamic response falls between two time points
_BYTES_PER_SAMPLE = 2000  # its row of metadata, as Python objects
_COPIES_OF_A_SCAN = 20  # sampled more finely than it is kept, in several stages


@dataclass(frozen=True)
class Subject:
    """One simulated subject and what is known about it."""

    name: str
    site: str
    group: str
    age: int
    sex: str


def enrol(subjects: int, sites: int | Mapping[str, float] | None, seed: int) -> list[Subject]:
    """Distribute subjects over sites and groups in the paper's proportions."""
    if sites is None:
        sizes = {site: float(sum(cells)) for site, cells in PAPER_SITES.items()}
        controls = {site: cells[0] / sum(cells) for site, cells in PAPER_SITES.items()}
    else:
        sizes = _site_sizes(sites)
        controls = dict.fromkeys(sizes, _CONTROLS / (_CONTROLS + _PATIENTS))
    carried = np.zeros(2)
    enrolled = []
    for site, size in apportion(subjects, sizes).items():
        carried += size * np.array([controls[site], 1 - controls[site]])
        counts = _whole_numbers(carried, size)
        carried -= counts
        for group, count in zip(GROUPS, counts, strict=True):
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


def _site_sizes(sites: int | Mapping[str, float]) -> dict[str, float]:
    if not isinstance(sites, Mapping):
        if sites < 1:
            raise InputError(f"Expected at least one site, got {sites}.")
        return {str(number + 1): 1.0 for number in range(sites)}
    sizes = {str(name): float(size) for name, size in sites.items()}
    valid = all(math.isfinite(size) and size >= 0 for size in sizes.values())
    if not valid or not sum(sizes.values()):
        raise InputError(f"Expected sites with sizes of 0 or more, not all 0, got {dict(sites)}.")
    return sizes


def _whole_numbers(exact: Floats, total: int) -> NDArray[np.int64]:
    """Round shares to whole numbers of the given sum; what is lost is carried to the next site."""
    edges = np.concatenate([[0.0], np.cumsum(np.maximum(exact, 0))])
    whole = np.floor(edges / max(edges[-1], 1e-12) * total + 0.5).astype(int)
    return np.array([high - low for low, high in pairwise(whole)])


def _subject(site: str, group: str, number: int, seed: int) -> Subject:
    name = f"sub-{site}-{group}-{number:04d}"
    draw = generator(seed, "simulate", "facts", name)
    low, high = _AGES
    age = int(draw.integers(low, high + 1))
    sex = "M" if draw.random() < _MALE_SHARE else "F"
    return Subject(name, site, group, age, sex)


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
        Scans per subject; with more than one, the column `session` tells them apart.
    sites : int, mapping of str to number, or None
        Number of equal sites; or the size of each by name, scaled to `subjects`; or None
        for the seven sites of the paper.
    seed : int
        The same seed gives the same cohort. A subject's signals do not depend on how
        many others there are.
    **strengths : float
        Of single effects, for example ``group=0.2``: `subject`, `subject_global`, `session`,
        `site`, `group` and `state` (connectivity), `dwell_seconds`, `noise`, `colour`,
        `motion_share`, `motion_size`, `amplitude`, `low_hz`, `high_hz`. The defaults are calibrated
        on real data; zero switches an effect off.

    Returns
    -------
    Cohort
        With the columns `site`, `diagnosis` (HC and MDD, 446 to 458 as in the paper), `age`,
        `sex` and `motion` (mean displacement in mm).

    Examples
    --------
    >>> simulate_cohort(subjects=4, windows=2, regions=6)
    Cohort(8 samples, 4 subjects, 6 regions, 70 time points)
    """
    effects = Effects().change(strengths)
    sizes = {"subjects": subjects, "windows": windows, "sessions": sessions, "stride": stride}
    _check(sizes, regions, length, tr)
    people = enrol(subjects, sites, seed)
    scanner = Scanner(length + (windows - 1) * stride, tr, effects)
    study = _Study(people, sessions, population_anatomy(regions), scanner, seed)
    options = {
        **sizes,
        "regions": regions,
        "length": length,
        "tr": tr,
        "sites": dict(sites) if isinstance(sites, Mapping) else sites,
        "effects": effects.to_dict(),
        "seed": seed,
    }
    default_mode = region_set("dosenbach-dmn33").names
    numbered = [f"region-{number}" for number in range(regions)]
    names = default_mode if regions == len(default_mode) else numbered
    provenance = {"reader": "simulate", "source": "simulation", "options": options}
    return Scans(list(study.scans()), names, tr, provenance).to_cohort(window=length, stride=stride)


@dataclass(frozen=True)
class _Study:
    """A cohort before it is scanned."""

    subjects: list[Subject]
    sessions: int
    anatomy: Anatomy
    scanner: Scanner
    seed: int

    @property
    def effects(self) -> Effects:
        return self.scanner.effects

    @cached_property
    def sites(self) -> dict[str, Floats]:
        names = dict.fromkeys(subject.site for subject in self.subjects)
        return {n: self.anatomy.pattern(self.effects.site, self.seed, "site", n) for n in names}

    @cached_property
    def groups(self) -> dict[str, Floats]:
        """Deviation of each group from their mean, so that no group is the normal one."""
        strength = self.effects.group
        drawn = [self.anatomy.pattern(strength, self.seed, "group", name) for name in GROUPS]
        centred = np.stack(drawn) - np.mean(drawn, axis=0)
        size = np.sqrt(len(GROUPS) / (len(GROUPS) - 1))
        return dict(zip(GROUPS, centred * size, strict=True))

    @cached_property
    def states(self) -> Floats:
        return self.anatomy.states(self.effects, self.seed)

    def scans(self) -> Iterator[Scan]:
        """Yield the scans; their signals are made when they are loaded."""
        for subject in self.subjects:
            for session in range(1, self.sessions + 1):
                yield self._scan(subject, session)

    def _scan(self, subject: Subject, session: int) -> Scan:
        several = self.sessions > 1
        name = f"{subject.name}_ses-{session}" if several else subject.name
        motion = self.scanner.motion(
            generator(self.seed, "simulate", "motion", subject.name, session)
        )
        metadata: dict[str, Any] = {"session": session} if several else {}
        metadata |= {
            "site": subject.site,
            "diagnosis": subject.group,
            "age": subject.age,
            "sex": subject.sex,
            "motion": motion.displacement,
        }
        load = partial(self._signals, subject, session, motion)
        return Scan(name, subject.name, load, metadata)

    def _signals(self, subject: Subject, session: int, motion: Motion) -> NDArray[np.float32]:
        axes = (subject.name, session)
        log_connectivity = (
            self.anatomy.log_connectivity
            + self.sites[subject.site]
            + self.groups[subject.group]
            + self.anatomy.subject(self.effects, self.seed, subject.name)
            + self.anatomy.pattern(self.effects.session, self.seed, "session", *axes)
        )
        mixing = mixing_matrix(log_connectivity + self.states)
        return self.scanner.scan(mixing, motion, generator(self.seed, "simulate", "scan", *axes))


def _check(sizes: Mapping[str, int], regions: int, length: int, tr: float) -> None:
    """Refuse sizes that make no cohort, or one that memory cannot hold, before it is made."""
    for name, value in sizes.items():
        if value < 1:
            raise InputError(f"Expected {name} of at least 1, got {value}.")
    if regions < 2:
        raise InputError(f"Expected at least 2 regions, got {regions}.")
    if length < _SHORTEST_WINDOW:
        raise InputError(
            f"Expected windows of at least {_SHORTEST_WINDOW} time points, got {length}."
        )
    if not 0 < tr <= _LONGEST_SIMULATED_TR:
        raise InputError(
            f"`tr` must be above 0 and up to {_LONGEST_SIMULATED_TR:.0f} seconds, got {tr}."
        )
    scans = sizes["subjects"] * sizes["sessions"]
    scan = (length + (sizes["windows"] - 1) * sizes["stride"]) * regions * 8
    samples = scans * sizes["windows"]
    signals = samples * regions * length * 4
    patterns = regions**3 * 4
    needed = signals + patterns + samples * _BYTES_PER_SAMPLE + _COPIES_OF_A_SCAN * scan
    require_memory(needed, "The simulated cohort")
