"""What everything costs: operators, selection methods, the whole cohort against a core-set."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.options import selector_of
from paper.setup import Cell, Experiment, Measured, Outcome, Row, Setup, register
from paper.summary import grid
from paper.tables import Table, beside, number, paper_table
from sclcs._core import track
from sclcs.report.figures import BLUE, MUTED, finish

TIMED_EPOCHS = 5
RATIO = 0.1
DAY = 86_400.0
BINS = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, np.inf)


def _cells(setup: Setup) -> list[Cell]:
    from sclcs.spi import catalogue

    operators = [{"what": "operator", "name": name} for name in catalogue().index]
    return operators + [{"what": "selector", "name": name} for name in setup.options.methods]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    from sclcs.spi import catalogue

    operators = catalogue()[["family", "implemented", "pyspi_seconds"]].to_dict(orient="index")
    store = setup.store()
    ours = store.status().groupby("spi")["seconds"].sum() / len(store)
    for cell in track(cells, "costs"):
        if cell["what"] == "selector":
            yield cell, [_time_selector(setup, cell["name"])]
        else:
            seconds = float(ours.get(cell["name"], np.nan))
            known = {str(name): value for name, value in operators[cell["name"]].items()}
            yield cell, [known | {"seconds": seconds}]


def _time_selector(setup: Setup, method: str) -> Row:
    """Train a few epochs into an empty cache, then choose again from what is kept."""
    selector = selector_of(method)
    given: dict[str, object] = {"task": setup.options.tasks[0]}
    seed = setup.options.seed
    if not selector.needs_training:
        seconds = _cpu_seconds(lambda: setup.select(method, RATIO, seed, **given))
        return {"seconds_per_epoch": np.nan, "seconds_score": seconds}
    epochs = min(TIMED_EPOCHS, setup.options.epochs)
    with tempfile.TemporaryDirectory() as folder:
        given |= {"epochs": epochs, "cache": folder}
        both = _cpu_seconds(lambda: setup.select(method, RATIO, seed, **given))
        again = _cpu_seconds(lambda: setup.select(method, RATIO, seed, **given))
    return {"seconds_per_epoch": max(both - again, 0.0) / epochs, "seconds_score": again}


def _cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    paper = paper_table("table6")
    names = {name: f"paper_{name}" for name in ("seconds_per_epoch", "seconds_score")}
    paper = paper.rename(columns=names | {"method": "name"}).assign(what="selector")
    return measured.merge(paper, "left", ["what", "name"])


def _tables(summary: pd.DataFrame) -> list[Table]:
    operators = summary[summary["what"] == "operator"]
    return [_bins(operators), _totals(operators), _selectors(summary)]


def _bins(operators: pd.DataFrame) -> Table:
    pyspi = np.histogram(operators["pyspi_seconds"], BINS)[0]
    ours = np.histogram(operators["seconds"].dropna(), BINS)[0]
    paper = paper_table("operator_times").set_index("seconds")["operators"].to_dict()
    printed = {1.0: paper[1], 10.0: paper[10], 100.0: paper[100], np.inf: paper[1000]}
    rows = [
        [
            f"{low:g} to {high:g}",
            str(pyspi[index]),
            str(ours[index]),
            str(printed.get(high, "–")),
        ]
        for index, (low, high) in enumerate(pairwise(BINS))
    ]
    header = ["seconds per sample", "pyspi, 33 x 70", "sclcs, this cohort", "paper, 33 x 240"]
    caption = (
        "Operators by the CPU time of one sample. The paper rounds its 266 operators to 1, 10, "
        "100 and 1000 s; they stand beside the bin that ends there (the first: up to 1 s)."
    )
    return Table("operators", caption, header, rows)


def _totals(operators: pd.DataFrame) -> Table:
    known = operators[operators["seconds"].notna()]
    paper = paper_table("operator_times")
    per_sample = {
        f"paper, {int(paper['operators'].sum())} operators, 33 x 240": float(
            (paper["seconds"] * paper["operators"]).sum()
        ),
        f"pyspi, all {len(operators)} operators, 33 x 70": float(operators["pyspi_seconds"].sum()),
        f"pyspi, the {len(known)} operators of the store": float(known["pyspi_seconds"].sum()),
        f"sclcs, the same {len(known)} operators": float(known["seconds"].sum()),
    }
    samples = int(paper_table("sites")["samples"].iloc[-1])
    rows = [
        [
            name,
            f"{seconds:.3g}",
            f"{seconds * samples / DAY:.3g}",
            f"{RATIO * seconds * samples / DAY:.3g}",
        ]
        for name, seconds in per_sample.items()
    ]
    header = ["what", "s per sample", f"CPU-days, {samples} samples", "CPU-days, a tenth of them"]
    caption = (
        "The whole cohort of the paper against a core-set of a tenth, extrapolated from the cost "
        "of one sample."
    )
    return Table("totals", caption, header, rows)


def _selectors(summary: pd.DataFrame) -> Table:
    selectors = summary[summary["what"] == "selector"]
    rows = [
        [
            row["name"],
            beside(number(row["seconds_per_epoch"], 2), number(row["paper_seconds_per_epoch"], 2)),
            beside(number(row["seconds_score"], 2), number(row["paper_seconds_score"], 2)),
        ]
        for row in selectors.to_dict(orient="records")
    ]
    header = ["method", "CPU s per epoch", "CPU s to score and choose"]
    caption = (
        "Cost of choosing a tenth: ours on this cohort, one CPU thread / the paper's on 4520 "
        "samples with a GPU."
    )
    return Table("selectors", caption, header, rows)


def _draw(outcome: Outcome) -> Figure:
    operators = outcome.summary[outcome.summary["what"] == "operator"]
    figure, axes = grid(1, 2, (4.8, 3.2))
    edges = np.logspace(-5, 3, 41).tolist()
    for column, label, colour in (
        ("pyspi_seconds", "pyspi", MUTED),
        ("seconds", "sclcs", BLUE),
    ):
        values = operators[column].dropna().clip(lower=1e-5)
        axes[0][0].hist(values, bins=edges, color=colour, alpha=0.7, label=label)
    axes[0][0].set_xscale("log")
    axes[0][0].legend(frameon=False, fontsize=8)
    finish(axes[0][0], "Operators by cost", "CPU seconds per sample", "operators")
    both = operators.dropna(subset=["seconds"])
    axes[0][1].loglog(both["pyspi_seconds"], both["seconds"].clip(lower=1e-5), "o", color=BLUE)
    line = [1e-4, 1e2]
    axes[0][1].loglog(line, line, color=MUTED, linewidth=1, linestyle=":")
    finish(axes[0][1], "Each operator", "pyspi, s per sample", "sclcs, s per sample")
    return figure


EXPERIMENT = register(
    Experiment(
        name="table6",
        title="What do operators, selection and the whole benchmark cost?",
        paper="Figure 4 and Table 6 (time of operators, cost of selection methods)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
