"""Keep the best samples, or draw in balance with the density of scores: for every score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.agreement import MEASURES, measure_agreement
from paper.options import selector_of
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import aggregate, agreement_tables, grid, paired_bars, usual
from paper.tables import Table
from sclcs.cohort import CoreSet
from sclcs.report.figures import finish

SAMPLINGS = ("rank", "density")


def _scored(methods: Sequence[str]) -> list[str]:
    """Return the methods that score samples; SCLCS-Dense is SCLCS with density."""
    scored = [name for name in methods if selector_of(name).can_balance]
    return [name for name in scored if selector_of(name).name != "sclcs-dense"]


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    return [
        {"task": task, "method": method, "sampling": sampling, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in _scored(options.methods)
        for sampling in SAMPLINGS
        for ratio in options.paper_ratios
        for seed in options.seeds()
    ]


def _choose(setup: Setup, cell: Cell) -> CoreSet:
    balanced = cell["sampling"] == "density"
    return setup.select(
        cell["method"], cell["ratio"], cell["repeat"], task=cell["task"], density=balanced
    )


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    return measure_agreement(setup, cells, _choose)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["task", "method", "sampling", "ratio", "score", "gain"]
    # The paper has a figure only, without numbers that could be put beside ours.
    nothing = {"paper_mean": float("nan"), "paper_std": float("nan")}
    return aggregate(measured, keys, MEASURES).assign(**nothing)


def _tables(summary: pd.DataFrame) -> list[Table]:
    return agreement_tables(summary, ("task", "score", "gain"), _caption, ("method", "sampling"))


def _caption(facts: dict[str, str]) -> str:
    return (
        f"Ranking for {facts['task']}: the best samples (rank) against a draw balanced by the "
        "density of scores (density); the paper shows a figure without numbers"
    )


def _draw(outcome: Outcome) -> Figure:
    shown = usual(outcome.summary, "ndcg@10")
    tasks, ratios = list(dict.fromkeys(shown["task"])), sorted(set(shown["ratio"]))
    figure, axes = grid(len(tasks), len(ratios), (3.3, 2.9))
    for row, task in enumerate(tasks):
        for column, ratio in enumerate(ratios):
            part = shown[(shown["task"] == task) & (shown["ratio"] == ratio)]
            panel = axes[row][column]
            paired_bars(panel, part, "sampling", SAMPLINGS)
            panel.set_ylim(0, 1.05)
            finish(panel, f"{task}, {100 * ratio:g} %", "", "nDCG@10" if column == 0 else "")
    axes[0][0].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


EXPERIMENT = register(
    Experiment(
        name="figure5",
        title="Does density-balanced sampling help other scores too?",
        paper="Figures 5 and 6 (rank-based against density-based sampling)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
