"""Cost and regret of budgets, against everything on everybody.

    sclcs compute abide.zarr --spis all --out fc-all
    python benchmarks/bench_budget.py --cohort abide.zarr --fc fc-all --tasks diagnosis age

With ``--fc`` the store is the truth and the source of all matrices: nothing is computed again.
Costs are those of the table that ships (``predicted_share``); ``recorded_share`` adds up what the
store recorded, which is too much: it divides the time of a family equally among its operators, so
that cheap members carry the expensive ones (graphical lasso in ``covariance``).

Without ``--fc`` every operator is computed once (about 4 CPU seconds per sample of 33 x 70 for the
whole catalogue). The budgeted run is made with every budget in the same folder. Without a cohort
one is simulated.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import sclcs
from sclcs import Cohort, simulate_cohort
from sclcs.run_folder import RunFolder
from sclcs.store import FCStore

COPIED = "fc-source.zarr"  # a run takes what other stores in its folder have


def main() -> None:
    """Measure and print one row per budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cohort", type=Path, help="simulated if it is not given")
    parser.add_argument("--fc", type=Path, help="FC store of the cohort: truth and source")
    parser.add_argument("--samples", type=int, help="take so many, spread evenly (not with --fc)")
    parser.add_argument("--regions", type=int, default=14, help="of a simulated cohort")
    parser.add_argument("--spis", default="all", help="of --fc, those that are complete")
    parser.add_argument("--tasks", nargs="+", default=["diagnosis"])
    parser.add_argument("--covariates", nargs="*", default=[])
    parser.add_argument("--budgets", nargs="+", default=["1%", "2%", "5%", "10%"])
    parser.add_argument("--out", type=Path, help="keep runs here; a temporary folder by default")
    options = parser.parse_args()
    cohort = _cohort(options)
    with tempfile.TemporaryDirectory(prefix="sclcs-budget-") as scratch:
        out = options.out or Path(scratch) / "RUN"
        operators = _operators(options, out)
        rows = [_budget(cohort, text, operators, options, out) for text in options.budgets]
    facts = {"samples": len(cohort), "operators": len(operators), "budgets": rows}
    print(json.dumps(facts, indent=1))


def _cohort(options: argparse.Namespace) -> Cohort:
    if options.cohort is None:
        count = options.samples or 60
        return simulate_cohort(count, 1, options.regions, length=70, group=0.2, seed=0)
    whole = Cohort.open(options.cohort)
    if options.samples is None or options.fc is not None:
        return whole
    step = max(len(whole) // options.samples, 1)
    return whole.take(whole.sample_ids[::step][: options.samples])


def _operators(options: argparse.Namespace, out: Path) -> list[str]:
    """Return what is compared; put the store where the run looks for matrices."""
    from sclcs.spi import resolve

    wanted = resolve(options.spis)
    if options.fc is None:
        return wanted
    RunFolder.create(out)
    if not (out / COPIED).exists():
        shutil.copytree(options.fc, out / COPIED)
    complete = set(FCStore.open(out / COPIED).complete_operators)
    return [name for name in wanted if name in complete]


def _budget(
    cohort: Cohort, text: str, operators: list[str], options: argparse.Namespace, out: Path
) -> dict[str, Any]:
    """Run with one budget; the full benchmark afterwards says how right it was."""
    result = sclcs.run(
        cohort,
        out=out,
        task=options.tasks,
        spis=operators,
        covariates=options.covariates,
        drop_missing=True,
        budget=text,
        exact_below=0.0,
        full_benchmark=True,
        criteria="none",
        bootstrap=200,
    )
    answer, folder = result.answer or {}, result.folder
    facts = folder.confirmation()
    plan = folder.plan()["budget"]
    confirmed = [name for step in answer["steps"] for name in step["operators"]]
    whole = _seconds(folder.whole_matrices, operators)
    spent = sum(whole[name] for name in [*plan["panel"], *confirmed])
    if plan["core"]:
        spent += sum(_seconds(folder.core_matrices, plan["core"]).values())
    return {
        "budget": text,
        "predicted_share": round(answer["cost"]["share"], 4),
        "recorded_share": round(spent / sum(whole.values()), 4),
        "operator_seconds": round(spent, 1),
        "everything_seconds": round(sum(whole.values()), 1),
        "scoring_seconds": round(facts["costs"]["scoring"], 1),
        "estimate_seconds": round(facts["costs"]["estimate"], 1),
        "exact": answer["operators"]["exact"],
        "core": [answer["operators"]["core"], answer["operators"]["core_samples"]],
        "unseen": answer["operators"]["unseen"],
        "confirmed": confirmed,
        "stopped": answer["stopped"],
        "tasks": {
            task: {
                "effect_p": answer["tasks"][task]["effect_p"],
                "best_set": len(answer["tasks"][task]["best_set"]),
                **{
                    name: found.get(name)
                    for name in (
                        "true_best", "chosen", "regret_share", "chosen_in_true_best_set",
                        "true_best_in_set",
                    )
                },
            }
            for task, found in facts["tasks"].items()
        },
    }  # fmt: skip


def _seconds(store: FCStore, operators: list[str]) -> dict[str, float]:
    """Return the CPU seconds that operators took, wherever they were computed."""
    table = store.status()["seconds"].reindex(operators).fillna(0.0)
    return {str(name): float(value) for name, value in table.items()}


if __name__ == "__main__":
    main()
