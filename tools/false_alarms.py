"""Do the permutation tests keep their level whatever covariates are taken out? Simulated kernels.

python tools/false_alarms.py --repeats 2000 --out results/questions-level

Features of 60 subjects depend on the first covariate, which also goes together with the target
(correlation 0.6); the target itself changes nothing. A test at 5 % should find an "effect" in
5 % of such cohorts. One operator, so nothing but the test itself is tried.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from sclcs._core import ALPHA, generator, write_text
from sclcs.stats import FoldRules, Predictor, make_folds
from sclcs.stats.permutations import permutation_table
from sclcs.stats.share import make_share_model

SUBJECTS, FEATURES, SITES, CORRELATED, PERMUTATIONS = 60, 20, 4, 0.6, 199
#: Score, kind of target, covariates that are numbers, whether sites are a covariate as well.
CELLS = (
    ("share", "number", 0, False),
    ("share", "number", 1, False),
    ("share", "number", 5, False),
    ("share", "number", 15, False),
    ("share", "classes", 5, True),
    ("predict", "number", 1, False),
    ("predict", "number", 5, False),
)


def one_p(score: str, kind: str, n_numbers: int, sites: bool, seed: int) -> float:
    """Simulate one cohort without an effect and return its p."""
    random = generator(seed, "level", score, kind, n_numbers, sites)
    numbers = random.normal(size=(SUBJECTS, n_numbers))
    target = random.normal(size=SUBJECTS)
    features = random.normal(size=(SUBJECTS, FEATURES))
    if n_numbers:
        target = CORRELATED * numbers[:, 0] + np.sqrt(1 - CORRELATED**2) * target
        features += numbers[:, :1] * random.normal(size=FEATURES)
    covariates, blocks = np.c_[np.ones(SUBJECTS), numbers], np.zeros(SUBJECTS, dtype=np.int64)
    if sites:
        blocks = random.integers(0, SITES, SUBJECTS)
        features += random.normal(size=(SITES, FEATURES))[blocks]
        target = target + 0.5 * random.normal(size=SITES)[blocks]
        covariates = np.c_[covariates, blocks[:, None] == np.arange(1, SITES)]
    kernel = features @ features.T
    orders = permutation_table(blocks, PERMUTATIONS, seed)
    if score == "predict":
        folds = make_folds(np.arange(SUBJECTS), None, FoldRules(10, 1), seed)
        statistics = Predictor(target[:, None], covariates, folds).statistics(kernel, orders)
    else:
        asked = target if kind == "number" else (target > np.median(target)).astype(np.int64)
        model = make_share_model(asked, covariates, number=kind == "number")
        statistics = model.statistics(kernel, orders)
    return float((statistics >= statistics[0] - 1e-12).mean())


def main() -> None:
    """Measure, and write the table with its command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    start, rows = time.process_time(), []
    for cell in CELLS:
        repeats = given.repeats if cell[0] == "share" else given.repeats // 4
        found = np.mean([one_p(*cell, seed) <= ALPHA for seed in range(repeats)])
        names = ("score", "target", "numbers", "sites")
        error = np.sqrt(found * (1 - found) / repeats)
        rows.append(dict(zip(names, cell, strict=True)))
        rows[-1] |= {"cohorts": repeats, "found": found, "standard_error": error}
    lines = [
        "| score | target | covariates taken out | cohorts | effect found | standard error |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        taken = {0: "none", 1: "1 number"}.get(row["numbers"], f"{row['numbers']} numbers")
        taken += f" and {SITES} sites" if row["sites"] else ""
        lines.append(
            f"| {row['score']} | {row['target']} | {taken} | {row['cohorts']} | "
            f"{row['found']:.1%} | {row['standard_error']:.1%} |"
        )
    table = "\n".join(lines) + "\n"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    called = (
        f"python tools/false_alarms.py --repeats {given.repeats} --out results/{given.out.name}"
    )
    spent = f"{time.process_time() - start:.0f} CPU seconds. {__doc__.split(chr(10) * 2)[2]}"
    write_text(
        given.out.with_suffix(".md"),
        f"# {given.out.name}\n\n```text\n{called}\n```\n\n{spent}\n\n<!-- table -->\n\n{table}",
    )
    print(table)


if __name__ == "__main__":
    main()
