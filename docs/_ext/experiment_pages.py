"""Tables of the pages of results, made from the committed results by the code that made them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from markdown_table import table

from paper import EXPERIMENTS
from paper.summary import main_table

RESULTS = Path(__file__).resolve().parents[2] / "results"
#: Tables that a page shows, by result: which of the experiment's tables (by name).
SHOWN = {
    "table2": ("diagnosis-sound-minmax-versus-random",),
    "headline": ("headline",),
    "soundness": ("level", "noisier", "power", "best-set", "order"),
    "kinds": ("verdicts", "coverage"),
    "estimation": ("bars", "confirmations"),
}


def section_names() -> list[str]:
    """Return the results of which a page shows tables."""
    return list(SHOWN)


def experiment_section(name: str) -> str:
    """Return the tables of a result."""
    summary = pd.read_csv(RESULTS / f"{name}.csv")
    tables = {shown.name: shown for shown in EXPERIMENTS[name].tables(summary)}
    return "\n".join(tables[wanted].markdown() for wanted in SHOWN[name])


def main_section() -> str:
    """Return Tables 2 and 3 in short, ours above the paper's."""
    return main_table(pd.read_csv(RESULTS / "table2.csv")).markdown()


def experiments_table() -> str:
    """Return the list of experiments."""
    rows = [(f"`{e.name}`", e.title, e.paper) for e in EXPERIMENTS.values()]
    return table(["experiment", "question", "in the paper"], rows)
