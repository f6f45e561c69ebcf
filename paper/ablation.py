"""What in the encoder matters: preset, epochs, heads, width, and the share filtered out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import spearmanr

from paper.agreement import MEASURES, measure_agreement
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import aggregate, beside_paper, grid, paper_agreement, usual
from paper.tables import Table, beside, number, spread
from sclcs.cohort import CoreSet
from sclcs.coresets import PRESETS, trained_encoder
from sclcs.report.figures import BLUE, ORANGE, finish

RATIO = 0.1
HEADS, DIMS, BETAS = (4, 16, 32), (8, 32, 64), (0.0, 0.05, 0.1, 0.2, 0.3)
TOY_HEADS, TOY_DIMS, TOY_BETAS = (2, 4), (4, 8), (0.0, 0.1)
MOST_SEEDS = 5  # every combination is a training of its own
SHORTER = 2  # trainings that compare heads and widths are so many times shorter
PAPER_NAMES = {"paper": "sclcs", "mha": "sps-mha"}


def _axes(setup: Setup) -> dict[str, tuple[Any, ...]]:
    toy, epochs = setup.options.toy, setup.options.epochs
    lengths = tuple(sorted({max(1, round(epochs * part)) for part in (0.25, 0.5, 0.75, 1.0)}))
    return {
        "preset": tuple(PRESETS),
        "epochs": lengths,
        "heads": TOY_HEADS if toy else HEADS,
        "dim": TOY_DIMS if toy else DIMS,
        "beta": TOY_BETAS if toy else BETAS,
    }


def _cells(setup: Setup) -> list[Cell]:
    ratio = RATIO if RATIO in setup.options.ratios else setup.options.ratios[0]
    return [
        {
            "what": what,
            "value": str(value),
            "task": task,
            "method": "sclcs",
            "ratio": ratio,
            "repeat": seed,
        }
        for what, values in _axes(setup).items()
        for value in values
        for task in setup.options.tasks
        for seed in _seeds(setup)
    ]


def _changes(setup: Setup, what: str, value: str) -> dict[str, Any]:
    """Return what a row changes about the encoder's settings.

    Presets are trained for the same number of epochs: only what they do differs.
    """
    epochs = setup.options.epochs
    usual = {"heads": TOY_HEADS[0], "dim": TOY_DIMS[0]} if setup.options.toy else {}
    if what in ("preset", "beta"):
        return {"preset": value if what == "preset" else "paper", "epochs": epochs}
    if what == "epochs":
        return usual | {"epochs": int(value)}
    return usual | {what: int(value), "epochs": max(1, epochs // SHORTER)}


def _choose(setup: Setup, cell: Cell) -> CoreSet:
    what, value = cell["what"], cell["value"]
    method, more = ("sclcs-dense", {"beta": float(value)}) if what == "beta" else ("sclcs", {})
    changes = _changes(setup, what, value)
    return setup.select(method, cell["ratio"], cell["repeat"], **changes, **more)


def _seeds(setup: Setup) -> list[int]:
    """Return the seeds; two are needed to see how far scores repeat."""
    first = setup.options.seed
    return [first + number for number in range(min(MOST_SEEDS, max(2, setup.options.repeats)))]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    stable: dict[tuple[str, str], float] = {}
    for cell, rows in measure_agreement(setup, cells, _choose):
        key = (cell["what"], cell["value"])
        if key not in stable:
            stable[key] = _stability(setup, *key)
        yield cell, [{**row, "stability": stable[key]} for row in rows]


def _stability(setup: Setup, what: str, value: str) -> float:
    """Return the mean rank correlation of the scores of two seeds."""
    changes = _changes(setup, what, value)
    preset = changes.pop("preset", "paper")
    runs = [trained_encoder(setup.cohort, preset, seed=seed, **changes) for seed in _seeds(setup)]
    return seeds_agree([run.scores for run in runs])


def seeds_agree(scores: Sequence[NDArray[np.float64]]) -> float:
    """Return the mean Spearman correlation of all pairs of score vectors."""
    values = []
    for one, other in combinations(scores, 2):
        both = np.isfinite(one) & np.isfinite(other)
        values.append(float(spearmanr(one[both], other[both]).statistic))
    return float(np.mean(values))


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["what", "value", "task", "ratio", "score", "gain"]
    table = aggregate(measured, keys, [*MEASURES, "stability"])
    table["method"] = np.where(table["what"] == "preset", table["value"].map(PAPER_NAMES), "")
    published = paper_agreement("table2")
    joined = beside_paper(table, published, ["method", "task", "ratio", "measure"])
    return joined.drop(columns="method")


def _tables(summary: pd.DataFrame) -> list[Table]:
    chosen = usual(summary)
    tasks = list(dict.fromkeys(chosen["task"]))
    shown = [(task, f"ndcg@{k}") for task in tasks for k in (5, 10)] + [(tasks[0], "stability")]
    cells = {
        (row["what"], str(row["value"]), row["task"], row["measure"]): row
        for row in chosen.to_dict(orient="records")
    }
    names = list(dict.fromkeys((key[0], key[1]) for key in cells))
    rows = [
        [*name, *(_cell(cells.get((*name, *column)), column[1]) for column in shown)]
        for name in names
    ]
    header = ["what", "value", *(f"{task}, {measure}" for task, measure in shown[:-1]), "stability"]
    caption = (
        f"SCLCS with one thing changed, {100 * chosen['ratio'].iloc[0]:g} % of the samples, score "
        "`cohen_d`, gain `minmax`; in percent, our mean ±std over the seeds / the paper's. "
        "Stability: mean rank correlation of the scores of two seeds. Presets and beta were "
        "trained for the largest number of epochs in the rows about epochs; heads and width are "
        f"compared at 1/{SHORTER} of it."
    )
    return [Table("ablation", caption, header, rows)]


def _cell(row: Mapping[Any, Any] | None, measure: str) -> str:
    if row is None:
        return "–"
    if measure == "stability":
        return number(row["mean"], 2)
    ours = spread(100 * row["mean"], 100 * row["std"])
    return beside(ours, spread(100 * row["paper_mean"], 100 * row["paper_std"]))


def _draw(outcome: Outcome) -> Figure:
    shown = usual(outcome.summary, "ndcg@10")
    kinds = [what for what, _ in groupby(shown["what"])]
    figure, axes = grid(1, len(kinds), (2.7, 2.9))
    colours = (BLUE, ORANGE)
    for panel, what in zip(axes[0], kinds, strict=True):
        for task, colour in zip(dict.fromkeys(shown["task"]), colours, strict=False):
            part = shown[(shown["what"] == what) & (shown["task"] == task)]
            ticks = range(len(part))
            error = part["std"].fillna(0.0)
            panel.errorbar(ticks, part["mean"], error, marker="o", color=colour, label=str(task))
            panel.set_xticks(ticks, part["value"].astype(str), rotation=45, ha="right")
        panel.set_ylim(0, 1.03)
        finish(panel, what, "", "nDCG@10" if what == kinds[0] else "")
    axes[0][0].legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT = register(
    Experiment(
        name="ablation",
        title="Which choices in the encoder change the core-set?",
        paper="the rows SPS-MHA of Tables 2 and 3; grids of the settings without results",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
