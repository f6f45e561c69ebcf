"""Does it matter which operators are ranked: fast ones, slow ones, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from sclcs.cohort.coreset import CoreSet
from sclcs.experiments.agreement import MEASURES, measure_agreement
from sclcs.experiments.figures import curves_by_ratio, grid
from sclcs.experiments.options import PAPER_METHODS
from sclcs.experiments.paper import paper_table
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Setup
from sclcs.experiments.studies.labels import paper_ratios
from sclcs.experiments.summary import aggregate, agreement_tables, beside_paper
from sclcs.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OPERATORS", "operator_sets"]

#: Seconds of pyspi on one sample of 33 regions and 70 time points, as the paper cuts its set.
SLOW_SECONDS = (1.0, 10.0)
FEWEST = 5  # slow operators that make a ranking
LEFT_OUT = ("kmeans", "sps-mha")  # as in the paper's table


def operator_sets(setup: Setup) -> dict[str, list[str]]:
    """Return the fast, the slow and all operators that the catalogue implements.

    Slow operators are those outside the fast set whose measured cost lies within
    :data:`SLOW_SECONDS`; while too few of them are implemented, all outside the fast set.
    """
    from sclcs.spi import catalogue, resolve

    spis = setup.options.spis
    fast = resolve(spis if isinstance(spis, str) else list(spis))
    if setup.options.toy:
        half = len(fast) // 2
        fast, slow = fast[:half], fast[half:]
    else:
        table = catalogue()
        others = table[table["implemented"] & ~table["paper_fast"]]
        cut = others[others["pyspi_seconds"].between(*SLOW_SECONDS)]
        slow = list((cut if len(cut) >= FEWEST else others).index)
    return {"fast": fast, "slow": slow, "mixture": [*fast, *slow]}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    methods = [name for name in options.methods if name in PAPER_METHODS and name not in LEFT_OUT]
    # Part of the cell: when more operators are implemented, its value is another.
    slow = len(operator_sets(setup)["slow"])
    return [
        {"slow": slow, "task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in methods or options.methods
        for ratio in paper_ratios(setup)
        for seed in options.seeds(method)
    ]


def _choose(setup: Setup, cell: Cell) -> CoreSet:
    return setup.select(cell["method"], cell["ratio"], cell["repeat"], task=cell["task"])


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    sets = operator_sets(setup)
    scorer = setup.scorer_of(sets["mixture"])
    known = set(scorer.operators)
    subsets = {name: [spi for spi in members if spi in known] for name, members in sets.items()}
    for cell, rows in measure_agreement(setup, cells, _choose, scorer, subsets):
        counts = {name: len(members) for name, members in subsets.items()}
        yield cell, [{**row, "compared": counts[row["operators"]]} for row in rows]


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["operators", "compared", "task", "method", "ratio", "score", "gain"]
    table = aggregate(measured, keys, MEASURES)
    fast = paper_table("main").assign(operators="fast")
    fast[["mean", "std"]] /= 100
    published = pd.concat([fast, paper_table("operators").rename(columns={"value": "mean"})])
    published["measure"] = "ndcg@" + published["k"].astype(str)
    return beside_paper(table, published, ["operators", "task", "method", "ratio", "measure"])


def _tables(summary: pd.DataFrame) -> list[Table]:
    usual = (summary["score"] == "cohen_d") & (summary["gain"] == "minmax")
    like_paper = (summary["score"] == "ratio") & (summary["gain"] == "raw")
    by = ("operators", "compared", "task", "score", "gain")
    return agreement_tables(summary[usual | like_paper], by, _caption)


def _caption(facts: dict[str, str]) -> str:
    return (
        f"Operators: {facts['operators']} ({facts['compared']}); ranking for {facts['task']}, "
        f"score `{facts['score']}`, gain `{facts['gain']}`. In percent: our mean ±std (worst) / "
        "the paper's."
    )


def _draw(outcome: Outcome) -> Figure:
    usual = outcome.summary[
        (outcome.summary["score"] == "cohen_d") & (outcome.summary["gain"] == "minmax")
    ]
    shown = usual[usual["measure"] == "ndcg@10"]
    sets, tasks = list(dict.fromkeys(shown["operators"])), list(dict.fromkeys(shown["task"]))
    figure, axes = grid(len(tasks), len(sets), (3.4, 2.8))
    for row, task in enumerate(tasks):
        for column, name in enumerate(sets):
            part = shown[(shown["task"] == task) & (shown["operators"] == name)]
            title = f"{task}: {name} ({part['compared'].iloc[0]})"
            curves_by_ratio(axes[row][column], part, title, "nDCG@10" if column == 0 else "")
            axes[row][column].set_ylim(0, 1.03)
    axes[0][0].legend(frameon=False, fontsize=7, loc="lower right")
    return figure


OPERATORS = register(
    Experiment(
        name="operators",
        title="Fast operators, slow operators, both: does the answer change?",
        paper="Table 9 (slow-only and mixture)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
