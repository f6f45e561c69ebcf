"""The main question once more, with scores that a reviewer would sign beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.agreement import (
    CHANCE,
    MEASURES,
    PRIOR,
    REGRET,
    YARDSTICKS,
    ceiling_rows,
    choose_for_task,
    measure_agreement,
    yardstick_rows,
)
from paper.scorer import SOUND, Scorer
from paper.setup import Cell, Experiment, Measured, Outcome, Row, Setup, register
from paper.summary import (
    aggregate,
    agreement_tables,
    curves_by_ratio,
    grid,
)
from paper.tables import Table, number
from sclcs.cohort import CoreSet
from sclcs.report.figures import MUTED

PAPER = "cohen_d"
HALVES = "halves"  # a row that is no method
FULL = "full"  # nor is this: the two scores against each other
FIXED = (HALVES, FULL, *YARDSTICKS)
SCORE_WORDS = {
    SOUND: "sound score (share; subject: Cohen's d over windows that share no time points)",
    PAPER: "the paper's way (Cohen's d, pairs pooled, overlapping windows)",
}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    cells: list[Cell] = [
        {"task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in options.methods
        for ratio in options.ratios
        for seed in options.seeds(method)
    ]
    return cells + [
        {"task": task, "method": what, "ratio": 1.0, "repeat": options.seed}
        for task in options.tasks
        for what in FIXED
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    scorers = (setup.scorer, setup.sound_scorer)
    real = [cell for cell in cells if cell["method"] not in FIXED]
    for cell in cells:
        if cell["method"] in FIXED:
            yield cell, _fixed_rows(setup, scorers, cell)
    known: dict[str, CoreSet] = {}

    def choose(setup: Setup, cell: Cell) -> CoreSet:
        key = repr(cell)
        if key not in known:
            known[key] = choose_for_task(setup, cell)
        return known[key]

    rows: dict[str, list[Row]] = {}
    for scorer in scorers:
        for cell, found in measure_agreement(setup, real, choose, scorer):
            rows.setdefault(repr(cell), []).extend(_usual(found))
    for cell in real:
        yield cell, rows[repr(cell)]


def _fixed_rows(setup: Setup, scorers: Sequence[Scorer], cell: Cell) -> list[Row]:
    """Return what no core-set is needed for."""
    task, method = cell["task"], cell["method"]
    if method == HALVES:
        asked = (task, setup.options.splits, cell["repeat"])
        return _usual([row for one in scorers for row in ceiling_rows(one, *asked)])
    if method == FULL:
        return [_between(*(scorer.full(task) for scorer in scorers))]
    return _usual([row for scorer in scorers for row in yardstick_rows(setup, scorer, cell)])


def _usual(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["gain"] == "minmax" and row["score"] in {PAPER, SOUND}]


def _between(paper: pd.DataFrame, sound: pd.DataFrame) -> Row:
    """Compare the paper's ranking with the sound one, both on everybody."""
    from sclcs.stats import consistency

    found = consistency(sound[SOUND], paper[PAPER], (5, 10, 20))
    same = {name: found[name] for name in MEASURES}
    return {"score": SOUND, "gain": "minmax", **same, REGRET: float("nan")}


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ("task", "method", "ratio", "score", "gain")
    table = pd.concat(
        [aggregate(measured, keys, MEASURES), aggregate(measured, keys, (REGRET,), "max")],
        ignore_index=True,
    )
    return table.assign(paper_mean=float("nan"), paper_std=float("nan"))


def _tables(summary: pd.DataFrame) -> list[Table]:
    methods = summary[~summary["method"].isin(FIXED)]
    return [*agreement_tables(methods, ("task", "score"), _caption), _fixed(summary)]


def _caption(facts: dict[str, str]) -> str:
    if facts["measure"] == REGRET:
        return (
            f"What the operator that is best on the core-set loses on everybody, for "
            f"{facts['task']}, {SCORE_WORDS[facts['score']]}. In percent of best minus median: "
            "mean ±std (worst)."
        )
    return (
        f"{facts['measure'].replace('ndcg', 'nDCG')} with the full ranking for {facts['task']}, "
        f"{SCORE_WORDS[facts['score']]}, gain `minmax`. In percent: mean ±std (worst)."
    )


def _fixed(summary: pd.DataFrame) -> Table:
    names = {
        HALVES: "two halves of the subjects",
        FULL: "the paper's way and the sound score",
        CHANCE: "the truth and a random order",
        PRIOR: "the truth and an estimate without a core-set",
    }
    fixed = summary[summary["method"].isin(list(names))]
    rows = [
        [
            str(task),
            str(score),
            names[str(method)],
            *(number(100 * value) for value in part["mean"]),
        ]
        for (task, score, method), part in fixed.groupby(["task", "score", "method"], sort=False)
    ]
    caption = "Agreement of rankings of all operators that no core-set is needed for, in percent."
    return Table("fixed", caption, ["task", "score", "between", *MEASURES, REGRET], rows)


def _draw(outcome: Outcome) -> Figure:
    shown = outcome.summary[outcome.summary["measure"] == "ndcg@10"]
    tasks = list(dict.fromkeys(shown["task"]))
    figure, axes = grid(len(tasks), 2, (4.6, 3.1))
    for row, task in enumerate(tasks):
        for column, score in enumerate((SOUND, PAPER)):
            part = shown[(shown["task"] == task) & (shown["score"] == score)]
            panel = axes[row][column]
            methods = part[~part["method"].isin(FIXED)]
            words = "sound score" if score == SOUND else "the paper's way"
            curves_by_ratio(panel, methods, f"{task}: {words}", "nDCG@10")
            for level in part.loc[part["method"] == HALVES, "mean"]:
                panel.axhline(level, color=MUTED, linewidth=1, linestyle=":")
            panel.set_ylim(0, 1.03)
    axes[0][0].legend(frameon=False, fontsize=7, loc="lower right")
    figure.suptitle("Dotted: two halves of the subjects.", fontsize=8, color=MUTED)
    return figure


EXPERIMENT = register(
    Experiment(
        name="sound",
        title="Do core-sets keep the ranking by a sound score, too?",
        paper="not in the paper (its Tables 2 and 3 with equal classes and no shared time points)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        version=2,
    )
)
