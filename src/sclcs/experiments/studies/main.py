"""The main tables: every method, both tasks, all sizes, with the ceiling of two halves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from sclcs.experiments.agreement import MEASURES, ceiling_rows
from sclcs.experiments.figures import curves_by_ratio, grid
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.summary import (
    agreement_tables,
    shown_measure,
    summarise_agreement,
)
from sclcs.experiments.tables import Table, number
from sclcs.experiments.yardsticks import agreement_and_yardsticks, yardstick_cells
from sclcs.report.style import MUTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MAIN"]

CEILING = "halves"  # a row of the table that is no method
KEYS = ("task", "method", "ratio", "operators")
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
            yield cell, [{"operators": "all", **row} for row in halves]
    rest = [cell for cell in cells if cell["method"] != CEILING]
    for cell, rows in agreement_and_yardsticks(setup, rest, setup.scorer, _subsets(setup)):
        yield cell, [row for row in rows if row["operators"] == "all" or _usual(row)]


def _usual(row: Row) -> bool:
    return bool(row["score"] == "cohen_d" and row["gain"] == "minmax")


def _subsets(setup: Setup) -> dict[str, list[str]]:
    """Return all operators, and those of families that never guided a core-set."""
    from sclcs.selection.guided.method import DEFAULT_PANEL
    from sclcs.spi import catalogue, resolve

    families = catalogue()["family"]
    operators = setup.scorer.operators
    guiding = {families[name] for name in resolve(DEFAULT_PANEL)}
    unseen = [name for name in operators if families[name] not in guiding]
    return {"all": operators} | ({"unseen": unseen} if len(unseen) > 2 else {})


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    table = summarise_agreement(measured, KEYS, "main")
    table.loc[table["operators"] != "all", ["paper_mean", "paper_std"]] = float("nan")
    return table


def _tables(summary: pd.DataFrame) -> list[Table]:
    methods = summary[(summary["method"] != CEILING)]
    everything = methods[methods["operators"] == "all"]
    unseen = methods[methods["operators"] == "unseen"]
    by = ("task", "score", "gain")
    tables = agreement_tables(everything, by, _caption)
    if len(unseen):
        tables += agreement_tables(unseen, ("task", "operators"), _unseen_caption)
    return [*tables, _ceiling(summary)]


def _caption(facts: dict[str, str]) -> str:
    return (
        f"{shown_measure(facts['measure'])}, {TASKS.get(facts['task'], facts['task'])}, score "
        f"`{facts['score']}`, gain `{facts['gain']}`. In percent: our mean ±std (worst) / the "
        "paper's mean ±std. The paper's score and gain are not stated."
    )


def _unseen_caption(facts: dict[str, str]) -> str:
    return (
        f"{shown_measure(facts['measure'])}, {TASKS.get(facts['task'], facts['task'])}, score "
        "`cohen_d`, gain `minmax`, over the operators of families that did not guide `guided`. In "
        "percent."
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
    shown = outcome.summary[
        (outcome.summary["measure"] == "ndcg@10") & (outcome.summary["operators"] == "all")
    ]
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


MAIN = register(
    Experiment(
        name="main",
        title="How well do core-sets keep the ranking of operators?",
        paper="Tables 2 and 3 (fingerprinting, MDD diagnosis)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
