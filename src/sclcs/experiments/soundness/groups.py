"""Two groups of simulated subjects with a known difference: none, noise, a site, or a real one.

Small on purpose, so that hundreds of cohorts take minutes. Every subject's signals are a few
sources, mixed by loadings that are the population's, the person's, the site's and the group's,
plus noise of every region. (:func:`sclcs.simulate_cohort` imitates a real cohort instead.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.seeds import generator

__all__ = ["Groups", "make_groups"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_REGIONS, N_SOURCES, N_TIMEPOINTS = 9, 3, 70
PERSON, SITE, NOISE = 0.25, 0.35, 0.8
MEMORY = 0.6  # of the sources, from one time point to the next
ALIGNED = 0.8  # share of the patients at the second site, and of the controls at the first


@dataclass(frozen=True)
class Groups:
    """How controls and patients differ.

    Parameters
    ----------
    controls, patients : int
        How many there are.
    effect : float
        How far the loadings of patients lie from those of controls.
    noise : float
        Noise of the patients' signals by that of the controls'.
    confounded : bool
        Whether 80 % of the patients, and 20 % of the controls, come from a second site whose
        scanner shifts the loadings.
    """

    controls: int
    patients: int
    effect: float = 0.0
    noise: float = 1.0
    confounded: bool = False

    @property
    def sizes(self) -> str:
        """Controls and patients, as the tables name them."""
        return f"{self.controls}:{self.patients}"


def make_groups(groups: Groups, *axes: object, seed: int = 0) -> Cohort:
    """Simulate one cohort.

    Parameters
    ----------
    groups : Groups
    *axes : object
        What tells this cohort from others of the same seed.
    seed : int
        The population, which all cohorts of a seed share, and the base of all draws.

    Returns
    -------
    Cohort
        One window per subject, with ``diagnosis`` (and ``site``, if it is confounded).
    """
    population = generator(seed, "soundness", "population")
    loadings = population.normal(size=(N_REGIONS, N_SOURCES))
    change, scanner = population.normal(size=(2, N_REGIONS, N_SOURCES))
    draw = generator(seed, "soundness", repr(groups), *axes)
    patient = np.repeat([0, 1], [groups.controls, groups.patients])
    site = _sites(groups, patient)
    n_subjects = len(patient)
    mixing = loadings + PERSON * draw.normal(size=(n_subjects, N_REGIONS, N_SOURCES))
    mixing = mixing + groups.effect * patient[:, None, None] * change
    mixing = mixing + SITE * site[:, None, None] * scanner
    level = NOISE * np.where(patient == 1, groups.noise, 1.0)
    noise = level[:, None, None] * draw.normal(size=(n_subjects, N_REGIONS, N_TIMEPOINTS))
    signals = mixing @ _sources(draw, n_subjects) + noise
    return Cohort(signals.astype(np.float32), _table(patient, site, groups.confounded))


def _sources(draw: np.random.Generator, n_subjects: int) -> Floats:
    """Return slow signals of unit variance (subject, source, time point)."""
    steps = draw.normal(size=(N_TIMEPOINTS, n_subjects, N_SOURCES))
    values = np.empty_like(steps)
    values[0] = steps[0]
    for time in range(1, N_TIMEPOINTS):
        values[time] = MEMORY * values[time - 1] + np.sqrt(1 - MEMORY**2) * steps[time]
    return np.asarray(values.transpose(1, 2, 0))


def _sites(groups: Groups, patient: Integers) -> Integers:
    site = np.zeros(len(patient), dtype=np.int64)
    if groups.confounded:
        for code, share in ((0, 1 - ALIGNED), (1, ALIGNED)):
            members = np.flatnonzero(patient == code)
            site[members[: round(share * len(members))]] = 1
    return site


def _table(patient: Integers, site: Integers, with_site: bool) -> pd.DataFrame:
    names = [f"s{number:04d}" for number in range(len(patient))]
    table = pd.DataFrame(
        {
            "subject": names,
            "window": 0,
            "diagnosis": np.where(patient == 1, "patient", "control"),
        },
        index=[f"{name}_w0" for name in names],
    )
    if with_site:
        table["site"] = np.where(site == 1, "second", "first")
    return table
