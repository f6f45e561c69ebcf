"""Core-sets by design: which subjects, and how many windows of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, name_first
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances

__all__ = ["PAIRS", "STRATIFIED", "SUBJECTS", "even_order"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

USUAL_STRATA = ("site", "diagnosis")


def _subject_lots(cohort: Cohort, seed: int) -> Floats:
    """Return a random number per sample that all samples of a subject share."""
    names, codes = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    return chances(seed, "subject", names)[codes]


def _place_in_group(groups: Integers, lots: Floats) -> Integers:
    """Give the members of each group numbers from 0, in the order of their lots."""
    order = np.lexsort((lots, groups))
    counts = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.empty(len(groups), dtype=np.int64)
    place[order] = np.arange(len(groups)) - starts[groups[order]]
    return place


def _rounds(cohort: Cohort, seed: int, windows: int, groups: Integers) -> Integers:
    """Return the round in which each sample is taken: a group gives `windows` per round."""
    if isinstance(windows, bool) or not isinstance(windows, int) or windows < 1:
        raise InputError(f"Expected windows to be a whole number of at least 1, got {windows!r}.")
    return _place_in_group(groups, chances(seed, "window", cohort.sample_ids)) // windows


def _choose_subjects(cohort: Cohort, size: int, seed: int) -> Choice:
    windows = cohort.samples["window"].to_numpy()
    ids = np.argsort(np.argsort(np.array(cohort.sample_ids, dtype=str)))
    order = np.lexsort((ids, windows, _subject_lots(cohort, seed)))
    return Choice(order[:size].astype(np.int64))


def _choose_pairs(cohort: Cohort, size: int, seed: int, windows: int) -> Choice:
    _, subjects = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    rounds = _rounds(cohort, seed, windows, subjects)
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
    places = (_place_in_group(strata, lots) + 0.5) / counts[strata]
    queue = np.lexsort((stratum_lots[strata], places))
    ranks = np.empty(len(strata))
    ranks[queue] = np.arange(len(strata))
    return ranks


def _choose_stratified(
    cohort: Cohort, size: int, seed: int, windows: int, strata: Sequence[str] | str | None
) -> Choice:
    columns = _stratum_columns(cohort, strata)
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
    rounds = _rounds(cohort, seed, windows, unit_codes)
    lots = chances(seed, "window", cohort.sample_ids)
    order = np.lexsort((lots, ranks[unit_codes], rounds))
    facts = {"strata_used": list(columns), "n_strata": len(names)}
    return Choice(order[:size].astype(np.int64), facts=facts)


def _stratum_columns(cohort: Cohort, asked: Sequence[str] | str | None) -> list[str]:
    if asked is None:
        found = [name for name in USUAL_STRATA if name in cohort.samples]
        if not found:
            raise InputError(
                f"Strata are made of {' and '.join(USUAL_STRATA)}, but the cohort has neither; "
                f"name columns with strata=..., it has {name_first(cohort.samples.columns, 10)}."
            )
        return found
    columns = [name.strip() for name in asked.split(",")] if isinstance(asked, str) else list(asked)
    for name in columns:
        cohort.labels(name)
    if not columns:
        raise InputError("Expected at least one column in strata, got none.")
    return columns


SUBJECTS = register(
    Selector(
        name="subjects",
        summary="All windows of randomly drawn subjects; the last subject may be cut short.",
        reference="cluster sampling",
        choose=_choose_subjects,
        nested=True,
    )
)
_WINDOWS_HELP = "windows per subject; once all subjects have given that many, a second round begins"
PAIRS = register(
    Selector(
        name="pairs",
        summary="Two (or more) random windows of randomly drawn subjects.",
        reference="two-stage sampling",
        choose=_choose_pairs,
        parameters={"windows": 2},
        parameter_help={"windows": _WINDOWS_HELP},
        nested=True,
    )
)
STRATIFIED = register(
    Selector(
        name="stratified",
        summary="As pairs, with every combination of site and diagnosis in proportion.",
        reference="stratified two-stage sampling; shares by Webster's method",
        choose=_choose_stratified,
        parameters={"windows": 2, "strata": None},
        parameter_help={
            "windows": _WINDOWS_HELP,
            "strata": "columns that make the strata; site and diagnosis, if there",
        },
        needs_labels=True,
        nested=True,
    )
)
