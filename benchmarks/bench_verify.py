"""What it costs to compare everything that is read with its signature.

The whole of a command (open the store, rank; open the cohort, select) is timed, and inside it the
time spent in seals, lists of operators and checksums of chunks.
"""

import argparse
import tempfile
import time
from functools import wraps
from pathlib import Path

import google_crc32c

from sclcs import Cohort, simulate_cohort
from sclcs.cohort import signals as signals_module, storage
from sclcs.coresets import select
from sclcs.report import run_report
from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import carry_out
from sclcs.stats import rank
from sclcs.store import FCStore, compute_store, layout

CHECKS = [
    (storage, "check_seal"),
    (layout, "_content"),
    (signals_module, "check_chunks"),
    (google_crc32c, "value"),
    (RunFolder, "_as_written"),
    (RunFolder, "changed_outputs"),
]


class Clock:
    """Adds up the CPU time inside the checks."""

    def __init__(self):
        self.spent = 0.0

    def watch(self, module, name):
        function = getattr(module, name)

        @wraps(function)
        def timed(*args, **kwargs):
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent += time.process_time() - start

        setattr(module, name, timed)


def measure(clock, work):
    clock.spent, start = 0.0, time.process_time()
    work()
    total = time.process_time() - start
    return total, clock.spent


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--subjects", type=int, default=100)
    options.add_argument("--regions", type=int, default=33)
    options.add_argument("--spis", default="paper-fast")
    given = options.parse_args()
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        cohort = simulate_cohort(given.subjects, 3, given.regions, stride=70, seed=1)
        cohort.save(home / "c.zarr")
        for module, name in CHECKS:
            clock.watch(module, name)
        quick = {"bootstrap": 1000, "permutations": 1000}
        works = {
            "compute": lambda: compute_store(home / "c.zarr", home / "fc", given.spis),
            "compute again": lambda: compute_store(home / "c.zarr", home / "fc", given.spis),
            "rank": lambda: rank(FCStore.open(home / "fc"), "diagnosis", **quick),
            "select": lambda: select(Cohort.open(home / "c.zarr"), "kmeans", 0.1),
        }
        options = {"cohort": str(home / "c.zarr"), "out": str(home / "RUN"), "spis": given.spis}
        options |= {"method": "pairs", "ratio": 0.3, "bootstrap": 100, "permutations": 100}
        carry_out(collect_config(None, options))
        works["report"] = lambda: run_report(home / "RUN")
        print("command         CPU seconds   in checks   share")
        for name, work in works.items():
            total, checks = measure(clock, work)
            print(f"{name:<14} {total:>12.2f} {checks:>11.4f} {100 * checks / total:>6.2f} %")


if __name__ == "__main__":
    main()
