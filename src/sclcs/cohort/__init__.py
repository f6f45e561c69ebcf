"""Cohorts: from files to signals with one row of facts per sample.

The names below are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sclcs._core.lazy import lazy_names

if TYPE_CHECKING:
    from sclcs.cohort.check import check_cohort, check_design, check_scans
    from sclcs.cohort.cohort import Cohort, samples_for
    from sclcs.cohort.coreset import CoreSet
    from sclcs.cohort.describe import describe_cohort, describe_scans
    from sclcs.cohort.problems import Problem
    from sclcs.cohort.regions import region_set
    from sclcs.cohort.scans import Scan, Scans
    from sclcs.cohort.simulation import simulate_cohort
    from sclcs.cohort.windows import Seconds, Windowing

__all__ = [
    "Cohort",
    "CoreSet",
    "Problem",
    "Scan",
    "Scans",
    "Seconds",
    "Windowing",
    "check_cohort",
    "check_design",
    "check_scans",
    "describe_cohort",
    "describe_scans",
    "region_set",
    "samples_for",
    "simulate_cohort",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Cohort": "sclcs.cohort.cohort",
        "CoreSet": "sclcs.cohort.coreset",
        "Problem": "sclcs.cohort.problems",
        "Scan": "sclcs.cohort.scans",
        "Scans": "sclcs.cohort.scans",
        "Seconds": "sclcs.cohort.windows",
        "Windowing": "sclcs.cohort.windows",
        "check_cohort": "sclcs.cohort.check",
        "check_design": "sclcs.cohort.check",
        "check_scans": "sclcs.cohort.check",
        "describe_cohort": "sclcs.cohort.describe",
        "describe_scans": "sclcs.cohort.describe",
        "region_set": "sclcs.cohort.regions",
        "samples_for": "sclcs.cohort.cohort",
        "simulate_cohort": "sclcs.cohort.simulation",
    },
)
