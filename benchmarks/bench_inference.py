"""What it costs to say how sure a ranking is: permutations, redraws, best set, of all operators.

Run: python benchmarks/bench_inference.py [--fc FC] [--operators 131] [--samples 1535]

With --fc, the matrices of an FC store (ABIDE: 131 operators on 1535 samples); else random ones
of that size. CPU seconds of one thread, reading the matrices and making the kernels included.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from sclcs._core import show_progress
from sclcs.stats import rank

REGIONS, WINDOWS = 33, 5
BUDGET = 120.0


class RandomMatrices:
    """An FC source of random matrices; half of the operators are symmetric."""

    def __init__(self, n_samples, n_operators):
        subjects = np.arange(n_samples) // WINDOWS
        random = np.random.default_rng(0)
        self.operators = [f"random-{i}" for i in range(n_operators)]
        self.samples = pd.DataFrame(
            {
                "subject": subjects.astype(str),
                "window": np.arange(n_samples) % WINDOWS,
                "diagnosis": np.where(subjects % 2, "MDD", "HC"),
                "site": np.array(list("abcdefg"))[subjects % 7],
                "age": 20.0 + subjects % 31,
                "mean_fd": (subjects % 17) / 50,
            },
            index=[f"s{i}" for i in range(n_samples)],
        )
        self.sample_ids = list(self.samples.index)
        self.regions = [f"r{i}" for i in range(REGIONS)]
        self.fingerprint, self.n_timepoints = "random", None
        self._base = random.standard_normal((n_samples, REGIONS, REGIONS), dtype=np.float32)

    def matrices(self, spi, rows=None):
        number = int(spi.split("-")[1])
        made = np.roll(self._base, number, axis=0)
        if number % 2:
            made = made + made.transpose(0, 2, 1)
        return made if rows is None else made[rows]

    def reason(self, spi):  # noqa: ARG002
        return ""

    def version(self, spi):  # noqa: ARG002
        return "1"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fc", help="an FC store")
    parser.add_argument("--operators", type=int, default=131)
    parser.add_argument("--samples", type=int, default=1535)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    if options.fc:
        from sclcs.store import FCStore

        source = FCStore.open(options.fc)
    else:
        source = RandomMatrices(options.samples, options.operators)
    operators = list(source.operators)[: options.operators]
    size = {"permutations": options.draws, "bootstrap": options.draws}
    rank(source, "diagnosis", operators[:2], permutations=9, bootstrap=10)  # compiles
    print(
        f"{len(operators)} operators, {len(source.samples)} samples, {options.draws} permutations"
    )
    print(f"and {options.draws} redraws; bar: under {BUDGET:.0f} CPU seconds\n")
    for name, task, more in (
        ("diagnosis", "diagnosis", {}),
        ("diagnosis, 3 covariates", "diagnosis", {"covariates": ["site", "mean_fd", "age"]}),
        ("fingerprinting", "subject", {}),
    ):
        before = time.process_time()
        with show_progress(visible=False):
            rank(source, task, operators, **size, **more)
        print(f"{name:28s} {time.process_time() - before:7.1f} CPU s", flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
