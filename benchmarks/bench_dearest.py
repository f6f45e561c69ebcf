"""The dearest operators of the catalogue: CPU seconds now and at an earlier commit, in one run.

    python benchmarks/bench_dearest.py [--before CHECKOUT] [--regions 100] [--timepoints 200]
                                       [--operators mgcx_maxlag-10 anm ...] [--repeats 3]

CPU seconds of each operator alone on one simulated sample, one thread, warm: every size is first
computed on three regions, which compiles what is missing. Now and before are measured in turns, by
two processes that share the machine's load, and the smallest of the repeats counts: noise only
ever adds. With ``--rows`` operators whose pairs cost alike are measured on that many regions,
and the seconds are scaled to all pairs; those of `WHOLE` are always measured on all regions. The
largest difference between the two matrices is printed, too, relative to 1 + the value.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from checkout import checkout

BEFORE = "e1ccbdc"
REPOSITORY = Path(__file__).resolve().parents[1]
# The dearest at 100 x 200 at the commit e1ccbdc; the statistics of a measure cost the same.
DEAREST = [
    "mgcx_maxlag-10",
    "anm",
    *(f"bary{form}_softdtw_{statistic}" for form in ("", "-sq") for statistic in ("mean", "max")),
    *(
        f"ccm_E-{e}_{statistic}"
        for e in ("None", "10", "1")
        for statistic in ("mean", "max", "diff")
    ),
    *(f"bary{form}_sgddtw_{statistic}" for form in ("", "-sq") for statistic in ("mean", "max")),
    "mgcx_maxlag-1",
    "dcorrx_maxlag-10",
]
WHOLE = ("ccm", "dcorrx", "mgcx")  # a row of the matrix costs more than its pairs
WORKER = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from sclcs.spi import compute_block
source, target, n_small = sys.argv[1], sys.argv[2], int(sys.argv[3])
signals = np.load(source)
seeds = np.zeros(1, dtype=np.uint64)
for line in sys.stdin:
    name, n_regions = line.split()
    compute_block(signals[:, :n_small], [name], sample_seeds=seeds)
    start = time.process_time()
    found = compute_block(signals[:, : int(n_regions)], [name], sample_seeds=seeds)[name].matrices
    seconds = time.process_time() - start
    np.save(target, found)
    print(seconds, flush=True)
"""


class Worker:
    """A process that computes with the sources of one commit."""

    def __init__(self, tree: Path, signals: Path, target: Path) -> None:
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = os.environ | dict.fromkeys(threads, "1") | {"PYTHONPATH": str(tree / "src")}
        self.target = target
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(signals), str(target), "3"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, name: str, n_regions: int) -> tuple[float, np.ndarray]:
        self.process.stdin.write(f"{name} {n_regions}\n")
        self.process.stdin.flush()
        seconds = float(self.process.stdout.readline())
        return seconds, np.load(self.target)


def scale_of(n_regions: int, n_measured: int) -> float:
    """Return how many times more pairs all regions have than those measured."""
    return n_regions * (n_regions - 1) / (n_measured * (n_measured - 1))


def main() -> None:
    import tempfile

    from sclcs import simulate_cohort

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout; by default one is made")
    parser.add_argument("--regions", type=int, default=100)
    parser.add_argument("--timepoints", type=int, default=200)
    parser.add_argument("--rows", type=int, default=0, help="regions to measure; all by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--operators", nargs="*", default=DEAREST)
    options = parser.parse_args()
    cohort = simulate_cohort(1, 1, options.regions, length=options.timepoints, seed=1)
    signals = np.asarray(cohort.signals, dtype=np.float64)[:1]
    print(f"{options.regions} regions x {options.timepoints} time points, CPU seconds per sample")
    print(f"{'operator':<28} {'before':>9} {'now':>9} {'ratio':>6} {'moved':>8}")
    with (
        tempfile.TemporaryDirectory() as folder,
        checkout(BEFORE, options.before) as before_tree,
    ):
        source = Path(folder) / "signals.npy"
        np.save(source, signals)
        workers = [
            Worker(tree, source, Path(folder) / f"{number}.npy")
            for number, tree in enumerate((before_tree, REPOSITORY))
        ]
        for name in options.operators:
            measured = options.regions
            if options.rows and not name.startswith(WHOLE):
                measured = options.rows
            runs = [[w.measure(name, measured) for w in workers] for _ in range(options.repeats)]
            before, now = (min(run[k][0] for run in runs) for k in range(2))
            first, second = (runs[0][k][1] for k in range(2))
            moved = np.nanmax(np.abs(first - second) / (1.0 + np.abs(first)), initial=0.0)
            factor = scale_of(options.regions, measured)
            print(
                f"{name:<28} {factor * before:>9.2f} {factor * now:>9.2f} {before / now:>6.2f} "
                f"{moved:>8.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
