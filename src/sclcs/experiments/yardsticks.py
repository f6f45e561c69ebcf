"""Rows that need no core-set: what a random order reaches, and what an estimate without one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.seeds import generator
from sclcs.experiments.agreement import (
    Subsets,
    agreement_rows,
    choose_for_task,
    measure_agreement,
)
from sclcs.experiments.scorer import SOUND, Scorer
from sclcs.experiments.summary import CHANCE, PRIOR, YARDSTICKS

if TYPE_CHECKING:
    from sclcs.experiments.registry import Measured
    from sclcs.experiments.setup import Cell, Row, Setup

__all__ = [
    "agreement_and_yardsticks",
    "estimate_without_scans",
    "shuffled",
    "spread_known",
    "yardstick_cells",
    "yardstick_rows",
]

RANDOM_ORDERS = 200
NO_CORE_SET = 0.0


def yardstick_cells(setup: Setup) -> list[Cell]:
    """Return the cells of the yardsticks, one of each task."""
    return [
        {"task": task, "method": method, "ratio": NO_CORE_SET, "repeat": setup.options.seed}
        for task in setup.options.tasks
        for method in YARDSTICKS
    ]


def agreement_and_yardsticks(
    setup: Setup, cells: Sequence[Cell], scorer: Scorer, subsets: Subsets | None = None
) -> Iterator[Measured]:
    """Measure yardsticks, and core-sets that are chosen for the task that is ranked."""
    for cell in cells:
        if cell["method"] in YARDSTICKS:
            yield cell, yardstick_rows(setup, scorer, cell, subsets)
    chosen = [cell for cell in cells if cell["method"] not in YARDSTICKS]
    yield from measure_agreement(setup, chosen, choose_for_task, scorer, subsets)


def yardstick_rows(
    setup: Setup, scorer: Scorer, cell: Cell, subsets: Subsets | None = None
) -> list[Row]:
    """Compare the scores on everybody with a yardstick's.

    Parameters
    ----------
    setup : Setup
    scorer : Scorer
    cell : dict
        With ``task`` and ``method``: ``chance``, operators in a random order (many of them); or
        ``prior``, an estimate from the exact scores of the panel and the geometry of operators
        that comes with the package.
    subsets : mapping, optional
        See :func:`~sclcs.experiments.agreement.agreement_rows`.

    Returns
    -------
    list of dict
    """
    full = scorer.full(cell["task"])
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
    from sclcs.estimation import complete_geometry, krige, shipped_geometry
    from sclcs.spi.catalogue import catalogue

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
