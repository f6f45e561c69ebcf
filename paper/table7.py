"""Baselines whose classifier learned subjects, and ones whose classifier learned diagnoses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.agreement import measure_agreement
from paper.options import selector_of
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import (
    agreement_tables,
    grid,
    paired_bars,
    summarise_agreement,
    usual,
)
from paper.tables import Table
from sclcs.cohort import CoreSet
from sclcs.report.figures import finish


def learners(methods: Sequence[str]) -> list[str]:
    """Return the methods whose classifier can learn one label or another."""
    trained = [name for name in methods if selector_of(name).needs_training]
    return [name for name in trained if selector_of(name).network == "classifier"]


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    return [
        {"task": task, "method": method, "label": label, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in learners(options.methods)
        for label in options.tasks
        for ratio in options.paper_ratios
        for seed in options.seeds()
    ]


def _choose(setup: Setup, cell: Cell) -> CoreSet:
    return setup.select(cell["method"], cell["ratio"], cell["repeat"], task=cell["label"])


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    return measure_agreement(setup, cells, _choose)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ("task", "method", "label", "ratio")
    return summarise_agreement(measured, keys, "table7")


def _tables(summary: pd.DataFrame) -> list[Table]:
    return agreement_tables(summary, ("task", "score", "gain"), _caption, ("method", "label"))


def _caption(facts: dict[str, str]) -> str:
    return f"Ranking for {facts['task']}, by what the baselines' classifier learned (label)"


def _draw(outcome: Outcome) -> Figure:
    chosen = usual(outcome.summary, "ndcg@10")
    shown = chosen[chosen["ratio"] == chosen["ratio"].min()]
    tasks = list(dict.fromkeys(shown["task"]))
    labels = list(dict.fromkeys(shown["label"]))
    figure, axes = grid(1, len(tasks), (4.6, 3.4))
    for panel, task in zip(axes[0], tasks, strict=True):
        paired_bars(panel, shown[shown["task"] == task], "label", labels, "learned ")
        panel.set_ylim(0, 1.05)
        title = f"ranking for {task}, {100 * shown['ratio'].min():g} %"
        finish(panel, title, "", "nDCG@10 (cohen_d, minmax)")
    axes[0][0].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


EXPERIMENT = register(
    Experiment(
        name="table7",
        title="Does it matter what the baselines' classifier learns?",
        paper="Tables 7 and 8 (influence of labels on baselines)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
