"""Core-sets chosen on half of the subjects, judged by the ranking of the other half."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sclcs.cohort.coreset import CoreSet
from sclcs.core.progress import track
from sclcs.core.seeds import generator
from sclcs.experiments.agreement import agreement_rows, choose_for_task
from sclcs.experiments.figures import grid
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.scorer import SOUND
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.summary import CHANCE, PRIOR, summarise_measures
from sclcs.experiments.tables import Table, number, spread
from sclcs.experiments.yardsticks import estimate_without_scans, shuffled
from sclcs.report.style import BLUE, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY"]

WHOLE = "whole half"  # every sample of the half on which others choose
MOST_SHARE = 0.1
SHOWN = {"ndcg@10": "nDCG@10", "kendall": "Kendall", "regret": "regret"}


@dataclass(frozen=True, eq=False)
class _Halves:
    """A split of the subjects: a setup of those on whom is chosen, and the samples of both."""

    setup: Setup
    chosen_on: CoreSet
    judged_on: CoreSet


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    choices = [(WHOLE, 0.5), (PRIOR, 0.0), (CHANCE, 0.0)]
    choices += [(name, r) for name in options.methods for r in options.ratios_up_to(MOST_SHARE)]
    return [
        {"task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method, ratio in choices
        for seed in options.seeds()
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    halves = cache(lambda number: _split(setup, number))
    requests: list[tuple[str, CoreSet]] = []
    for cell in track(cells, "choosing on half of the subjects"):
        split = halves(cell["repeat"])
        requests += [(cell["task"], split.judged_on), (cell["task"], _chosen(split, cell))]
    found = iter(setup.sound_scorer.core(requests))
    for cell in cells:
        truth, core = next(found), next(found)
        yield cell, _usual(agreement_rows(truth, _guess(setup, cell, truth, core)))


def _guess(setup: Setup, cell: Cell, truth: pd.DataFrame, core: pd.DataFrame) -> pd.DataFrame:
    """Return what a cell says about all operators: scores on its samples, or a yardstick."""
    if cell["method"] == PRIOR:
        return estimate_without_scans(setup, core)
    return shuffled(truth, int(cell["repeat"])) if cell["method"] == CHANCE else core


def _chosen(split: _Halves, cell: Cell) -> CoreSet:
    """Return the samples that are scored; without a core-set, the whole half."""
    if cell["method"] in (WHOLE, PRIOR, CHANCE):
        return split.chosen_on
    core = choose_for_task(split.setup, cell)
    return CoreSet(core.sample_ids, core.method, weight=core.weight)


def _split(setup: Setup, number: int) -> _Halves:
    samples = setup.cohort.samples
    names = samples["subject"].astype(str)
    order = generator(number, "newcomers", "subjects").permutation(sorted(set(names)))
    inside = names.isin(set(order[: len(order) // 2])).to_numpy()
    first, second = (list(samples.index[part]) for part in (inside, ~inside))
    half = setup.cohort.take(np.flatnonzero(inside))
    place = setup.fc.with_name(f"{setup.fc.name}-half-{number}")
    return _Halves(Setup(half, place, setup.options), CoreSet(first), CoreSet(second))


def _usual(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["gain"] == "minmax" and row["score"] == SOUND]


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    return summarise_measures(measured, ("task", "method", "ratio"))


def _tables(summary: pd.DataFrame) -> list[Table]:
    rows = []
    for names, part in summary.groupby(["task", "method", "ratio"], sort=False):
        task, method, ratio = map(str, names)
        cells = {str(row["measure"]): row for row in part.to_dict(orient="records")}
        texts = [_text(cells[name], name) for name in SHOWN]
        with_size = method not in (WHOLE, PRIOR, CHANCE)
        share = f"{number(100 * float(ratio), 0)} %" if with_size else "–"
        rows.append([task, method, share, *texts])
    splits = int(summary["n"].max()) if len(summary) else 0
    caption = (
        f"Chosen on half of the subjects, judged by the ranking of the other half ({splits} random "
        "splits), sound score of each task: mean ±std (worst). The whole half is what nobody can "
        "be expected to beat; prior: exact scores of the panel on that half, and the geometry that "
        "comes with the package. Regret in percent of best minus median of the other half."
    )
    return [Table("newcomers", caption, ["task", "chosen by", "share", *SHOWN.values()], rows)]


def _text(row: Mapping[Any, Any], name: str) -> str:
    scale, digits = (100.0, 0) if name == "regret" else (1.0, 2)
    mean, std, worst = (scale * float(row[part]) for part in ("mean", "std", "worst"))
    return spread(mean, std, worst, digits)


def _draw(outcome: Outcome) -> Figure:
    shown = outcome.summary[outcome.summary["measure"] == "kendall"]
    tasks = list(dict.fromkeys(shown["task"]))
    figure, axes = grid(1, len(tasks), (4.2, 3.0))
    for panel, task in zip(axes[0], tasks, strict=True):
        part = shown[shown["task"] == task]
        names = [f"{m} {100 * r:g} %" for m, r in zip(part["method"], part["ratio"], strict=True)]
        places = np.arange(len(part))
        panel.errorbar(part["mean"], places, xerr=part["std"].fillna(0.0), fmt="o", color=BLUE)
        panel.set_yticks(places, names, fontsize=7)
        panel.invert_yaxis()
        finish(panel, str(task), "Kendall with the other half")
    return figure


STUDY = register(
    Experiment(
        name="newcomers",
        title="Does a core-set chosen on some subjects rank operators as other subjects do?",
        paper="not in the paper (it judges by the subjects on whom was chosen)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
