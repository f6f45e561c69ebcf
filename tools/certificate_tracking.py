"""Measure whether the certificate of a guided core-set tells how good that core-set is.

    python tools/certificate_tracking.py results --out results/guided/certificate.csv

Reads the committed measurements of the experiment `guided` (results/guided*/cells.csv): what every
core-set expected of itself, and what it reached on operators that nobody looked at. Within
one size, the two should go together if something were to be chosen by it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

FEWEST = 8  # core-sets of a size, to speak of a correlation
PAIRS = {"ndcg@10": "ndcg_expected", "kendall": "kendall_expected"}


def main() -> None:
    """Write one row per result, task and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [
        row
        for file in sorted(options.results.glob("guided*/cells.csv"))
        for row in correlations(file.parent.name, pd.read_csv(file))
    ]
    table = pd.DataFrame(rows)
    table.to_csv(options.out, index=False, float_format="%.3f", lineterminator="\n")
    print(table.groupby("task")[[f"correlation_{name}" for name in PAIRS]].describe().T.round(2))


def correlations(name: str, cells: pd.DataFrame) -> list[dict[str, object]]:
    """Return the correlation of expectation and outcome over the core-sets of each size."""
    known = cells[cells["ndcg_expected"].notna()]
    rows = []
    for (task, ratio), part in known.groupby(["task", "ratio"]):
        if len(part) < FEWEST:
            continue
        row: dict[str, object] = {"result": name, "task": task, "ratio": ratio, "n": len(part)}
        for reached, expected in PAIRS.items():
            row[f"expected_{reached}"] = part[expected].mean()
            row[f"reached_{reached}"] = part[reached].mean()
            row[f"correlation_{reached}"] = part[expected].corr(part[reached])
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
