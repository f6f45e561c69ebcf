"""Our operator engine against pyspi's Calculator: the fast set on 33 x 70 samples.

Both run here, one after the other, pinned to the same processor (where it can be pinned: the
Java machine behind pyspi would otherwise use several), warm, in CPU seconds per sample, so that
other work on the machine disturbs less::

    python benchmarks/bench_spi.py --pyspi-python /path/to/pyspi-env/bin/python

``tools/make_pyspi_reference.py`` says how to make pyspi's environment. Without the option only
our side is timed. The ratio is also given without ``gc_gaussian_k-max-10_tau-max-2``, which
alone is over half of pyspi's time. `bench_start.py` measures the compiling.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sclcs.spi import compute_batch as compute, family_members, resolve

HALF_OF_PYSPI = "gc_gaussian_k-max-10_tau-max-2"
TARGET, TARGET_WITHOUT = 200, 80
N_REGIONS, N_TIMES = 33, 70


def simulate(n_samples: int) -> np.ndarray:
    """Coupled autoregressive noise."""
    rng = np.random.default_rng(20260101)
    signals = rng.normal(size=(n_samples, N_REGIONS, N_TIMES + 20))
    for t in range(1, N_TIMES + 20):
        signals[..., t] += 0.5 * signals[..., t - 1]
    mixing = np.eye(N_REGIONS) + 0.15 * rng.normal(size=(n_samples, N_REGIONS, N_REGIONS))
    return mixing @ signals[..., 20:]


def cpu_seconds(signals: np.ndarray, spis, repeats: int) -> float:
    """Median CPU seconds per sample, warm."""
    compute(signals[:1], spis)
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        compute(signals, spis)
        taken.append((time.process_time() - started) / len(signals))
    return float(np.median(taken))


def time_pyspi(python: Path, signals: np.ndarray, identifiers: list, left_out: str) -> dict:
    """CPU seconds of pyspi's Calculator with all operators, and without one of them."""
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "task.npz"
        np.savez(task, signals=signals, identifiers=identifiers, left_out=[left_out])
        script = Path(__file__).with_name("time_pyspi.py")
        done = subprocess.run(
            [python, script, task], check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": "", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def print_slowest(signals: np.ndarray, total: float, repeats: int) -> None:
    fast = resolve("paper-fast")
    print(f"\n{'family':<18} {'operators':>9} {'ms/sample':>10} {'share':>6}")
    families = family_members(fast)
    costs = {name: cpu_seconds(signals, ids, repeats) for name, ids in families.items()}
    for name, seconds in sorted(costs.items(), key=lambda item: -item[1]):
        print(f"{name:<18} {len(families[name]):>9} {1e3 * seconds:>10.3f} {seconds / total:>6.1%}")
    print("\nten slowest operators, each computed alone (with the intermediate its family shares)")
    alone = {identifier: cpu_seconds(signals, identifier, 1) for identifier in fast}
    for identifier, seconds in sorted(alone.items(), key=lambda item: -item[1])[:10]:
        print(f"{identifier:<48} {1e3 * seconds:>8.3f} ms {seconds / total:>6.1%}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pyspi-python",
        type=Path,
        default=os.environ.get("SCLCS_PYSPI_PYTHON"),
        help="python of pyspi's environment (or the variable SCLCS_PYSPI_PYTHON)",
    )
    parser.add_argument("--pyspi-samples", type=int, default=2)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # children inherit it
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    signals = simulate(max(options.samples, options.pyspi_samples))
    fast = resolve("paper-fast")
    reduced = [identifier for identifier in fast if identifier != HALF_OF_PYSPI]
    ours = cpu_seconds(signals, fast, options.repeats)
    ours_without = cpu_seconds(signals, reduced, options.repeats)
    panel = cpu_seconds(signals, "panel", options.repeats)
    print(f"{len(fast)} operators, {N_REGIONS} x {N_TIMES}, one thread, CPU time per sample")
    print(f"sclcs  {1e3 * ours:9.2f} ms   without {HALF_OF_PYSPI}: {1e3 * ours_without:9.2f} ms")
    print(f"panel  {1e3 * panel:9.2f} ms   {panel / ours:.1%} of the fast set")
    passed = True
    if options.pyspi_python:
        few = signals[: options.pyspi_samples]
        theirs = time_pyspi(options.pyspi_python, few, fast, HALF_OF_PYSPI)
        full, without = (float(np.median(theirs[k]["seconds"])) for k in ("all", "without"))
        print(
            f"pyspi  {1e3 * full:9.0f} ms   without {HALF_OF_PYSPI}: {1e3 * without:9.0f} ms   "
            f"(first sample {theirs['first']:.1f} s, "
            f"{theirs['all']['finite_share']:.1%} of its table finite)"
        )
        ratio, ratio_without = full / ours, without / ours_without
        print(f"ratio  {ratio:9.0f} x    without: {ratio_without:.0f} x")
        passed = ratio >= TARGET and ratio_without >= TARGET_WITHOUT
        verdict = "met" if passed else "MISSED"
        print(f"targets {TARGET} x and {TARGET_WITHOUT} x: {verdict}")
    print_slowest(signals, ours, repeats=3)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
