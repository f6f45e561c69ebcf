"""The cohort of a run: what the user gave, without the samples that the check left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.workflow.run.folder import RunFolder

__all__ = ["open_given_cohort", "open_run_cohort"]


def open_given_cohort(folder: RunFolder) -> Cohort:
    """Open the cohort that the configuration names, with all its samples."""
    path = folder.config().cohort
    if path is None:
        raise InputError("Expected a cohort: `sclcs run COHORT ...`, or the key cohort.")
    return Cohort.open(Path(path))


def open_run_cohort(folder: RunFolder) -> Cohort:
    """Open the cohort without the samples that the check left out."""
    cohort = open_given_cohort(folder)
    facts = folder.check()
    excluded = {row["where"] for row in facts["excluded"]}
    if not excluded:
        return cohort
    usable = cohort.take([name for name in cohort.sample_ids if name not in excluded])
    usable.fingerprint = str(facts["fingerprint"])  # the check has hashed the signals already
    return usable
