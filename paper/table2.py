"""The main tables: every method, both tasks, all sizes, with the ceiling of two halves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.agreement import MEASURES, agreement_and_yardsticks, ceiling_rows, yardstick_cells
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import (
    agreement_tables,
    curves_by_ratio,
    grid,
    shown_measure,
    summarise_agreement,
)
from paper.tables import Table, number
from sclcs.report.figures import MUTED

CEILING = "halves"  # a row of the table that is no method
KEYS = ("task", "method", "ratio")
TASKS = {"subject": "fingerprinting", "diagnosis": "diagnosis"}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    cells: list[Cell] = [
        {"task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in options.methods
        for ratio in options.ratios
        for seed in options.seeds(method)
    ]
    # Two halves of the subjects: what is noise. Not a core-set, so it has no ratio.
    return [*cells, *yardstick_cells(setup)] + [
        {"task": task, "method": CEILING, "ratio": 0.5, "repeat": options.seed}
        for task in options.tasks
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for cell in cells:
        if cell["method"] == CEILING:
            halves = ceiling_rows(setup.scorer, cell["task"], setup.options.splits, cell["repeat"])
            yield cell, list(halves)
    rest = [cell for cell in cells if cell["method"] != CEILING]
    yield from agreement_and_yardsticks(setup, rest, setup.scorer)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    return summarise_agreement(measured, KEYS, "table2")


def _tables(summary: pd.DataFrame) -> list[Table]:
    methods = summary[(summary["method"] != CEILING)]
    return [*agreement_tables(methods, ("task", "score", "gain"), _caption), _ceiling(summary)]


def _caption(facts: dict[str, str]) -> str:
    return (
        f"{shown_measure(facts['measure'])}, {TASKS.get(facts['task'], facts['task'])}, score "
        f"`{facts['score']}`, gain `{facts['gain']}`. In percent: our mean ±std (worst) / the "
        "paper's mean ±std. The paper's score and gain are not stated."
    )


def _ceiling(summary: pd.DataFrame) -> Table:
    halves = summary[summary["method"] == CEILING]
    halves = halves[halves["measure"].isin(MEASURES)]
    rows = [
        [*map(str, key), *(number(100 * value) for value in part["mean"])]
        for key, part in halves.groupby(["task", "score", "gain"], sort=False)
    ]
    caption = (
        "Agreement of the rankings of two random halves of the subjects, in percent: what "
        "another sample of people would give."
    )
    return Table("ceiling", caption, ["task", "score", "gain", *MEASURES], rows)


def _draw(outcome: Outcome) -> Figure:
    shown = outcome.summary[outcome.summary["measure"] == "ndcg@10"]
    tasks = list(dict.fromkeys(shown["task"]))
    kinds = [("cohen_d", "minmax"), ("ratio", "raw")]
    figure, axes = grid(len(tasks), len(kinds), (4.6, 3.1))
    for row, task in enumerate(tasks):
        for column, (score, gain) in enumerate(kinds):
            chosen = shown[(shown["score"] == score) & (shown["gain"] == gain)]
            part = chosen[chosen["task"] == task]
            panel = axes[row][column]
            title = f"{TASKS.get(task, task)}: {score}, {gain}"
            curves_by_ratio(panel, part[part["method"] != CEILING], title, "nDCG@10")
            for level in part.loc[part["method"] == CEILING, "mean"]:
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
    )
)
