"""One thing about the baselines changed: what their classifier learned, or how they sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

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
    summarise_measures,
    usual,
)
from paper.tables import Table
from sclcs.cohort import CoreSet
from sclcs.report.figures import finish

SAMPLINGS = ("rank", "density")
WORDS = {
    "label": "by what the baselines' classifier learned (label)",
    "sampling": "the best samples (rank) against a draw balanced by the density of scores "
    "(density); the paper shows a figure without numbers",
}


def learners(setup: Setup) -> list[str]:
    """Return the methods whose classifier can learn one label or another."""
    trained = [name for name in setup.options.methods if selector_of(name).needs_training]
    return [name for name in trained if selector_of(name).network == "classifier"]


def scored(setup: Setup) -> list[str]:
    """Return the methods that score samples; SCLCS-Dense is SCLCS with density."""
    able = [name for name in setup.options.methods if selector_of(name).can_balance]
    return [name for name in able if selector_of(name).name != "sclcs-dense"]


def _cells(what: str, setup: Setup) -> list[Cell]:
    options = setup.options
    methods, values = (
        (learners(setup), options.tasks) if what == "label" else (scored(setup), SAMPLINGS)
    )
    return [
        {"task": task, "method": method, what: value, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in methods
        for value in values
        for ratio in options.paper_ratios
        for seed in options.seeds()
    ]


def _choose(what: str, setup: Setup, cell: Cell) -> CoreSet:
    changes: dict[str, object] = (
        {"task": cell["label"]}
        if what == "label"
        else {"task": cell["task"], "density": cell["sampling"] == "density"}
    )
    return setup.select(cell["method"], cell["ratio"], cell["repeat"], **changes)


def _measure(what: str, setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    scorers = (setup.scorer, setup.sound_scorer)
    return measure_agreement(setup, cells, partial(_choose, what), scorers)


def _summarise(what: str, measured: pd.DataFrame) -> pd.DataFrame:
    keys = ("task", "method", what, "ratio")
    if what == "label":
        return summarise_agreement(measured, keys, "table7")
    nothing = {"paper_mean": float("nan"), "paper_std": float("nan")}
    return summarise_measures(measured, keys).assign(**nothing)


def _tables(what: str, summary: pd.DataFrame) -> list[Table]:
    def caption(group: dict[str, str]) -> str:
        return f"Ranking for {group['task']}, {WORDS[what]}"

    return agreement_tables(summary, ("task", "score", "gain"), caption, ("method", what))


def _draw(what: str, outcome: Outcome) -> Figure:
    shown = usual(outcome.summary, "ndcg@10")
    tasks, ratios = list(dict.fromkeys(shown["task"])), sorted(set(shown["ratio"]))
    values = list(dict.fromkeys(shown[what]))
    figure, axes = grid(len(tasks), len(ratios), (3.3, 2.9))
    for row, task in enumerate(tasks):
        for column, ratio in enumerate(ratios):
            part = shown[(shown["task"] == task) & (shown["ratio"] == ratio)]
            panel = axes[row][column]
            paired_bars(panel, part, what, values, "learned " if what == "label" else "")
            panel.set_ylim(0, 1.05)
            finish(panel, f"{task}, {100 * ratio:g} %", "", "nDCG@10" if column == 0 else "")
    axes[0][0].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def _register(name: str, what: str, title: str, paper: str) -> Experiment:
    return register(
        Experiment(
            name=name,
            title=title,
            paper=paper,
            cells=partial(_cells, what),
            measure=partial(_measure, what),
            summarise=partial(_summarise, what),
            tables=partial(_tables, what),
            draw=partial(_draw, what),
            version=2,
        )
    )


LABELS = _register(
    "table7",
    "label",
    "Does it matter what the baselines' classifier learns?",
    "Tables 7 and 8 (influence of labels on baselines)",
)
SAMPLING = _register(
    "figure5",
    "sampling",
    "Does density-balanced sampling help other scores too?",
    "Figures 5 and 6 (rank-based against density-based sampling)",
)
