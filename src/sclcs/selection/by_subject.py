"""Core-sets by subject: which subjects, and how many windows of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from sclcs.benchmark import find_target
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.errors import InputError, name_first
from sclcs.core.seeds import generator
from sclcs.core.settings import Settings, as_list, setting
from sclcs.selection.controlled_rounding import controlled_rounding
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances, place_in_group

__all__ = ["PAIRS", "STRATIFIED", "SUBJECTS", "usual_strata"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SITE = "site"
USUAL_STRATA = ("diagnosis", SITE)


class PairsParameters(Settings):
    """Parameters of ``pairs``."""

    windows: int = setting(
        "windows per subject; once all subjects have given that many, a second round begins",
        2,
        ge=1,
    )


class StratifiedParameters(PairsParameters):
    """Parameters of ``stratified``."""

    task: Annotated[list[str] | None, BeforeValidator(as_list)] = setting(
        "what operators are ranked for: its label is kept in proportion; diagnosis, if there", None
    )
    strata: Annotated[list[str] | None, BeforeValidator(as_list)] = setting(
        "columns kept in proportion, the most important first; the task's label, then site", None
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


def _choose_stratified(
    cohort: Cohort, size: int, seed: int, parameters: StratifiedParameters
) -> Choice:
    columns = _stratum_columns(cohort, parameters)
    units = _units(cohort, columns)
    rounds = _rounds(cohort, seed, parameters.windows, units.of_sample)
    lots = chances(seed, "window", cohort.sample_ids)
    order = np.lexsort((lots, units.lots(seed)[units.of_sample], rounds))
    taken: list[Integers] = []
    left = size
    for number in range(int(rounds.max()) + 1):
        members = order[rounds[order] == number]
        if left < len(members):
            members = _part_of_round(units, members, left, parameters.windows, seed)
        taken.append(members)
        left -= len(members)
        if not left:
            break
    facts = {"strata_used": columns, "n_strata": int(units.cells.max()) + 1}
    return Choice(np.concatenate(taken).astype(np.int64), facts=facts)


@dataclass(frozen=True, eq=False)
class _Units:
    """Subjects (one seen at two sites is a unit at each), and what they are.

    Parameters
    ----------
    names : array of str
    of_sample : array of int
        The unit of each sample.
    cells, rows, columns : array of int
        Of each unit: combination of all strata, the first stratum, the second.
    """

    names: NDArray[np.str_]
    of_sample: Integers
    cells: Integers
    rows: Integers
    columns: Integers

    def lots(self, seed: int) -> Floats:
        """Return a random number per unit."""
        return chances(seed, "subject", self.names)


def _units(cohort: Cohort, columns: Sequence[str]) -> _Units:
    parts = [cohort.labels(name).map(str).to_numpy(dtype=str) for name in columns]
    subjects = cohort.samples["subject"].to_numpy(dtype=str)
    joined = np.array(["\x1f".join(texts) for texts in zip(subjects, *parts, strict=True)])
    names, first, of_sample = np.unique(joined, return_index=True, return_inverse=True)
    codes = [np.unique(part[first], return_inverse=True)[1] for part in parts]
    cells = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)[1].ravel()
    second = codes[1] if len(codes) > 1 else np.zeros_like(codes[0])
    return _Units(names, of_sample, cells, codes[0], second)


def _part_of_round(
    units: _Units, members: Integers, left: int, windows: int, seed: int
) -> Integers:
    """Take some of the samples of a round, so that strata keep their shares of its units.

    Parameters
    ----------
    units : _Units
    members : array of int
        The samples of the round, those of a unit side by side.
    left : int
        How many are wanted.
    windows : int
        How many a unit gives, if it has as many.
    seed : int
    """
    given = units.of_sample[members]
    present = np.unique(given)
    for n_units in range(-(-left // windows), len(present) + 1):
        chosen = _proportional(units, present, n_units, seed)
        taken = members[np.isin(given, chosen)]
        if len(taken) >= left:
            return taken[:left]  # the last unit may be cut short
    return members[:left]


def _proportional(units: _Units, present: Integers, n_units: int, seed: int) -> Integers:
    """Choose units: cells, and above all their rows and columns, in proportion."""
    cells, first, of_unit = np.unique(units.cells[present], return_index=True, return_inverse=True)
    counts = np.bincount(of_unit)
    rows, columns = (
        np.unique(codes[present][first], return_inverse=True)[1]
        for codes in (units.rows, units.columns)
    )
    quota = controlled_rounding(
        n_units * counts / counts.sum(),
        rows,
        columns,
        generator(seed, "select", "strata", n_units, len(cells)),
    )
    place = place_in_group(of_unit, units.lots(seed)[present])
    return present[place < quota[of_unit]]


def _stratum_columns(cohort: Cohort, parameters: StratifiedParameters) -> list[str]:
    if parameters.strata is not None:
        for name in parameters.strata:
            cohort.labels(name)
        if not parameters.strata:
            raise InputError("Expected at least one column in strata, got none.")
        return list(parameters.strata)
    targets = [find_target(cohort.samples, name) for name in parameters.task or ()]
    labels = [target.name for target in targets if target.kind == "classes"]
    found = usual_strata(cohort.samples.columns, labels)
    if not found:
        raise InputError(
            f"Strata are made of {' and '.join(USUAL_STRATA)}, but the cohort has neither; "
            f"name columns with strata=..., it has {name_first(cohort.samples.columns, 10)}."
        )
    return found


def usual_strata(columns: Iterable[str], labels: Sequence[str] = ()) -> list[str]:
    """Return the columns whose shares a core-set keeps: what is asked, or the diagnosis; the site.

    Parameters
    ----------
    columns : iterable of str
        What the cohort has.
    labels : sequence of str
        Labels that operators are ranked for.

    Returns
    -------
    list of str
        Classes first: where not everything can be kept, they are.
    """
    there = set(columns)
    known = [name for name in USUAL_STRATA if name in there]
    if not labels:
        return known
    return list(dict.fromkeys([labels[0], *(n for n in known if n == SITE), *labels[1:]]))


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
        summary="As pairs, with classes and sites in proportion at every size.",
        reference="stratified two-stage sampling; controlled rounding (Cox 1987)",
        choose=_choose_stratified,
        parameters=StratifiedParameters,
        version=2,
        needs_labels=True,
    )
)
