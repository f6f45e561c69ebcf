"""What operators cost on one large sample, with the usual memory and with more.

    python benchmarks/bench_large.py [--regions 400] [--timepoints 1200] [--operators ...]

CPU seconds of one simulated sample, one thread, warm. The three group delays are computed
together. A result that depends on the memory is an error.
"""

import argparse
import time

import numpy as np

from sclcs import simulate_cohort
from sclcs.spi import DEFAULT_MEMORY, compute_block, resolve, warm_up

OPERATORS = ["family:groupdelay", "cov_GraphicalLasso", "paper-fast"]
MORE = 2**32


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--regions", type=int, default=400)
    parser.add_argument("--timepoints", type=int, default=1200)
    parser.add_argument("--operators", nargs="+", default=OPERATORS)
    given = parser.parse_args()
    cohort = simulate_cohort(1, 1, given.regions, length=given.timepoints, seed=1)
    signals = np.asarray(cohort.signals, dtype=np.float64)
    print(f"{given.regions} regions x {given.timepoints} time points, CPU seconds of one sample")
    for asked in given.operators:
        names = resolve([asked])
        warm_up(names, given.timepoints)
        usual, found = seconds(signals, names, DEFAULT_MEMORY)
        more, other = seconds(signals, names, MORE)
        if not all(np.array_equal(found[n], other[n], equal_nan=True) for n in names):
            raise SystemExit(f"{asked} depends on the memory.")
        print(f"{asked:22} {usual:7.2f} with 512 MB, {more:7.2f} with 4 GB", flush=True)


def seconds(signals, names, memory):
    started = time.process_time()
    seeds = np.zeros(len(signals), dtype=np.uint64)
    done = compute_block(signals, names, sample_seeds=seeds, memory_bytes=memory)
    spent = time.process_time() - started
    return spent, {name: outcome.matrices for name, outcome in done.items()}


if __name__ == "__main__":
    main()
