"""Is the best operator for fingerprinting the same with fewer regions? The psychosis cohort.

python tools/region_cuts.py psychosis_419.npz --out results/region-cuts

Two sessions, three months apart, all 419 regions and every 4th and 13th of them (105 and 33),
two preprocessings; a few cheap operators of different families, so that 419 regions take seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from sclcs import Cohort
from sclcs._core import write_text
from sclcs.stats import rank

CUTS = {419: 1, 105: 4, 33: 13}
PREPROCESSINGS = ("timeseries", "timeseries_gmr")
OPERATORS = (
    "cov_EmpiricalCovariance", "prec_LedoitWolf", "prec_ShrunkCovariance", "spearmanr",
    "mi_gaussian", "pdist_cityblock", "xcorr_max_sig-True", "pec",
)  # fmt: skip


def measure(source: Path, operators: tuple[str, ...] = OPERATORS) -> pd.DataFrame:
    """Rank the operators of every cut and preprocessing for fingerprinting."""
    found = []
    with np.load(source, allow_pickle=False) as data:
        subjects, sessions = data["subject"].astype(str), data["session"].astype(np.int64)
        facts = pd.DataFrame(
            {"subject": subjects, "window": sessions - 1},
            index=[f"{who}_{when}" for who, when in zip(subjects, sessions, strict=True)],
        )
        for name in PREPROCESSINGS:
            signals = data[name].transpose(0, 2, 1)
            for regions, step in CUTS.items():
                cut = Cohort(signals[:, ::step].astype(np.float32), facts)
                ranking = rank(cut, "subject", list(operators), bootstrap=200, permutations=0)
                columns = ["spi", "score", "low", "high", "best_set"]
                table = ranking.table[columns].assign(preprocessing=name, regions=regions)
                found.append(table)
    return pd.concat(found, ignore_index=True)


def table_of(cells: pd.DataFrame) -> str:
    """Return scores by cut, and how alike the orders are."""
    wide = cells.pivot_table(index="spi", columns=["preprocessing", "regions"], values="score")
    wide = wide[[(name, regions) for name in PREPROCESSINGS for regions in CUTS]]
    best = cells.set_index(["preprocessing", "regions", "spi"])["best_set"]
    lines = [f"| operator | {' | '.join(f'{n}, {r}' for n, r in wide.columns)} |"]
    lines.append("|---" * (wide.shape[1] + 1) + "|")
    for spi, values in wide.sort_values(wide.columns[0], ascending=False).iterrows():
        texts = [
            f"{value:.2f}" + (" *" if best[(*column, spi)] else "")
            for column, value in values.items()
        ]
        lines.append(f"| `{spi}` | {' | '.join(texts)} |")
    lines += ["", "Cohen's d of the same person against others; * could be the best (90 %).", ""]
    for name in PREPROCESSINGS:
        for one, two in combinations(CUTS, 2):
            tau = kendalltau(wide[name, one], wide[name, two]).statistic
            lines.append(f"- {name}: order with {one} and {two} regions, Kendall {tau:.2f}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write cells, table and README."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    cells = measure(given.source)
    given.out.mkdir(parents=True, exist_ok=True)
    cells.to_csv(given.out / "cells.csv", index=False, float_format="%.5g")
    table = table_of(cells)
    write_text(given.out / "table.md", table)
    command = f"python tools/region_cuts.py {given.source.name} --out results/{given.out.name}"
    spent = f"{len(cells)} cells, {time.process_time() - start:.0f} CPU seconds."
    head = f"# {given.out.name}\n\n```text\n{command}\n```\n\n92 scans of 55 patients. {spent}\n\n"
    write_text(given.out / "README.md", head + table)


if __name__ == "__main__":
    main()
