"""Run the study of guided core-sets on one cohort.

    python tools/guided_study.py abide --archive ../shared/data/abide_dos160_dmn33.npz \
        --out /tmp/guided/study --cache /tmp/guided/abide.npy --ratios 0.02 0.05
    python tools/guided_study.py simulated --out /tmp/guided/study --seeds 2

The matrices of the fast set are computed once and kept in the cache (float32). Methods that
train find their trainings in $SCLCS_CACHE, by the cohort, their settings and the seed. Rules are
variants of guided: ``--rule weighted weights=true`` or ``--rule simulated distrust=0.1``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd
from guided_cohorts import NAMES, matrices, open_cohort

from sclcs.core.progress import show_progress
from sclcs.experiments.guided_study import Plan, guided_study, summarise


def main() -> None:
    """Run and write CSV, summary and the command's facts."""
    options = arguments()
    plan = make_plan(options)
    began = time.time(), time.process_time()
    out = options.out / f"{options.name or options.cohort}.csv"
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with show_progress():
        cohort = open_cohort(options.cohort, options.archive)
        fc = matrices(cohort, options.cache)
        for row in guided_study(cohort, fc, plan):
            rows.append(row)
            if row["method"] in plan.rules or not len(rows) % 100:  # a killed run keeps these
                pd.DataFrame(rows).to_csv(out, index=False, float_format="%.5g")
    pd.DataFrame(rows).to_csv(out, index=False, float_format="%.5g")
    facts = {"cohort": options.cohort, "samples": len(cohort), "operators": len(fc.operators)}
    facts |= {"wall_seconds": round(time.time() - began[0]), "plan": vars(plan)}
    facts |= {"cpu_seconds": round(time.process_time() - began[1])}
    out.with_suffix(".json").write_text(json.dumps(facts, indent=1))
    print(summarise(pd.DataFrame(rows)).round(3).to_string())


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohort", choices=NAMES)
    parser.add_argument("--archive", type=Path, help="the ABIDE archive")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", help="of the CSV file; the cohort's by default")
    parser.add_argument("--cache", type=Path, help="a .npy file of matrices, made if missing")
    parser.add_argument("--tasks", nargs="+", default=list(Plan.tasks))
    parser.add_argument("--ratios", nargs="+", type=float, default=list(Plan.ratios))
    parser.add_argument("--splits", type=int, default=Plan.splits)
    parser.add_argument("--seeds", type=int, default=Plan.seeds)
    parser.add_argument("--few-seeds", type=int, default=Plan.few_seeds, help="not in focus")
    parser.add_argument("--first", type=int, default=0, help="first split and seed")
    parser.add_argument("--methods", nargs="*", default=list(Plan.methods))
    parser.add_argument("--trained-seeds", type=int, default=Plan.trained_seeds)
    parser.add_argument("--epochs", type=int, help="of methods that train")
    parser.add_argument("--rule", nargs="+", action="append", metavar=("NAME", "KEY=VALUE"))
    parser.add_argument("--no-default-panel", action="store_true")
    return parser.parse_args()


def make_plan(options: argparse.Namespace) -> Plan:
    """Return the plan that the options ask for."""
    rules = {rule[0]: dict(map(_setting, rule[1:])) for rule in options.rule or [["guided"]]}
    return Plan(
        tasks=tuple(options.tasks),
        ratios=tuple(options.ratios),
        splits=options.splits,
        seeds=options.seeds,
        few_seeds=options.few_seeds,
        first=options.first,
        methods=tuple(options.methods),
        trained_seeds=options.trained_seeds,
        epochs=options.epochs,
        rules={name: changes for name, changes in rules.items() if name != "none"},
        default_panel=not options.no_default_panel,
    )


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, json.loads(value)


if __name__ == "__main__":
    main()
