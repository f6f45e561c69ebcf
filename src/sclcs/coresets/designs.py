"""Plain designs: random samples, whole subjects, pairs of windows, classes and sites in proportion.

A core-set of m subjects should hold m times the share of every class and of every site, but
subjects are whole. Rounding every cell on its own adds up to wrong margins (at 1 % of a cohort by
a factor of three). Here the fractions are walked at random to 0 or 1 along directions that keep
rows, columns and total, so that every margin is its share rounded down or up, and on average
exactly its share (Cox 1987; the flight of Deville & Tillé 2004).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from sclcs._core import InputError, Settings, as_list, child_seed, generator, name_first, setting
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.registry import Choice, Selector, register
from sclcs.stats import find_target

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ROUNDING = 1e-9


def controlled_rounding(
    shares: Floats, rows: Integers, columns: Integers, random: np.random.Generator
) -> Integers:
    """Round what each cell would hold so that every row and column is rounded down or up, too.

    `rows` and `columns` number the class and the site of each cell, for example. On average
    every cell is its share.
    """
    whole = np.floor(shares + ROUNDING)
    parts = np.clip(shares - whole, 0.0, 1.0)
    constraints, slack = _constraints(shares, rows, columns)
    state = np.concatenate([parts, slack])
    state = _fly(state, constraints, random)
    return np.asarray(whole + np.rint(state[: len(shares)]), dtype=np.int64)


def _constraints(shares: Floats, rows: Integers, columns: Integers) -> tuple[Floats, Floats]:
    """Return the sums that must not change, and how far every margin is below its ceiling."""
    margins = [
        (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64).T
        for codes in (rows, columns)
    ]
    slacks = []
    for member in margins:
        sums = member @ shares
        slacks.append(np.clip(np.ceil(sums - ROUNDING) - sums, 0.0, 1.0))
    n_rows, n_columns, n_cells = len(slacks[0]), len(slacks[1]), len(shares)
    table = np.zeros((n_rows + n_columns + 1, n_cells + n_rows + n_columns))
    table[:n_rows, :n_cells] = margins[0]
    table[n_rows : n_rows + n_columns, :n_cells] = margins[1]
    table[:-1, n_cells:] = np.eye(n_rows + n_columns)
    table[-1, :n_cells] = 1.0  # the total
    return table, np.concatenate(slacks)


def _fly(state: Floats, constraints: Floats, random: np.random.Generator) -> Floats:
    """Move along directions that keep all sums until every value is 0 or 1."""
    state = state.copy()
    while True:
        free = np.flatnonzero((state > ROUNDING) & (state < 1 - ROUNDING))
        direction = _direction(constraints[:, free], random)
        if direction is None:
            return state
        with np.errstate(divide="ignore"):
            up = np.where(direction > 0, (1 - state[free]) / direction, -state[free] / direction)
            down = np.where(direction > 0, state[free] / direction, (state[free] - 1) / direction)
        forward, back = (float(np.min(step[np.abs(direction) > ROUNDING])) for step in (up, down))
        step = forward if random.random() < back / (forward + back) else -back
        state[free] = np.clip(state[free] + step * direction, 0.0, 1.0)
        state[np.abs(state) < ROUNDING] = 0.0
        state[np.abs(state - 1) < ROUNDING] = 1.0


def _direction(constraints: Floats, random: np.random.Generator) -> Floats | None:
    """Return a direction in which all sums stay; None if there is none."""
    n_free = constraints.shape[1]
    if not n_free:
        return None
    _, sizes, vectors = np.linalg.svd(constraints, full_matrices=True)
    rank = int((sizes > ROUNDING * max(1.0, float(sizes[0]))).sum())
    if rank == n_free:
        return None
    basis = vectors[rank:]
    return np.asarray(random.normal(size=len(basis)) @ basis)


def chances(seed: int, purpose: str, names: Iterable[str]) -> Floats:
    """Return a random number in [0, 1) for each name; it depends on nothing else.

    Sorting by it is a random permutation, and picking the lowest is a random draw without
    replacement. Other purposes get other numbers.
    """
    seeds = [child_seed(seed, "select", purpose, str(name)) for name in names]
    return np.array(seeds, dtype=np.float64) / 2.0**63


def best(scores: Floats, size: int, keep: Literal["low", "high"], ties: Floats) -> Integers:
    """Return the rows with the best scores, best first; `ties` decides between equal ones.

    Non-finite scores are never chosen.
    """
    n_finite = int(np.isfinite(scores).sum())
    if size > n_finite:
        raise InputError(
            f"The core-set needs {size} samples, but only {n_finite} of {len(scores)} have a "
            "finite score; lower the ratio or train longer."
        )
    ascending = scores if keep == "low" else -scores
    ranked = np.where(np.isfinite(ascending), ascending, np.inf)
    return np.lexsort((ties, ranked))[:size].astype(np.int64)


def number_in_group(groups: Integers, order: Floats) -> Integers:
    """Give the members of each group numbers from 0, in the order of some values."""
    sorted_rows = np.lexsort((order, groups))
    counts = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    numbers = np.empty(len(groups), dtype=np.int64)
    numbers[sorted_rows] = np.arange(len(groups)) - starts[groups[sorted_rows]]
    return numbers


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


def _subject_chances(cohort: Cohort, seed: int) -> Floats:
    """Return a random number per sample that all samples of a subject share."""
    names, codes = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    return chances(seed, "subject", names)[codes]


def _rounds(cohort: Cohort, seed: int, windows: int, groups: Integers) -> Integers:
    """Return the round in which each sample is taken: a group gives `windows` per round."""
    return number_in_group(groups, chances(seed, "window", cohort.sample_ids)) // windows


def _choose_random(cohort: Cohort, size: int, seed: int, _parameters: Settings) -> Choice:
    random = chances(seed, "random", cohort.sample_ids)
    return Choice(np.argsort(random, kind="stable")[:size].astype(np.int64))


def _choose_subjects(cohort: Cohort, size: int, seed: int, _parameters: Settings) -> Choice:
    windows = cohort.samples["window"].to_numpy()
    ids = np.argsort(id_order(cohort.sample_ids))
    order = np.lexsort((ids, windows, _subject_chances(cohort, seed)))
    return Choice(order[:size].astype(np.int64))


def _choose_pairs(cohort: Cohort, size: int, seed: int, parameters: PairsParameters) -> Choice:
    _, subjects = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    rounds = _rounds(cohort, seed, parameters.windows, subjects)
    random = chances(seed, "window", cohort.sample_ids)
    order = np.lexsort((random, _subject_chances(cohort, seed), rounds))
    return Choice(order[:size].astype(np.int64))


def _choose_stratified(
    cohort: Cohort, size: int, seed: int, parameters: StratifiedParameters
) -> Choice:
    columns = _stratum_columns(cohort, parameters)
    units = _units(cohort, columns)
    rounds = _rounds(cohort, seed, parameters.windows, units.of_sample)
    random = chances(seed, "window", cohort.sample_ids)
    order = np.lexsort((random, units.chances(seed)[units.of_sample], rounds))
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
    info = {"strata_used": columns, "n_strata": int(units.cells.max()) + 1}
    return Choice(np.concatenate(taken).astype(np.int64), info=info)


@dataclass(frozen=True, eq=False)
class _Units:
    """Subjects (one scanned at two sites is a unit at each), and their strata."""

    names: NDArray[np.str_]
    of_sample: Integers  # the unit of each sample
    cells: Integers  # of each unit: the combination of all strata
    rows: Integers  # the first stratum
    columns: Integers  # the second

    def chances(self, seed: int) -> Floats:
        """Return a random number per unit."""
        return chances(seed, "subject", self.names)


def _units(cohort: Cohort, columns: Sequence[str]) -> _Units:
    parts = [cohort.labels(name).map(str).to_numpy(dtype=str) for name in columns]
    subjects = cohort.samples["subject"].to_numpy(dtype=str)
    joined = np.array(["\x1f".join(labels) for labels in zip(subjects, *parts, strict=True)])
    names, first, of_sample = np.unique(joined, return_index=True, return_inverse=True)
    codes = [np.unique(part[first], return_inverse=True)[1] for part in parts]
    cells = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)[1].ravel()
    second = codes[1] if len(codes) > 1 else np.zeros_like(codes[0])
    return _Units(names, of_sample, cells, codes[0], second)


def _part_of_round(
    units: _Units, members: Integers, left: int, windows: int, seed: int
) -> Integers:
    """Take `left` of the samples of a round, so that strata keep their shares of its units.

    The samples of a unit are side by side; each gives so many windows, if it has them.
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
    numbers = number_in_group(of_unit, units.chances(seed)[present])
    return present[numbers < quota[of_unit]]


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

    Classes are first: where not everything can be kept, they are.
    """
    there = set(columns)
    known = [name for name in USUAL_STRATA if name in there]
    if not labels:
        return known
    return list(dict.fromkeys([labels[0], *(n for n in known if n == SITE), *labels[1:]]))


register(
    Selector(
        name="random",
        summary="Samples drawn uniformly at random.",
        reference="the baseline of every comparison",
        choose=_choose_random,
        nested=True,
    )
)
register(
    Selector(
        name="subjects",
        summary="All windows of randomly drawn subjects; the last subject may be cut short.",
        reference="cluster sampling",
        choose=_choose_subjects,
        nested=True,
    )
)
register(
    Selector(
        name="pairs",
        summary="Two (or more) random windows of randomly drawn subjects.",
        reference="two-stage sampling",
        choose=_choose_pairs,
        parameters=PairsParameters,
        nested=True,
    )
)
register(
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
