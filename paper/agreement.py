"""How well a core-set keeps the ranking of operators, and two yardsticks that need none.

The yardsticks: what a random order reaches, and an estimate without any core-set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.scorer import SOUND, Scorer
from paper.setup import Cell, Measured, Row, Setup, asks_task
from sclcs._core import generator, track
from sclcs.cohort import CoreSet
from sclcs.stats import consistency, regret
from sclcs.stats.concordance import Gain, agreement

CUTS = (5, 10, 20)
CELLS_AT_ONCE = 120  # reading and ranking the matrices costs as much as some fifty core-sets
GAINS: tuple[Gain, ...] = ("minmax", "raw")
MEASURES = (*(f"ndcg@{cut}" for cut in CUTS), "kendall")
#: What a user loses who takes the operator that is best on the core-set.
REGRET = "regret"
CHANCE = "chance"  # operators in a random order
PRIOR = "prior"  # no scan at all: a few exact scores, and the geometry that comes with the package
HALVES = "halves"  # two random halves of the subjects: what other people would give
STATIC = "whole scans"  # the same people, whole scans instead of windows
#: Rows of a comparison of selectors that need no core-set.
YARDSTICKS = (CHANCE, PRIOR, HALVES, STATIC)

Choose = Callable[[Setup, Cell], CoreSet]
Subsets = Mapping[str, Sequence[str]]


def choose_for_task(setup: Setup, cell: Cell) -> CoreSet:
    """Choose the core-set of a cell for the task that is ranked."""
    return setup.select(cell["method"], cell["ratio"], cell["repeat"], task=cell["task"])


def measure_agreement(
    setup: Setup,
    cells: Sequence[Cell],
    choose: Choose,
    scorers: Sequence[Scorer] = (),
    subsets: Subsets | None = None,
) -> Iterator[Measured]:
    """Choose core-sets, score all operators on them, compare with the scores on all samples.

    Many core-sets are evaluated together: one pass over the matrices serves all of them.

    Parameters
    ----------
    setup : Setup
    cells : sequence of dict
        With at least ``task``, ``ratio`` and ``repeat``.
    choose : callable
        From a cell to its core-set.
    scorers : sequence of Scorer
        The setup's by default.
    subsets : mapping, optional
        Operators over which agreement is measured, by name. By default all, without a name.

    Yields
    ------
    cell, rows
    """
    asked = scorers or (setup.scorer,)
    tasks = dict.fromkeys(cell["task"] for cell in cells)
    full = [{task: scorer.full(task) for task in tasks} for scorer in asked]
    ordered = sorted(cells, key=lambda cell: int(cell["repeat"]))
    for start in range(0, len(ordered), CELLS_AT_ONCE):
        members = ordered[start : start + CELLS_AT_ONCE]
        cores = _choose_once(setup, members, choose, "choosing core-sets")
        requests = [(cell["task"], core) for cell, core in zip(members, cores, strict=True)]
        found = [scorer.core(requests) for scorer in asked]
        for cell, *tables in zip(members, *found, strict=True):
            pairs = zip(full, tables, strict=True)
            rows = [agreement_rows(known[cell["task"]], core, subsets) for known, core in pairs]
            yield cell, list(chain.from_iterable(rows))


def _choose_once(setup: Setup, cells: Sequence[Cell], choose: Choose, what: str) -> list[CoreSet]:
    """Choose the core-set of every cell; a method that ignores the task chooses once."""
    known: dict[str, CoreSet] = {}
    cores = []
    for cell in track(cells, what):
        key = repr(cell if asks_task(cell["method"]) else {**cell, "task": ""})
        if key not in known:
            known[key] = choose(setup, cell)
        cores.append(known[key])
    return cores


def agreement_rows(
    full: pd.DataFrame, core: pd.DataFrame, subsets: Subsets | None = None
) -> list[Row]:
    """Compare two tables of scores, for every score and gain.

    Parameters
    ----------
    full, core : DataFrame
        Operators by scores.
    subsets : mapping, optional
        Operators that are compared, by name.
    """
    rows = []
    for name, operators in (subsets or {"": list(full.index)}).items():
        for score in map(str, full.columns):
            for gain in GAINS:
                known = full[score].reindex(list(operators))
                found = consistency(known, core[score].reindex(list(operators)), CUTS, gain)
                row: Row = {"operators": name} if name else {}
                row |= {"score": score, "gain": gain}
                row |= {measure: found[measure] for measure in MEASURES}
                rows.append(row | {REGRET: regret_of_choice(known, core[score])})
    return rows


def regret_of_choice(full: pd.Series, core: pd.Series) -> float:
    """Return what the operator that looks best loses on all samples (1: as bad as the median)."""
    known = full.to_numpy(dtype=np.float64)
    looks = core.reindex(full.index).where(full.notna(), -np.inf).fillna(-np.inf).to_numpy()
    chosen = int(looks.argmax())
    return regret(known, known[chosen]) if np.isfinite(looks[chosen]) else float("nan")


def ceiling_rows(scorer: Scorer, task: str, splits: int, seed: int) -> Iterator[Row]:
    """Yield the agreement of two halves of the subjects, for every split, score and gain."""
    halves = scorer.halves(task, splits, seed)
    for score in scorer.scores:
        values = halves[score][np.isfinite(scorer.full(task)[score])]
        for split in range(splits):
            one, two = values[:, 2 * split], values[:, 2 * split + 1]
            if not np.isfinite(one).all():
                continue
            for gain in GAINS:
                found = agreement(one, two, CUTS, gain)
                row: Row = {"split": split, "score": score, "gain": gain}
                yield row | {measure: found[measure] for measure in MEASURES}


RANDOM_ORDERS = 200
NO_CORE_SET = 0.0


def yardstick_cells(setup: Setup, methods: Sequence[str] = (CHANCE, PRIOR)) -> list[Cell]:
    """Return the cells of the yardsticks, one of each task."""
    return [
        {"task": task, "method": method, "ratio": NO_CORE_SET, "repeat": setup.options.seed}
        for task in setup.options.tasks
        for method in methods
    ]


def agreement_and_yardsticks(
    setup: Setup, cells: Sequence[Cell], scorers: Sequence[Scorer], subsets: Subsets | None = None
) -> Iterator[Measured]:
    """Measure yardsticks, and core-sets that are chosen for the task that is ranked."""
    for cell in cells:
        if cell["method"] in YARDSTICKS:
            rows = [yardstick_rows(setup, scorer, cell, subsets) for scorer in scorers]
            yield cell, list(chain.from_iterable(rows))
    chosen = [cell for cell in cells if cell["method"] not in YARDSTICKS]
    yield from measure_agreement(setup, chosen, choose_for_task, scorers, subsets)


def yardstick_rows(
    setup: Setup, scorer: Scorer, cell: Cell, subsets: Subsets | None = None
) -> list[Row]:
    """Compare the scores on the full cohort with a yardstick's.

    Parameters
    ----------
    setup : Setup
    scorer : Scorer
    cell : dict
        With ``task`` and ``method``: ``chance``, operators in a random order (many of them); or
        ``prior``, an estimate from the exact scores of the panel and the geometry of operators
        that comes with the package; or ``halves``, the rankings of two halves of the subjects.
    subsets : mapping, optional
        See :func:`agreement_rows`.
    """
    full = scorer.full(cell["task"])
    if cell["method"] == HALVES:
        return list(ceiling_rows(scorer, cell["task"], setup.options.splits, cell["repeat"]))
    guesses = {
        CHANCE: lambda: [shuffled(full, number) for number in range(RANDOM_ORDERS)],
        PRIOR: lambda: [estimate_without_scans(setup, full)],
    }[cell["method"]]()
    return [row for guess in guesses for row in agreement_rows(full, guess, subsets)]


def shuffled(full: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return the same scores, given to the operators at random."""
    table = full.dropna()
    order = generator(number, "random order").permutation(len(table))
    return pd.DataFrame(table.to_numpy()[order], table.index, table.columns)


