"""The main tables: every method, both tasks, all sizes, and what needs no core-set beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.agreement import CHANCE, HALVES, PRIOR, agreement_and_yardsticks, yardstick_cells
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import (
    SHOWN,
    agreement_tables,
    curves_by_ratio,
    grid,
    summarise_agreement,
    versus_random,
)
from paper.tables import Table
from sclcs.report.figures import MUTED

KEYS = ("task", "method", "ratio")
TASKS = {"subject": "Fingerprinting", "diagnosis": "Diagnosis"}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    cells: list[Cell] = [
        {"task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in options.methods
        for ratio in options.ratios
        for seed in options.seeds(method)
    ]
    return [*cells, *yardstick_cells(setup, (CHANCE, PRIOR, HALVES))]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    return agreement_and_yardsticks(setup, cells, (setup.scorer, setup.sound_scorer))


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    return summarise_agreement(measured, KEYS, "table2")


def _tables(summary: pd.DataFrame) -> list[Table]:
    tables = agreement_tables(summary, ("task", "score", "gain"), _caption)
    return [*tables, *versus_random(summary)]


def _caption(group: dict[str, str]) -> str:
    return TASKS.get(group["task"], group["task"])


def _draw(outcome: Outcome) -> Figure:
    shown = outcome.summary[outcome.summary["measure"] == "ndcg@10"]
    tasks = list(dict.fromkeys(shown["task"]))
    figure, axes = grid(len(tasks), len(SHOWN), (3.9, 2.9))
    for row, task in enumerate(tasks):
        for column, (score, gain) in enumerate(SHOWN):
            chosen = shown[(shown["score"] == score) & (shown["gain"] == gain)]
            part = chosen[chosen["task"] == task]
            panel = axes[row][column]
            title = f"{TASKS.get(task, task)}: {score}, {gain}"
            curves_by_ratio(panel, part, title, "nDCG@10" if column == 0 else "")
            for level in part.loc[part["method"] == HALVES, "mean"]:
                panel.axhline(level, color=MUTED, linewidth=1, linestyle=":")
            panel.set_ylim(0, 1.03)
    axes[0][0].legend(frameon=False, fontsize=7, loc="lower right")
    figure.suptitle(
        "Dotted: two halves of the subjects. Grey lines: the other methods. "
        "Shade: ±1 std of random draws.",
        fontsize=8,
        color=MUTED,
    )
    return figure


EXPERIMENT = register(
    Experiment(
        name="table2",
        title="How well do core-sets keep the ranking of operators?",
        paper="Tables 2 and 3 (fingerprinting, MDD diagnosis)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        version=2,
    )
)
