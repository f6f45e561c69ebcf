"""Keep what an experiment found in ``results/``: ``python -m paper.keep reproduced/table2``.

The summary becomes ``results/NAME.csv``, the record of the run its entry in
``results/experiments.json``, and a figure that is kept there already is renewed.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from sclcs._core import write_json

RESULTS = Path(__file__).parents[1] / "results"
RECORDED = ("command", "cohort", "options", "cells", "cpu_seconds", "version", "commit", "versions")


def keep(folder: Path, name: str | None = None, results: Path = RESULTS) -> None:
    """Copy the summary of a finished experiment, and record how it was made.

    Parameters
    ----------
    folder : Path
        Of :func:`~paper.run.run_experiment`.
    name : str, optional
        The result's; that of the experiment by default.
    results : Path
        Where results are kept.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    name = name or str(config["name"])
    shutil.copy(folder / "summary.csv", results / f"{name}.csv")
    if (results / f"{name}.png").exists():
        shutil.copy(folder / "figure.png", results / f"{name}.png")
    path = results / "experiments.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    record = {key: config[key] for key in RECORDED}
    known[name] = [{"experiment": config["name"], **record}]
    write_json(path, known)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", help="of the result, if it is not that of the experiment")
    given = parser.parse_args()
    keep(given.folder, given.name)
