"""Is `sclcs plan` right? Predicted against measured, on three sizes of simulated cohorts.

    python benchmarks/bench_plan.py [--spis all] [--jobs 1] [--write docs/results/plan_check.csv]

For every size the cost is predicted, then `sclcs compute` is run and its CPU time (all its
processes), wall time, peak memory and disk are measured. CPU time is the fair comparison on a
shared machine. `carried` is what the first size predicts for the others by the laws alone.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from sclcs import simulate_cohort
from sclcs.runs import CohortShape, predict_costs

# samples, regions, time points
SIZES = ((60, 33, 70), (200, 33, 120), (20, 100, 140))


def make_cohort(size: tuple[int, int, int], path: Path) -> Path:
    samples, regions, timepoints = size
    cohort = simulate_cohort(samples // 2, 2, regions, length=timepoints, stride=timepoints // 2)
    return cohort.save(path)


def measure(cohort: Path, out: Path, spis: str, jobs: int) -> dict[str, float]:
    command = [sys.executable, "-m", "sclcs", "compute", str(cohort), "--spis", spis]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(
        [*command, "--on", f"local:{jobs}", "--out", str(out)], check=True, capture_output=True
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall_seconds": wall,
        "memory_bytes": after.ru_maxrss * 1024,  # of the largest child so far
        "disk_bytes": sum(f.stat().st_size for f in (out / "matrices").rglob("c.*")),
    }


def check(spis: str, jobs: int, folder: Path) -> pd.DataFrame:
    rows = []
    first = None
    for number, size in enumerate(SIZES):
        cohort = make_cohort(size, folder / f"{number}.zarr")
        first = first or cohort
        options = {"method": "random", "jobs": jobs, "top_k": 1}
        predicted = predict_costs(cohort, spis, **options).full
        carried = predict_costs(first, spis, shape=CohortShape(*size), **options).full
        found = measure(cohort, folder / f"fc{number}", spis, jobs)
        for name, value in found.items():
            guess = getattr(predicted, name)
            rows.append(
                {
                    "size": "x".join(map(str, size)),
                    "jobs": jobs,
                    "what": name,
                    "predicted": guess,
                    "measured": value,
                    "predicted / measured": guess / value,
                    "carried / measured": getattr(carried, name) / value,
                }
            )
        print(pd.DataFrame(rows[-len(found) :]).to_string(index=False), flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spis", default="all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = check(options.spis, options.jobs, Path(folder))
    cpu = table[table["what"] == "cpu_seconds"]["predicted / measured"]
    print(f"CPU time: predicted / measured between {cpu.min():.2f} and {cpu.max():.2f}")
    if options.write:
        table.to_csv(options.write, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
