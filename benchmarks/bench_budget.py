"""Cost and regret of budgets, against everything on everybody.

    python benchmarks/bench_budget.py --cohort abide.zarr --samples 150 --budgets 1% 2% 5% 10%

Every operator is computed on everybody once (about 4 CPU seconds per sample of 33 x 70 for the
whole catalogue; two hours for 1535 samples). The budgeted run is made with every budget in the
same folder, so that no matrix is computed twice. Without a cohort one is simulated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import sclcs
from sclcs import Cohort, simulate_cohort


def main() -> None:
    """Measure and print one row per budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cohort", type=Path, help="simulated if it is not given")
    parser.add_argument("--samples", type=int, default=60, help="take so many, spread evenly")
    parser.add_argument("--regions", type=int, default=14, help="of a simulated cohort")
    parser.add_argument("--spis", default="all")
    parser.add_argument("--tasks", nargs="+", default=["diagnosis"])
    parser.add_argument("--budgets", nargs="+", default=["1%", "2%", "5%", "10%"])
    parser.add_argument("--out", type=Path, help="keep runs here; a temporary folder by default")
    options = parser.parse_args()
    cohort = _cohort(options)
    with tempfile.TemporaryDirectory(prefix="sclcs-budget-") as scratch:
        out = options.out or Path(scratch) / "RUN"
        rows = [_budget(cohort, text, options, out) for text in options.budgets]
    print(
        json.dumps({"samples": len(cohort), "operators": options.spis, "budgets": rows}, indent=1)
    )


def _cohort(options: argparse.Namespace) -> Cohort:
    if options.cohort is None:
        return simulate_cohort(options.samples, 1, options.regions, length=70, group=0.2, seed=0)
    whole = Cohort.open(options.cohort)
    step = max(len(whole) // options.samples, 1)
    return whole.take(whole.sample_ids[::step][: options.samples])


def _budget(cohort: Cohort, text: str, options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Run with one budget; the full benchmark afterwards says how right it was."""
    result = sclcs.run(
        cohort,
        out=out,
        tasks=options.tasks,
        spis=options.spis,
        budget=text,
        exact_below=0.0,
        full_benchmark=True,
        criteria="none",
        bootstrap=200,
    )
    answer, facts = result.answer or {}, result.folder.confirmation()
    costs = facts["costs"]
    return {
        "budget": text,
        "predicted_share": answer["cost"]["share"],
        "measured_share": costs["two_stage"] / costs["everything_measured"],
        "estimate_seconds": costs["estimate"],
        "operator_seconds": costs["two_stage"],
        "exact": answer["operators"]["exact"],
        "stopped": answer["stopped"],
        "tasks": {
            task: {
                name: found.get(name)
                for name in ("regret_share", "chosen_in_true_best_set", "true_best_in_set")
            }
            | {"effect": answer["tasks"][task]["effect"]}
            for task, found in facts["tasks"].items()
        },
    }


if __name__ == "__main__":
    main()
