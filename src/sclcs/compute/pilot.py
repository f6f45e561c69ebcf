"""How large a cohort is, and small parts of it on which things are tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.lengths import LENGTH_COLUMN
from sclcs.core.arguments import checked_methods, checked_record
from sclcs.core.errors import InputError
from sclcs.core.progress import show_progress

__all__ = ["CohortShape", "Pilots"]


@checked_methods
@checked_record
@dataclass(frozen=True)
class CohortShape:
    """How large a cohort is.

    Parameters
    ----------
    samples, regions, timepoints : int
        A sample is what operators are computed on: a scan, or a window of one.
    """

    samples: int
    regions: int
    timepoints: int

    def __post_init__(self) -> None:
        if self.samples < 1 or self.regions < 2 or self.timepoints < 2:
            raise InputError(
                "Expected at least 1 sample, 2 regions and 2 time points, got "
                f"{self.samples}, {self.regions} and {self.timepoints}."
            )

    @classmethod
    def of(cls, cohort: Cohort | CohortShape) -> CohortShape:
        """Return the shape of a cohort."""
        if isinstance(cohort, CohortShape):
            return cohort
        usual = cohort.n_timepoints if not len(cohort) else round(float(cohort.lengths.mean()))
        return cls(len(cohort), cohort.n_regions, usual)


class Pilots:
    """Small cohorts to try things on: parts of a real one, or of one that is simulated once.

    Parameters
    ----------
    cohort : Cohort or CohortShape
        The cohort, or how large it will be.
    samples, regions, timepoints : int
        The largest pilot that will be asked for.
    """

    def __init__(
        self, cohort: Cohort | CohortShape, samples: int, regions: int, timepoints: int
    ) -> None:
        if isinstance(cohort, Cohort):
            self._source = cohort
        else:
            from sclcs.cohort.simulation import simulate_cohort

            with show_progress(visible=False):
                self._source = simulate_cohort(samples, 1, regions, length=timepoints, seed=0)

    def take(self, samples: int, regions: int, timepoints: int) -> Cohort:
        """Return some samples, regions (both spread evenly) and the first time points."""
        source = self._source
        rows = np.unique(np.linspace(0, len(source) - 1, min(samples, len(source))).astype(int))
        places = np.unique(np.linspace(0, source.n_regions - 1, regions).astype(int))
        part = source.take(rows).keep_regions([source.regions[place] for place in places])
        # Samples of unequal length are tried at the length of the shortest; costs are scaled.
        kept = min(timepoints, int(part.lengths.min()))
        table = part.samples.drop(columns=LENGTH_COLUMN, errors="ignore")
        return Cohort(np.asarray(part.signals)[:, :, :kept], table, part.regions, part.tr)
