"""A simulated cohort of the shape of a given one, on which rules can be tuned in advance."""

from __future__ import annotations

import pandas as pd

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.simulation import simulate_cohort

__all__ = ["simulated_twin"]

SEED = 7
USUAL_TR = 2.0


def simulated_twin(cohort: Cohort) -> Cohort:
    """Simulate a cohort with as many subjects, windows and regions, and sites of the same size.

    The strengths of its effects are the simulator's own, and the seed is fixed: nothing but the
    shape of the given cohort is used.

    Parameters
    ----------
    cohort : Cohort

    Returns
    -------
    Cohort
    """
    samples, length = cohort.samples, cohort.n_timepoints
    subjects = samples.groupby("subject", sort=False)
    windows = int(subjects.size().median())
    sites = None
    if "site" in samples:
        sites = {str(k): float(v) for k, v in subjects["site"].first().value_counts().items()}
        sites = dict(sorted(sites.items()))
    return simulate_cohort(
        cohort.n_subjects,
        windows,
        cohort.n_regions,
        length=length,
        stride=_stride(samples, length),
        tr=float(cohort.tr or USUAL_TR),
        sites=sites,
        seed=SEED,
    )


def _stride(samples: pd.DataFrame, length: int) -> int:
    """Return how far apart windows start; half their length, as in the paper, if unknown."""
    if "start" in samples:
        starts = samples[["subject", "start"]].drop_duplicates().sort_values("start")
        steps = starts.groupby("subject")["start"].diff().dropna()
        if len(steps):
            return int(steps.median())
    return max(length // 2, 1)
