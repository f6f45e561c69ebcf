"""Make the tables of docs/ranking.md from the real cohort (ABIDE I, 33 default-mode regions).

    python tools/rank_real_cohort.py abide_dos160_dmn33.npz --cache /tmp/fc.npy --out docs/results

The cohort itself is never committed. The matrices of the fast set (about 0.9 GB) are kept in
the cache file, so that a second run starts with the rankings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs import Cohort
from sclcs.benchmark import ArraySource, rank, score_reliability, split_half_ceiling
from sclcs.cohort.readers.arrays import read_arrays
from sclcs.core.progress import show_progress, track
from sclcs.report.ranking_figure import draw_ranking
from sclcs.report.style import save_figure
from sclcs.spi import compute, resolve

SAMPLES_AT_ONCE = 128
TASKS = ("subject", "diagnosis")


def main() -> None:
    """Read the cohort, compute the fast set, rank, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help=".npy file of the matrices")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--bootstrap", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--skip-rankings", action="store_true", help="only the reliability")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with show_progress():
        cohort = read_arrays(options.cohort).windows(
            70, 35, truncate=210, drop_first=1, on_bad="skip"
        )
        source = fast_set(cohort, options.cache)
        if not options.skip_rankings:
            write_rankings(source, options)
        write_reliability(source, options)


def fast_set(cohort: Cohort, cache: Path) -> ArraySource:
    """Return the matrices of the fast set, computed once."""
    operators = resolve("paper-fast")
    shape = (len(operators), len(cohort), cohort.n_regions, cohort.n_regions)
    if not cache.exists():
        partial = cache.with_suffix(".partial.npy")
        values = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=shape)
        for start in track(range(0, len(cohort), SAMPLES_AT_ONCE), "computing the fast set"):
            block = slice(start, start + SAMPLES_AT_ONCE)
            signals, keys = np.asarray(cohort.signals[block]), cohort.sample_ids[block]
            values[:, block] = compute(signals, "paper-fast", sample_keys=keys).to_numpy()
        values.flush()
        partial.rename(cache)
    return ArraySource(np.load(cache, mmap_mode="r"), operators, cohort)


def write_rankings(source: ArraySource, options: argparse.Namespace) -> None:
    """Write the two rankings with intervals, and a picture of each."""
    for task in TASKS:
        ranking = rank(source, task, bootstrap=options.bootstrap, n_jobs=options.jobs)
        place = options.out / f"ranking_{task}.csv"
        for old in (place, place.with_suffix(".json")):
            old.unlink(missing_ok=True)
        rounded = ranking.table.round({"score": 5, "low": 5, "high": 5})
        type(ranking)(
            rounded, ranking.task, ranking.score, ranking.coreset, ranking.provenance
        ).save(place)
        save_figure(draw_ranking(ranking, 25), place.with_suffix(".svg"))


def write_reliability(source: ArraySource, options: argparse.Namespace) -> None:
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
