"""Cohorts with a known truth: no effect, in few edges, in many, or one that no line shows.

Small, so that many of them take minutes. Regions come in pairs. Every subject has a few shared
sources with loadings of the population and its own; on top of them every pair has a signal of
its own, whose second half depends on the first in a way that correlations, at any lag, and
envelopes do not see: its sign says whether the first is large, its size is drawn by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.seeds import generator

__all__ = ["KINDS", "Kind", "make_cohort"]

Floats = NDArray[np.float64]

N_PAIRS, N_SOURCES, N_TIMEPOINTS = 4, 2, 120
N_REGIONS = 2 * N_PAIRS
SHARED, PERSON, NOISE = 0.5, 0.12, 0.3  # by the size of the pairs' own signals
MEDIAN_OF_SQUARE = 0.4549  # of a standard normal variable


@dataclass(frozen=True)
class Kind:
    """What tells patients from controls.

    Parameters
    ----------
    name : str
    few : float
        A source that two regions of patients share, and nobody else.
    many : float
        How far all loadings of patients lie from those of controls.
    hidden : bool
        Whether the second half of every pair depends on the first; in controls on an
        independent copy of it.
    """

    name: str
    few: float = 0.0
    many: float = 0.0
    hidden: bool = False

    @property
    def has_effect(self) -> bool:
        """Whether there is anything to find."""
        return bool(self.few or self.many or self.hidden)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("no effect"),
        Kind("few edges", few=0.6),
        Kind("many edges", many=0.12),
        Kind("hidden", hidden=True),
    )
}


def make_cohort(kind: Kind, subjects: int, *axes: object, seed: int = 0) -> Cohort:
    """Simulate one cohort, half of it patients.

    Parameters
    ----------
    kind : Kind
    subjects : int
        Controls and patients together; patients are the second half.
    *axes : object
        What tells this cohort from others of the same seed.
    seed : int
        The population, which all cohorts of a seed share, and the base of all draws.

    Returns
    -------
    Cohort
        One window per subject, with ``diagnosis``.
    """
    population = generator(seed, "kinds", "population")
    loadings, change = population.normal(size=(2, N_REGIONS, N_SOURCES))
    draw = generator(seed, "kinds", kind.name, *axes)
    patient = (np.arange(subjects) >= subjects // 2)[:, None, None]
    mixing = SHARED * loadings + PERSON * draw.normal(size=(subjects, N_REGIONS, N_SOURCES))
    mixing = mixing + kind.many * patient * change
    signals = mixing @ draw.normal(size=(subjects, N_SOURCES, N_TIMEPOINTS))
    shared = draw.normal(size=(subjects, 1, N_TIMEPOINTS))
    signals[:, [0, N_REGIONS - 1]] += kind.few * patient * shared
    signals += _pairs(draw, subjects, patient if kind.hidden else np.zeros_like(patient))
    signals += NOISE * draw.normal(size=signals.shape)
    return Cohort(signals.astype(np.float32), _table(patient.ravel()))


def _pairs(draw: np.random.Generator, subjects: int, dependent: NDArray[np.bool_]) -> Floats:
    """Return the pairs' own signals (subject, region, time point)."""
    first, copy, size = draw.normal(size=(3, subjects, N_PAIRS, N_TIMEPOINTS))
    seen = np.where(dependent, first, copy)
    second = np.abs(size) * np.sign(seen**2 - MEDIAN_OF_SQUARE)
    return np.stack([first, second], axis=2).reshape(subjects, N_REGIONS, N_TIMEPOINTS)


def _table(patient: NDArray[np.bool_]) -> pd.DataFrame:
    names = [f"s{number:04d}" for number in range(len(patient))]
    return pd.DataFrame(
        {
            "subject": names,
            "window": 0,
            "diagnosis": np.where(patient, "patient", "control"),
        },
        index=[f"{name}_w0" for name in names],
    )
