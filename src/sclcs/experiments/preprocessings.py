"""The same scans, preprocessed in several ways."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, name_first
from sclcs.experiments.setup import Setup

__all__ = ["Preprocessing", "find_preprocessings", "without_mean_signal"]

#: The second preprocessing if none is given.
MEAN_REMOVED = "mean signal removed"


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """One way to prepare the scans.

    Parameters
    ----------
    name : str
    setup : Setup
        Its cohort and its FC store.
    """

    name: str
    setup: Setup


def without_mean_signal(cohort: Cohort) -> Cohort:
    """Take the mean over regions out of every region, by regression in each sample.

    Parameters
    ----------
    cohort : Cohort
        Its samples have one length.

    Returns
    -------
    Cohort
        What is left of global signal regression if only these regions are known.
    """
    signals = np.asarray(cohort.signals, dtype=np.float64)
    signals = signals - signals.mean(axis=2, keepdims=True)
    mean = signals.mean(axis=1, keepdims=True)
    slope = (signals @ mean.swapaxes(1, 2)) / np.sum(mean**2, axis=2, keepdims=True)
    provenance = {**cohort.provenance, "also": MEAN_REMOVED}
    return Cohort(
        signals - slope * mean, cohort.samples, cohort.regions, cohort.tr, provenance=provenance
    )


def find_preprocessings(setup: Setup) -> list[Preprocessing]:
    """Return the cohort of an experiment and the others beside it.

    Parameters
    ----------
    setup : Setup
        Its options name other cohorts of the same scans, or none: then the mean over regions is
        taken out of the one that is given.

    Returns
    -------
    list of Preprocessing
        At least two.
    """
    options = setup.options
    if not options.beside:
        first, others = "as given", {MEAN_REMOVED: without_mean_signal(setup.cohort)}
    else:
        first = str(setup.cohort.provenance.get("preprocessing", "first"))
        others = {Path(place).stem: Cohort.open(place) for place in options.beside}
    found = [Preprocessing(first, setup)]
    for number, (name, cohort) in enumerate(others.items(), start=2):
        _require_same_scans(setup.cohort, cohort, name)
        fc = setup.fc.with_name(f"{setup.fc.name}-{number}")
        found.append(Preprocessing(name, Setup(cohort, fc, options)))
    return found


def _require_same_scans(first: Cohort, other: Cohort, name: str) -> None:
    if list(first.sample_ids) == list(other.sample_ids):
        return
    differing = sorted(set(first.sample_ids) ^ set(other.sample_ids))
    raise InputError(
        f"Expected the same samples in the same order in {name}: {len(first)} of the cohort, "
        f"{len(other)} there, found in one of them only: {name_first(differing) or 'none'}. Cut "
        "both from the same scans with the same windows."
    )
