"""Are rows of `results/soundness` outside their bars by luck? All cohorts without an effect, anew.

python tools/no_effect_again.py --seed 1 --cohorts 200 --out results/soundness-again

Another seed is another population and other cohorts. All rows are asked again, not only those
that missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))  # paper/ is no installed package
from paper.soundness_cohorts import CONDITIONS, FULL, Condition, measure_cohort
from sclcs._core import write_text

BARS = ("no effect", "site as covariate", "within site")


def one_row(condition: Condition, cohorts: int, seed: int) -> dict[str, object]:
    """Measure fresh cohorts of one row of the table of bars."""
    found = pd.DataFrame([measure_cohort(condition, k, seed, FULL) for k in range(cohorts)])
    error = found["share"].std() / np.sqrt(cohorts)
    return {
        "bar": condition.bar,
        "sizes": condition.groups.sizes,
        "cohorts": cohorts,
        "found": found["found"].mean(),
        "share": found["share"].mean(),
        "share_se": error,
        "scattered": found["scattered"].mean(),
    }


def table_of(rows: pd.DataFrame) -> str:
    """Return the rows, and all of them together, as Markdown."""
    lines = [
        "| question | controls:patients | cohorts | false alarms | share (s.e.) | scatter named |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['bar']} | {row['sizes']} | {row['cohorts']} | {row['found']:.1%} | "
        f"{row['share']:+.4f} ({row['share'] / row['share_se']:+.1f}) | "
        f"{row['scattered']:.1%} |"
        for row in rows.to_dict(orient="records")
    ]
    means = rows[["found", "scattered"]].mean()
    error = np.sqrt(means["found"] * (1 - means["found"]) / rows["cohorts"].sum())
    lines.append(
        f"| all | | {rows['cohorts'].sum()} | {means['found']:.1%} ± {error:.1%} | | "
        f"{means['scattered']:.1%} |"
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write cells, table and README."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cohorts", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    start = time.process_time()
    asked = [condition for condition in CONDITIONS if condition.bar in BARS]
    rows = pd.DataFrame([one_row(condition, given.cohorts, given.seed) for condition in asked])
    table = table_of(rows)
    given.out.mkdir(parents=True, exist_ok=True)
    rows.to_csv(given.out / "cells.csv", index=False)
    write_text(given.out / "table.md", table)
    called = (
        f"python tools/no_effect_again.py --seed {given.seed} --cohorts {given.cohorts} "
        f"--out results/{given.out.name}"
    )
    spent = f"{time.process_time() - start:.0f} CPU seconds. {__doc__.split(chr(10) * 2)[2]}"
    write_text(
        given.out / "README.md",
        f"# {given.out.name}\n\n```text\n{called}\n```\n\n{spent}\n\n{table}",
    )
    print(table)


if __name__ == "__main__":
    main()
