"""Core-sets by subject: which subjects, and how many windows of each."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.errors import InputError, name_first
from sclcs.core.settings import Settings, as_list, setting
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances, place_in_group

__all__ = ["PAIRS", "STRATIFIED", "SUBJECTS", "even_order"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

USUAL_STRATA = ("site", "diagnosis")


class PairsParameters(Settings):
    """Parameters of ``pairs``."""

    windows: int = setting(
        "windows per subject; once all subjects have given that many, a second round begins",
        2,
        ge=1,
    )


class StratifiedParameters(PairsParameters):
    """Parameters of ``stratified``."""

    strata: Annotated[list[str] | None, BeforeValidator(as_list)] = setting(
        "columns that make the strata; site and diagnosis, if there", None
    )


def _subject_lots(cohort: Cohort, seed: int) -> Floats:
    """Return a random number per sample that all samples of a subject share."""
    names, codes = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    return chances(seed, "subject", names)[codes]


def _rounds(cohort: Cohort, seed: int, windows: int, groups: Integers) -> Integers:
    """Return the round in which each sample is taken: a group gives `windows` per round."""
    return place_in_group(groups, chances(seed, "window", cohort.sample_ids)) // windows


def _choose_subjects(cohort: Cohort, size: int, seed: int, _parameters: Settings) -> Choice:
    windows = cohort.samples["window"].to_numpy()
    ids = np.argsort(id_order(cohort.sample_ids))
    order = np.lexsort((ids, windows, _subject_lots(cohort, seed)))
    return Choice(order[:size].astype(np.int64))


def _choose_pairs(cohort: Cohort, size: int, seed: int, parameters: PairsParameters) -> Choice:
    _, subjects = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    rounds = _rounds(cohort, seed, parameters.windows, subjects)
    lots = chances(seed, "window", cohort.sample_ids)
    order = np.lexsort((lots, _subject_lots(cohort, seed), rounds))
    return Choice(order[:size].astype(np.int64))


def even_order(strata: Integers, lots: Floats, stratum_lots: Floats) -> Floats:
    """Return places in a queue whose every beginning holds each stratum in proportion.

    The k-th member of a stratum of n stands at (k + 1/2) / n (Webster's method of sharing
    seats): beginnings of the queue are nested, which largest remainders are not.

    Parameters
    ----------
    strata : array of int
        Stratum of each unit, numbered from 0.
    lots : array of float
        Random order inside strata.
    stratum_lots : array of float
        One per stratum; decides between members at the same place.

    Returns
    -------
    array of float
        Rank of each unit in the queue.
    """
    counts = np.bincount(strata)
    places = (place_in_group(strata, lots) + 0.5) / counts[strata]
    queue = np.lexsort((stratum_lots[strata], places))
    ranks = np.empty(len(strata))
    ranks[queue] = np.arange(len(strata))
    return ranks


def _choose_stratified(
    cohort: Cohort, size: int, seed: int, parameters: StratifiedParameters
) -> Choice:
    columns = _stratum_columns(cohort, parameters.strata)
    parts = [cohort.labels(name).map(str).to_numpy(dtype=str) for name in columns]
    stratum_of_sample = pd.Series([" x ".join(cells) for cells in zip(*parts, strict=True)])
    subjects = cohort.samples["subject"].to_numpy(dtype=str)
    # A subject seen at two sites counts once in each.
    units, unit_codes = np.unique(
        np.array([f"{s}\x1f{g}" for s, g in zip(subjects, stratum_of_sample, strict=True)]),
        return_inverse=True,
    )
    names, strata_codes = np.unique([unit.split("\x1f")[1] for unit in units], return_inverse=True)
    ranks = even_order(
        strata_codes, chances(seed, "subject", units), chances(seed, "stratum", names)
    )
    rounds = _rounds(cohort, seed, parameters.windows, unit_codes)
    lots = chances(seed, "window", cohort.sample_ids)
    order = np.lexsort((lots, ranks[unit_codes], rounds))
    facts = {"strata_used": list(columns), "n_strata": len(names)}
    return Choice(order[:size].astype(np.int64), facts=facts)


def _stratum_columns(cohort: Cohort, asked: list[str] | None) -> list[str]:
    if asked is None:
        found = [name for name in USUAL_STRATA if name in cohort.samples]
        if not found:
            raise InputError(
                f"Strata are made of {' and '.join(USUAL_STRATA)}, but the cohort has neither; "
                f"name columns with strata=..., it has {name_first(cohort.samples.columns, 10)}."
            )
        return found
    for name in asked:
        cohort.labels(name)
    if not asked:
        raise InputError("Expected at least one column in strata, got none.")
    return asked


SUBJECTS = register(
    Selector(
        name="subjects",
        summary="All windows of randomly drawn subjects; the last subject may be cut short.",
        reference="cluster sampling",
        choose=_choose_subjects,
        nested=True,
    )
)
PAIRS = register(
    Selector(
        name="pairs",
        summary="Two (or more) random windows of randomly drawn subjects.",
        reference="two-stage sampling",
        choose=_choose_pairs,
        parameters=PairsParameters,
        nested=True,
    )
)
STRATIFIED = register(
    Selector(
        name="stratified",
        summary="As pairs, with every combination of site and diagnosis in proportion.",
        reference="stratified two-stage sampling; shares by Webster's method",
        choose=_choose_stratified,
        parameters=StratifiedParameters,
        needs_labels=True,
        nested=True,
    )
)