def estimate_without_scans(setup: Setup, full: pd.DataFrame) -> pd.DataFrame:
    """Estimate all operators but those of the panel, without a single scan of a core-set."""
    from sclcs.spi import resolve

    panel = resolve(setup.options.spis if setup.options.toy else "panel")
    known = full.index.isin(panel if not setup.options.toy else panel[: len(panel) // 2 + 1])
    return spread_known(full, known)


def spread_known(full: pd.DataFrame, known: NDArray[np.bool_]) -> pd.DataFrame:
    """Estimate what is not known from what is, by the geometry that comes with the package.

    Parameters
    ----------
    full : DataFrame
        Operators by scores.
    known : array of bool
        Operators whose scores may be used.

    Returns
    -------
    DataFrame
        Like `full`.
    """
    from sclcs.decision import complete_geometry, krige, shipped_geometry
    from sclcs.spi import catalogue

    names = list(full.index)
    geometry = complete_geometry(names, None, shipped_geometry())
    families = catalogue()["family"].reindex(names).fillna("own").tolist()
    estimated = {
        score: krige(
            names,
            geometry.similarity,
            np.where(known, full[score].to_numpy(dtype=np.float64), np.nan),
            families,
            scale=geometry.share_scale if score == SOUND else None,
        ).mean
        for score in full.columns
    }
    return pd.DataFrame(estimated, index=full.index)
