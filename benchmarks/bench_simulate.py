"""CPU seconds and peak memory of simulating a cohort.

    python benchmarks/bench_simulate.py [SUBJECTS] [WINDOWS]

The default is the paper's size, 904 x 5 windows; it should stay under 20 s and 1 GB.
"""

from __future__ import annotations

import resource
import sys
import time


def main() -> None:
    subjects = int(sys.argv[1]) if len(sys.argv) > 1 else 904
    windows = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    start = time.process_time()
    from sclcs.cohort import simulate_cohort

    imported = time.process_time()
    cohort = simulate_cohort(subjects, windows)
    seconds = time.process_time() - imported
    # Linux counts kilobytes, macOS bytes.
    unit = 1e6 if sys.platform == "darwin" else 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(cohort)
    print(f"import {imported - start:.2f}, simulate {seconds:.2f} CPU s; peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
