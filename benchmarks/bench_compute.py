"""`sclcs compute` on a simulated cohort: samples per second, memory, time outside kernels.

    python benchmarks/bench_compute.py [--subjects 904] [--windows 5] [--jobs 2] [--spis paper-fast]

The default is the paper's size. Peak memory is the sum over the command and its workers of
what each holds alone (PSS, so that shared libraries count once) and should stay under 2 GB.
The share of time outside kernels, 1 - kernel seconds / (jobs x wall seconds of the computing
phase), should stay under 10 % on a quiet machine; loading and compiling is reported apart.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as folder:
        cohort, out = Path(folder) / "cohort.zarr", Path(folder) / "fc"
        sclcs(
            "cohort",
            "simulate",
            "--subjects",
            options.subjects,
            "--windows",
            options.windows,
            "--out",
            cohort,
        )
        run = [
            "compute",
            cohort,
            "--spis",
            options.spis,
            "--on",
            f"local:{options.jobs}",
            "--out",
            out,
        ]
        peak, summary, log = watch(*run, "--json")
        loading, computing = phase(log, "Loading operators"), phase(log, "Computing matrices")
        samples = summary["samples"]
        outside = 1 - summary["kernel_seconds"] / (options.jobs * computing)
        disk = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        print(f"{summary['operators']} operators, {samples} samples, {options.jobs} jobs")
        print(f"computing {computing:.1f} s: {samples / computing:.1f} samples/s")
        print(f"loading and compiling {loading:.1f} s, whole command {summary['seconds']:.1f} s")
        print(f"peak memory {peak / 1e6:.0f} MB over all processes (target: under 2000)")
        print(f"outside kernels {outside:.1%} of {options.jobs} x wall (target: under 10 %)")
        print(f"matrices {summary['matrices']}, store {disk / 1e6:.0f} MB")
        started = time.perf_counter()
        again = json.loads(sclcs(*run, "--json"))
        print(f"run again: {time.perf_counter() - started:.1f} s, computed {again['computed']}")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=904)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--spis", default="paper-fast")
    return parser.parse_args()


def sclcs(*arguments) -> str:
    command = [sys.executable, "-m", "sclcs", *map(str, arguments)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def watch(*arguments) -> tuple[int, dict, str]:
    """Run the command; return its peak memory, its summary and its log."""
    command = [sys.executable, "-m", "sclcs", *map(str, arguments)]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    peak = [0]
    ended = threading.Event()

    def sample() -> None:
        leader = psutil.Process(process.pid)
        while not ended.wait(0.25):
            peak[0] = max(peak[0], memory_of(leader))

    watcher = threading.Thread(target=sample, daemon=True)
    watcher.start()
    printed, log = process.communicate()
    ended.set()
    watcher.join()
    if process.returncode:
        sys.exit(log)
    return peak[0], json.loads(printed), log


def memory_of(leader: psutil.Process) -> int:
    total = 0
    try:
        for process in [leader, *leader.children(recursive=True)]:
            facts = process.memory_full_info()
            total += getattr(facts, "pss", facts.uss)
    except psutil.Error:
        pass  # a process ended while we looked
    return total


def phase(log: str, name: str) -> float:
    found = re.search(rf"{name}: \d+ done in ([\d.]+) s", log)
    return float(found[1]) if found else float("nan")


if __name__ == "__main__":
    main()
