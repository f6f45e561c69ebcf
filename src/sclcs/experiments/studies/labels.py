"""Baselines whose classifier learned subjects, and ones whose classifier learned diagnoses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from sclcs.cohort.coreset import CoreSet
from sclcs.experiments.agreement import measure_agreement
from sclcs.experiments.figures import grid, paired_bars
from sclcs.experiments.options import PAPER_RATIOS
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Setup
from sclcs.experiments.summary import agreement_tables, method_order, summarise_agreement
from sclcs.experiments.tables import Table
from sclcs.report.style import finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LABELS"]


def learners(methods: Sequence[str]) -> list[str]:
    """Return the methods whose classifier can learn one label or another."""
    from sclcs.selection import SELECTORS

    known = {name: SELECTORS[name] for name in methods}
    return [name for name, s in known.items() if s.needs_training and "dimensions" in s.parameters]


def paper_ratios(setup: Setup) -> list[float]:
    """Return the options' sizes that the paper has too, or all if there is none."""
    ratios = setup.options.ratios
    return [ratio for ratio in ratios if ratio in PAPER_RATIOS] or list(ratios)


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    return [
        {"task": task, "method": method, "label": label, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in learners(options.methods)
        for label in options.tasks
        for ratio in paper_ratios(setup)
        for seed in options.seeds()
    ]


def _choose(setup: Setup, cell: Cell) -> CoreSet:
    return setup.select(cell["method"], cell["ratio"], cell["repeat"], task=cell["label"])


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    return measure_agreement(setup, cells, _choose)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ("task", "method", "label", "ratio")
    return summarise_agreement(measured, keys, "labels")


def _tables(summary: pd.DataFrame) -> list[Table]:
    return agreement_tables(summary, ("task", "score", "gain"), _caption, ("method", "label"))


def _caption(facts: dict[str, str]) -> str:
    return (
        f"Ranking for {facts['task']}, by what the baselines' classifier learned (label); score "
        f"`{facts['score']}`, gain `{facts['gain']}`. In percent: our mean ±std (worst) / the "
        "paper's mean ±std."
    )


def _draw(outcome: Outcome) -> Figure:
    usual = outcome.summary[
        (outcome.summary["score"] == "cohen_d") & (outcome.summary["gain"] == "minmax")
    ]
    shown = usual[(usual["measure"] == "ndcg@10") & (usual["ratio"] == usual["ratio"].min())]
    tasks = list(dict.fromkeys(shown["task"]))
    labels = list(dict.fromkeys(shown["label"]))
    figure, axes = grid(1, len(tasks), (4.6, 3.4))
    for panel, task in zip(axes[0], tasks, strict=True):
        part = shown[shown["task"] == task]
        names = method_order(list(part["method"]))
        pairs = pd.DataFrame(index=names)
        for column, label in zip(("one", "two"), labels, strict=False):
            rows = part[part["label"] == label].set_index("method")
            pairs[column], pairs[f"{column}_std"] = rows["mean"], rows["std"]
        paired_bars(panel, names, pairs, [f"learned {label}" for label in labels])
        panel.set_ylim(0, 1.05)
        title = f"ranking for {task}, {100 * shown['ratio'].min():g} %"
        finish(panel, title, "", "nDCG@10 (cohen_d, minmax)")
    axes[0][0].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


LABELS = register(
    Experiment(
        name="labels",
        title="Does it matter what the baselines' classifier learns?",
        paper="Tables 7 and 8 (influence of labels on baselines)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
