"""Run the study of guided core-sets on the ABIDE cohort, or on a simulated one.

    python tools/guided_study.py /work/shared/data/abide_dos160_dmn33.npz --out results/guided \
        --name abide --cache /tmp/guided/fc.npy --ratios 0.02 0.05
    python tools/guided_study.py simulated --out results/guided --name simulated

The matrices of the fast set are computed once and kept in the cache (float32).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs.benchmark.fc_source import ArraySource
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.readers.arrays import read_arrays
from sclcs.cohort.simulation import simulate_cohort
from sclcs.core.progress import show_progress, track
from sclcs.experiments.guided_study import Plan, guided_study, summarise
from sclcs.spi import compute, resolve

BLOCK = 128


def main() -> None:
    """Run and write CSV, summary and the command's facts."""
    options = arguments()
    cohort = open_cohort(options.cohort)
    plan = Plan(
        tuple(options.tasks), tuple(options.ratios), options.splits, options.seeds, options.first
    )
    began = time.time()
    with show_progress():
        fc = matrices(cohort, options.cache)
        rows = []
        out = options.out / f"{options.name}.csv"
        options.out.mkdir(parents=True, exist_ok=True)
        for row in guided_study(cohort, fc, plan):
            rows.append(row)
            if row["method"] == "guided":  # a killed run keeps what it has
                pd.DataFrame(rows).to_csv(out, index=False, float_format="%.5g")
    facts = {"cohort": options.cohort, "samples": len(cohort), "operators": len(fc.operators)}
    facts |= {"wall_seconds": round(time.time() - began), "plan": vars(plan)}
    (options.out / f"{options.name}.json").write_text(json.dumps(facts, indent=1))
    print(summarise(pd.DataFrame(rows)).round(3).to_string())


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cohort", help="the ABIDE archive, or 'simulated'")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="study")
    parser.add_argument("--cache", type=Path, help="a .npy file of matrices, made if missing")
    parser.add_argument("--tasks", nargs="+", default=list(Plan.tasks))
    parser.add_argument("--ratios", nargs="+", type=float, default=list(Plan.ratios))
    parser.add_argument("--splits", type=int, default=Plan.splits)
    parser.add_argument("--seeds", type=int, default=Plan.seeds)
    parser.add_argument("--first", type=int, default=0, help="first split and seed")
    return parser.parse_args()


def open_cohort(name: str) -> Cohort:
    """Read ABIDE as METHOD.md section 12 cuts it, or simulate a cohort of its layout."""
    if name == "simulated":
        return simulate_cohort(200, 4, 12, length=60, stride=30, seed=7)
    return read_arrays(name).windows(70, 35, truncate=210, drop_first=1, on_bad="skip")


def matrices(cohort: Cohort, cache: Path | None) -> ArraySource:
    """Return the fast set on all samples, from the cache if it is there."""
    operators = resolve("paper-fast")
    if cache is not None and cache.exists():
        return ArraySource(np.load(cache, mmap_mode="r"), operators, cohort)
    shape = (len(operators), len(cohort), cohort.n_regions, cohort.n_regions)
    values = np.empty(shape, dtype=np.float32)
    for start in track(range(0, len(cohort), BLOCK), "fast set"):
        block = slice(start, start + BLOCK)
        signals = np.asarray(cohort.signals[block])
        computed = compute(signals, operators, sample_keys=cohort.sample_ids[block])
        values[:, block] = computed.to_numpy()
    if cache is not None:
        np.save(cache, values)
    return ArraySource(values, operators, cohort)


if __name__ == "__main__":
    main()
