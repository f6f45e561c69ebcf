"""How much memory a ranking takes: many samples of 400 regions, made as they are asked for.

    python benchmarks/bench_memory.py [--samples 10000] [--regions 400] [--task diagnosis|subject]

Nothing is stored but what the ranking itself keeps. The peak is what the system saw of this process
(`ru_maxrss`), imports included.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from sclcs.stats import rank

MB = 1e6


class SimulatedSource:
    """Matrices of one operator: noise, a pattern of the subject and one of the class."""

    operators = ("pearson",)
    fingerprint = "simulated"
    n_timepoints = None

    def __init__(self, n_samples, n_regions, windows):
        self.regions = [f"r{k}" for k in range(n_regions)]
        subjects = np.arange(n_samples) // windows
        self._classes = subjects % 2
        self._subjects = subjects
        self.sample_ids = [f"s{k}" for k in range(n_samples)]
        self.samples = pd.DataFrame(
            {
                "subject": [f"p{k}" for k in subjects],
                "window": np.arange(n_samples) % windows,
                "diagnosis": np.where(self._classes, "patient", "control"),
            },
            index=self.sample_ids,
        )
        upper = np.triu_indices(n_regions, 1)
        self._pair_of_entry = np.zeros((n_regions, n_regions), dtype=np.intp)
        self._pair_of_entry[upper] = np.arange(len(upper[0]))
        self._pair_of_entry.T[upper] = np.arange(len(upper[0]))
        self._n_pairs = len(upper[0])
        self._pattern = np.random.default_rng(1).standard_normal(self._n_pairs, np.float32)

    def matrices(self, spi, rows=None):  # noqa: ARG002 - one operator
        rows = np.arange(len(self.sample_ids)) if rows is None else rows
        found = np.empty((len(rows), len(self.regions), len(self.regions)), np.float32)
        for place, row in enumerate(rows):
            values = np.random.default_rng(row).standard_normal(self._n_pairs, np.float32)
            own = np.random.default_rng(10**6 + self._subjects[row])
            values += 0.5 * own.standard_normal(self._n_pairs, np.float32)
            values += 0.02 * self._classes[row] * self._pattern
            np.take(values, self._pair_of_entry, out=found[place], mode="clip")
        return found

    def reason(self, spi):  # noqa: ARG002
        return ""

    def version(self, spi):  # noqa: ARG002
        return "1.1"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--regions", type=int, default=400)
    parser.add_argument("--task", default="diagnosis", choices=["diagnosis", "subject"])
    parser.add_argument("--draws", type=int, default=1000, help="permutations and redraws")
    given = parser.parse_args()
    windows = 2 if given.task == "subject" else 1
    source = SimulatedSource(given.samples, given.regions, windows)
    begun, start = peak(), time.process_time()
    ranking = rank(source, given.task, permutations=given.draws, bootstrap=given.draws)
    n_pairs = given.samples**2
    print(
        f"{given.task}: {given.samples:,} samples, {given.regions} regions, {given.draws} "
        f"permutations and redraws\n"
        f"  score {ranking.table['score'].iloc[0]:.4f}, p {ranking.table['p'].iloc[0]:.4f}\n"
        f"  peak memory {peak() / MB:,.0f} MB (before the ranking {begun / MB:,.0f} MB), "
        f"{(peak() - begun) / n_pairs:.1f} bytes per pair of samples\n"
        f"  CPU {time.process_time() - start:,.0f} s"
    )


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
