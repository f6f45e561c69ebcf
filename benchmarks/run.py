"""Run every benchmark (`make bench`), or those named on the command line.

    python benchmarks/run.py [simulate ...]

Machines are shared and noisy: compare ratios inside one run, not seconds between runs.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    known = {path.stem.removeprefix("bench_"): path for path in sorted(FOLDER.glob("bench_*.py"))}
    wanted = sys.argv[1:] or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"Unknown benchmark {unknown[0]}; known are {', '.join(known)}.")
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} processors")
    failed = []
    for name in wanted:
        print(f"\n== {name} ==", flush=True)
        done = subprocess.run(
            [sys.executable, known[name]], env={**ONE_THREAD, **os.environ}, check=False
        )
        if done.returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
