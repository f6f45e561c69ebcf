"""Do core-sets look like the cohort: subjects, classes, sites."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from paper.setup import Cell, Experiment, Measured, Outcome, Setup, asks_task, register
from paper.summary import aggregate, beside_paper, curves_by_ratio, grid, method_order
from paper.tables import Table, beside, number, paper_table, spread
from sclcs._core import track
from sclcs.stats import balance

MEASURES = {
    "samples_per_subject": "S-I balance",
    "class_ratio": "M-H balance",
    "site_l1_samples": "site L1, samples",
    "site_l1_subjects": "site L1, subjects",
}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    return [
        {"method": method, "label": label, "ratio": ratio, "repeat": seed}
        for method in options.methods
        for label in (options.tasks if asks_task(method) else ("",))
        for ratio in options.ratios
        for seed in options.seeds(method)
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    columns = setup.cohort.samples.columns
    labels = [name for name in ("site", "diagnosis") if name in columns]
    for cell in track(cells, "balance of core-sets"):
        asked = {"task": cell["label"]} if cell["label"] else {}
        core = setup.select(cell["method"], cell["ratio"], cell["repeat"], **asked)
        found = balance(setup.cohort, core, labels)
        yield cell, [{name: found.get(name, math.nan) for name in MEASURES}]


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    finite = measured.replace([math.inf, -math.inf], math.nan)  # no control was chosen at all
    table = aggregate(finite, ["method", "label", "ratio"], list(MEASURES), worst="max")
    paper = paper_table("table10")
    paper["measure"] = "site_l1_" + paper["level"]
    # The paper's table does not say what the baselines' classifier had learned.
    published = paper.rename(columns={"site_l1": "value"})
    return beside_paper(table, published, ["method", "ratio", "measure"])


def _named(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary with an empty word where a method asks for no task."""
    return summary.assign(label=summary["label"].astype(object).fillna(""))


def _tables(summary: pd.DataFrame) -> list[Table]:
    summary = _named(summary)
    tables = []
    for measure, name in MEASURES.items():
        part = summary[summary["measure"] == measure]
        ratios = sorted(set(part["ratio"]))
        cells = {
            (row["method"], row["label"], row["ratio"]): beside(
                spread(row["mean"], row["std"], digits=2), number(row["paper_mean"], 3)
            )
            for row in part.to_dict(orient="records")
        }
        order = method_order([key[0] for key in cells])
        names = sorted({key[:2] for key in cells}, key=lambda n: (order.index(n[0]), n[1]))
        rows = [[*pair, *(cells.get((*pair, ratio), "–") for ratio in ratios)] for pair in names]
        header = ["method", "learned or ranked for", *(f"{ratio:g}" for ratio in ratios)]
        tables.append(Table(measure, _caption(measure, name), header, rows))
    return tables


def _caption(measure: str, name: str) -> str:
    meaning = {
        "samples_per_subject": "chosen samples per covered subject; lower covers more subjects",
        "class_ratio": "cases per control among chosen samples; that of the cohort is the ideal",
        "site_l1_samples": "L1 distance of the shares of sites, over samples; lower is better",
        "site_l1_subjects": "L1 distance of the shares of sites, over subjects; lower is better",
    }
    return f"{name}: {meaning[measure]}. Our mean ±std / the paper's number, where it has one."


def _draw(outcome: Outcome) -> Figure:
    figure, axes = grid(2, 2, (4.4, 3.0))
    task = outcome.setup.options.tasks[-1]
    shown = _named(outcome.summary)
    shown = shown[shown["label"].isin(["", task])]
    for index, (measure, name) in enumerate(MEASURES.items()):
        panel = axes[index // 2][index % 2]
        curves_by_ratio(panel, shown[shown["measure"] == measure], name, "")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


EXPERIMENT = register(
    Experiment(
        name="table10",
        title="Do core-sets cover subjects, classes and sites?",
        paper="Figure 2 and Table 10 (coverage balance, site balance)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
