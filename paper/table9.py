"""Does it matter which operators are ranked: fast ones, slow ones, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.agreement import agreement_and_yardsticks, yardstick_cells
from paper.options import PAPER_METHODS
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import (
    agreement_panels,
    agreement_tables,
    beside_paper,
    paper_agreement,
    summarise_measures,
    usual,
)
from paper.tables import Table

LEFT_OUT = ("kmeans", "sps-mha")  # as in the paper's table
ADDED = ("stratified",)  # beside the paper's


def operator_sets(setup: Setup) -> dict[str, list[str]]:
    """Return the fast operators, the slow ones (as the paper cuts them by cost), and both."""
    from sclcs.spi import resolve

    spis = setup.options.spis
    fast = resolve(spis if isinstance(spis, str) else list(spis))
    if setup.options.toy:
        half = len(fast) // 2
        fast, slow = fast[:half], fast[half:]
    else:
        slow = resolve("paper-slow")
    return {"fast": fast, "slow": slow, "mixture": [*fast, *slow]}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    compared = {*PAPER_METHODS, *ADDED} - {*LEFT_OUT}
    methods = [name for name in options.methods if name in compared]
    # Part of the cell: with another slow set, its value is another.
    slow = len(operator_sets(setup)["slow"])
    chosen = [
        {"task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in methods or options.methods
        for ratio in options.paper_ratios
        for seed in options.seeds(method)
    ]
    return [{"slow": slow, **cell} for cell in (*chosen, *yardstick_cells(setup))]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    sets = operator_sets(setup)
    scorers = [setup.scorer_of(sets["mixture"], sound=sound) for sound in (False, True)]
    known = set(scorers[0].operators)
    subsets = {name: [spi for spi in members if spi in known] for name, members in sets.items()}
    counts = {name: len(members) for name, members in subsets.items()}
    for cell, rows in agreement_and_yardsticks(setup, cells, scorers, subsets):
        yield cell, [{**row, "compared": counts[row["operators"]]} for row in rows]


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["operators", "compared", "task", "method", "ratio"]
    table = summarise_measures(measured, keys)
    published = pd.concat([paper_agreement("table2", operators="fast"), paper_agreement("table9")])
    return beside_paper(table, published, ["operators", "task", "method", "ratio", "measure"])


def _tables(summary: pd.DataFrame) -> list[Table]:
    by = ("operators", "compared", "task", "score", "gain")
    return agreement_tables(summary, by, _caption)


def _caption(group: dict[str, str]) -> str:
    return f"{group['operators']} operators ({group['compared']}), {group['task']}"


def _draw(outcome: Outcome) -> Figure:
    return agreement_panels(usual(outcome.summary, "ndcg@10"), "operators")


EXPERIMENT = register(
    Experiment(
        name="table9",
        title="Fast operators, slow operators, both: does the answer change?",
        paper="Table 9 (slow-only and mixture)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        operators=lambda setup: operator_sets(setup)["mixture"],
        version=2,
    )
)
