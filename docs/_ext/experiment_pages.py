"""Sections about experiments, made from their committed results by the code that made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_table import table

from paper import EXPERIMENTS

RESULTS = Path(__file__).resolve().parents[2] / "results"
#: Tables that the page shows (by the start of their names); all others are in table.md.
SHOWN = {
    "table2": (
        "subject-cohen_d-minmax-ndcg@10",
        "diagnosis-cohen_d-minmax-ndcg@10",
        "diagnosis-cohen_d-minmax-regret",
        "subject-ratio-raw-ndcg@5",
        "diagnosis-ratio-raw-ndcg@5",
        "ceiling",
    ),
    "sound": (
        "diagnosis-sound-ndcg@10",
        "diagnosis-sound-regret",
        "diagnosis-cohen_d-ndcg@10",
        "subject-sound-ndcg@10",
        "subject-cohen_d-ndcg@10",
        "fixed",
    ),
    "table7": ("subject-cohen_d-minmax-ndcg@10", "diagnosis-cohen_d-minmax-ndcg@10"),
    "figure5": ("subject-cohen_d-minmax-ndcg@10", "diagnosis-cohen_d-minmax-ndcg@10"),
    "table9": tuple(
        f"{name}-{task}-{score}-ndcg@10"
        for name in ("slow", "mixture")
        for task in ("subject", "diagnosis")
        for score in ("cohen_d-minmax", "ratio-raw")
    ),
    "table11": ("short-subject-cohen_d-minmax-ndcg@10", "short-diagnosis-cohen_d-minmax-ndcg@10"),
}
#: Results on another cohort, and the experiment that made them.
OTHER_COHORTS = {
    "table2-766": "table2",
    "table2-official": "table2",
    "sound-trained": "sound",
    "sound-766": "sound",
    "estimation-sps": "estimation",
    "estimation-sps-psychosis": "estimation",
    "estimation-psychosis": "estimation",
    "estimation-766": "estimation",
    "estimation-simulated": "estimation",
    "estimation-slow": "estimation",
}


#: Results from before versions were recorded, of a version that is not today's.
OLDER = {"estimation-slow": 2, "soundness": 1}


def section_names() -> dict[str, str]:
    """Return the folder of every result and the experiment it belongs to."""
    return {name: name for name in EXPERIMENTS} | OTHER_COHORTS


def experiment_section(folder_name: str) -> str:
    """Return the tables, the figure and the command of one result."""
    name = section_names()[folder_name]
    folder = RESULTS / folder_name
    if not (folder / "summary.csv").exists():
        return f"Not run on the real cohort yet: `python -m paper {name}` does it.\n"
    facts = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    parts = _tables(name, folder, facts)
    cohort, options = facts["cohort"], facts["options"]
    figure = f"![{EXPERIMENTS[name].title}](../../results/{folder_name}/figure.png)\n"
    facts_line = (
        f"{cohort['samples']} samples of {cohort['subjects']} subjects, {facts['cells']} cells, "
        f"{facts['cpu_seconds']:.0f} CPU seconds besides trainings and matrices that were kept; "
        f"encoder {options['epochs']} epochs, classifier {options['classifier_epochs']}, "
        f"{options['repeats']} repeats. Everything else, in `results/{folder_name}`: all "
        "tables (`table.md`, `table.tex`), every measurement (`cells.csv`).\n"
    )
    parts += [figure, f"```text\n{facts['command']}\n```\n", facts_line]
    return "\n".join(parts)


def _tables(name: str, folder: Path, facts: dict[str, Any]) -> list[str]:
    """Return the tables; those of an older version of the experiment as it wrote them."""
    version = facts.get("version", OLDER.get(folder.name, EXPERIMENTS[name].version))
    if version != EXPERIMENTS[name].version:
        note = f"Made by version {version} of the experiment; the code has version "
        note += f"{EXPERIMENTS[name].version}, which measures more.\n"
        return [note, (folder / "table.md").read_text(encoding="utf-8")]
    tables = EXPERIMENTS[name].tables(pd.read_csv(folder / "summary.csv"))
    wanted = SHOWN.get(name, ("",))
    return [shown.markdown() for start in wanted for shown in tables if _matches(shown.name, start)]


def _matches(name: str, start: str) -> bool:
    """Return whether a table is meant; the number of operators in a name does not matter."""
    words = [word for word in name.split("-") if not word.isdigit()]
    return "-".join(words).startswith(start)


def experiments_table() -> str:
    """Return the list of experiments."""
    rows = [(f"`{e.name}`", e.title, e.paper) for e in EXPERIMENTS.values()]
    return table(["experiment", "question", "in the paper"], rows)
