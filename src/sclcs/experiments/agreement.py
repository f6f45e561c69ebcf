"""Cells that ask how well a core-set keeps the ranking of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from sclcs.benchmark.consistency import Gain, agreement, consistency, regret
from sclcs.cohort.coreset import CoreSet
from sclcs.core.progress import track
from sclcs.experiments.registry import Measured
from sclcs.experiments.scorer import Scorer
from sclcs.experiments.setup import Cell, Row, Setup, asks_task

__all__ = [
    "CUTS",
    "GAINS",
    "MEASURES",
    "REGRET",
    "Subsets",
    "agreement_rows",
    "ceiling_rows",
    "choose_for_task",
    "measure_agreement",
    "regret_of_choice",
]

CUTS = (5, 10, 20)
CELLS_AT_ONCE = 120  # reading and ranking the matrices costs as much as some fifty core-sets
GAINS: tuple[Gain, ...] = ("minmax", "raw")
MEASURES = (*(f"ndcg@{cut}" for cut in CUTS), "kendall")
#: What a user loses who takes the operator that is best on the core-set.
REGRET = "regret"

Choose = Callable[[Setup, Cell], CoreSet]
Subsets = Mapping[str, Sequence[str]]


def choose_for_task(setup: Setup, cell: Cell) -> CoreSet:
    """Choose the core-set of a cell for the task that is ranked."""
    return setup.select(cell["method"], cell["ratio"], cell["repeat"], task=cell["task"])


def measure_agreement(
    setup: Setup,
    cells: Sequence[Cell],
    choose: Choose,
    scorer: Scorer | None = None,
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
    scorer : Scorer, optional
        The setup's by default.
    subsets : mapping, optional
        Operators over which agreement is measured, by name. By default all, without a name.

    Yields
    ------
    cell, rows
    """
    scorer = scorer or setup.scorer
    full = {task: scorer.full(task) for task in dict.fromkeys(cell["task"] for cell in cells)}
    ordered = sorted(cells, key=lambda cell: int(cell["repeat"]))
    for start in range(0, len(ordered), CELLS_AT_ONCE):
        members = ordered[start : start + CELLS_AT_ONCE]
        cores = _choose_once(setup, members, choose, "choosing core-sets")
        requests = [(cell["task"], core) for cell, core in zip(members, cores, strict=True)]
        for cell, found in zip(members, scorer.core(requests), strict=True):
            yield cell, agreement_rows(full[cell["task"]], found, subsets)


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

    Returns
    -------
    list of dict
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
    """Return what the operator that looks best loses on everybody, of best minus median."""
    known = full.to_numpy(dtype=np.float64)
    looks = core.reindex(full.index).where(full.notna(), -np.inf).fillna(-np.inf).to_numpy()
    place = int(looks.argmax())
    return regret(known, known[place]) if np.isfinite(looks[place]) else float("nan")


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
