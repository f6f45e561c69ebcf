"""Make the tables of docs/ranking.md from the real cohort (ABIDE I, 33 default-mode regions).

    sclcs cohort import abide --truncate 210 --drop-first 1 --on-bad skip --out abide.zarr
    python tools/rank_real_cohort.py abide.zarr --store fc --out docs/results

The cohort itself is never committed. The matrices of the fast set (0.8 GB) are kept in the FC
store, so that a second run starts with the rankings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from sclcs import Cohort
from sclcs._core import show_progress
from sclcs.report import draw_ranking, save_figure
from sclcs.stats import Ranking, rank, score_reliability, split_half_ceiling
from sclcs.store import FCStore, compute_store

TASKS = ("subject", "diagnosis")


def main() -> None:
    """Compute the fast set, rank, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--store", type=Path, required=True, help="FC store, made if needed")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="one ranking: subject, diagnosis or diagnosis_adjusted")
    parser.add_argument("--skip-rankings", action="store_true", help="only the reliability")
    parser.add_argument(
        "--reliability", action="store_true", help="also how scores repeat themselves (long)"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with show_progress():
        if not options.store.exists():
            compute_store(Cohort.open(options.cohort), options.store, "paper-fast")
        source = FCStore.open(options.store)
        if not options.skip_rankings:
            write_rankings(source, options)
        if options.reliability or options.skip_rankings:
            write_reliability(source, options)


def write_rankings(source: FCStore, options: argparse.Namespace) -> None:
    """Write the rankings with intervals and tests, and a picture of each."""
    covariates = ("site", "mean_fd", "age", "sex")
    for name, task, taken_out in (
        ("subject", "subject", ()),
        ("diagnosis", "diagnosis", ()),
        ("diagnosis_adjusted", "diagnosis", covariates),
    ):
        if options.only not in {None, name}:
            continue
        ranking = rank(source, task, covariates=taken_out, n_jobs=options.jobs)
        place = options.out / f"ranking_{name}.csv"
        for old in (place, place.with_suffix(".json")):
            old.unlink(missing_ok=True)
        rounded = ranking.table.round({"score": 5, "low": 5, "high": 5, "scatter": 5})
        Ranking(
            rounded,
            ranking.task,
            ranking.score,
            ranking.coreset,
            ranking.provenance,
            ranking.findings,
        ).save(place)
        save_figure(draw_ranking(ranking, 25), place.with_suffix(".svg"))
        print(f"{name}:", *ranking.answer, sep="\n- ")


def write_reliability(source: FCStore, options: argparse.Namespace) -> None:
    """Write how well every score repeats itself, and the ceiling of the default score."""
    tables, ceilings = [], []
    for task in TASKS:
        table = score_reliability(source, task, splits=options.splits, n_jobs=options.jobs)
        tables.append(table.assign(task=task))
        found = split_half_ceiling(source, task, splits=options.splits, n_jobs=options.jobs)
        rows = pd.DataFrame(found).T.rename_axis("measure").reset_index()
        ceilings.append(rows.assign(task=task))
    for name, parts in (("score_reliability", tables), ("split_half_ceiling", ceilings)):
        table = pd.concat(parts).round(3)
        table.insert(0, "task", table.pop("task"))
        table.to_csv(options.out / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
