"""How fast operators are ranked, against the bare matrix products, and how fast intervals are.

Run: python benchmarks/bench_rank.py [--operators 131] [--jobs 2]

The matrices are random; each operator's are made when it is asked for and freed afterwards.
Making them is timed and subtracted, because a real run reads or computes them elsewhere.
"""

import argparse
import json
import resource
import time

import numpy as np
import pandas as pd

from sclcs.stats import rank
from sclcs.stats.features import unit_vectors, vectorize

REGIONS = 33


class RandomMatrices:
    """An FC source of directed random matrices: 1056 different entries per sample."""

    def __init__(self, n_samples, n_operators, windows, seed=0):
        self._random = np.random.default_rng(seed)
        self.operators = [f"random-{i}" for i in range(n_operators)]
        subjects = np.arange(n_samples) // windows
        self.samples = pd.DataFrame(
            {
                "subject": subjects.astype(str),
                "window": np.arange(n_samples) % windows,
                "diagnosis": np.where(subjects % 2, "MDD", "HC"),
            },
            index=[f"s{i}" for i in range(n_samples)],
        )
        self.sample_ids = list(self.samples.index)
        self.regions = [f"r{i}" for i in range(REGIONS)]
        self.fingerprint = "random"
        self.n_timepoints = None
        self._base = self._random.standard_normal((n_samples, REGIONS, REGIONS), dtype=np.float32)
        self.seconds = 0.0

    def matrices(self, spi, rows=None):  # noqa: ARG002 (one operator is as random as another)
        start = time.perf_counter()
        shift = self._random.integers(1, 1000)
        made = np.roll(self._base, shift, axis=0)  # other matrices at the price of a copy
        self.seconds += time.perf_counter() - start
        return made if rows is None else made[rows]

    def reason(self, spi):  # noqa: ARG002
        return ""

    def version(self, spi):  # noqa: ARG002
        return "1"


def bare_products(source, repeats=6):
    """Seconds of one similarity product ZZᵀ and one Gram matrix ZᵀZ, the mean of some."""
    units = unit_vectors(vectorize(source.matrices("random-0")))
    times = {"similarity": [], "gram": []}
    for _ in range(repeats):
        start = time.perf_counter()
        units @ units.T
        times["similarity"].append(time.perf_counter() - start)
        start = time.perf_counter()
        units.T @ units
        times["gram"].append(time.perf_counter() - start)
    return {name: float(np.mean(values)) for name, values in times.items()}


def timed(source, **options):
    source.seconds = 0.0
    start = time.perf_counter()
    rank(source, **options)
    return time.perf_counter() - start - source.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, default=131)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    results = {"operators": options.operators, "jobs": options.jobs}

    large = RandomMatrices(4520, options.operators, windows=5)
    bare_products(large, 1)  # imports, compilation, first touch of the memory
    for task in ("subject", "diagnosis"):
        before = bare_products(large)
        seconds = timed(large, task=task, permutations=0, bootstrap=0, n_jobs=options.jobs)
        after = bare_products(large)  # a shared machine is not equally fast all the time
        product = {name: (before[name] + after[name]) / 2 for name in before}
        bare = options.operators * product["similarity"]
        results[f"full ranking, {task}"] = {
            "seconds": round(seconds, 1),
            "bare similarity products": round(bare, 1),
            "bare Gram products": round(options.operators * product["gram"], 1),
            "times the similarity products": round(seconds / bare, 2),
        }
        print(json.dumps(results, indent=2), flush=True)
    del large
    small = RandomMatrices(452, options.operators, windows=2)
    for task in ("subject", "diagnosis"):
        seconds = timed(small, task=task, bootstrap=options.draws, n_jobs=options.jobs)
        results[f"{options.draws} bootstrap rankings, 452 samples, {task}"] = {
            "seconds": round(seconds, 1)
        }
    results["peak memory, GB"] = round(
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, 2
    )
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
