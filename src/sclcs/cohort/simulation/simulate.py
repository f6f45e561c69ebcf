"""Simulated cohorts: sites, groups, subjects, states, noise and motion, with the truth kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.scans import Scan, Scans
from sclcs.cohort.simulation.connectivity import (
    Anatomy,
    correlation_of,
    fisher_change,
    mixing_matrix,
    population_anatomy,
)
from sclcs.cohort.simulation.effects import Effects
from sclcs.cohort.simulation.physics import Motion, Scanner
from sclcs.cohort.simulation.subjects import PAPER_GROUPS, Subject, enrol
from sclcs.cohort.simulation.truth import GroundTruth
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.core.gate import require_memory
from sclcs.core.seeds import generator

__all__ = ["simulate_cohort"]

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
    cohort = scans.windows(length, stride)
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
