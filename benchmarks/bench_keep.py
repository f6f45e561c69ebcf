"""How much disk a finished run takes, by what it keeps, and what it takes at its fullest.

    python benchmarks/bench_keep.py [--subjects 30] [--regions 60]

The same run again and again: `--keep all`, `winners`, `none`, and none with less and less disk, so
that operators are computed, scored and removed in waves. The rankings must be the same bytes.
"""

import argparse
import hashlib
import tempfile
import threading
import time
from pathlib import Path

import sclcs
from sclcs.cohort import simulate_cohort

MB = 1e6
ASKED = [("all", None), ("winners", None), ("none", None), ("none", "30M"), ("none", "6M")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--subjects", type=int, default=30)
    parser.add_argument("--regions", type=int, default=60)
    given = parser.parse_args()
    cohort = simulate_cohort(given.subjects, 2, given.regions, length=100, stride=100, seed=1)
    print(f"{len(cohort)} samples, {given.regions} regions, paper-fast, exact, two tasks")
    print(f"{'keep':16} {'matrices MB':>12} {'fullest MB':>11} {'all else MB':>12} {'CPU s':>6}")
    with tempfile.TemporaryDirectory() as home:
        cohort.save(Path(home) / "c.zarr")
        digests = {asked: one(Path(home), *asked) for asked in ASKED}
    if len(set(digests.values())) > 1:
        raise SystemExit("Keeping less has changed a ranking.")
    print("The rankings are the same bytes.")


def one(home, keep, disk):
    name = keep if disk is None else f"{keep}, {disk}"
    out, started = home / name, time.process_time()
    fullest, done = [0], threading.Event()
    watcher = threading.Thread(target=watch, args=(out, fullest, done))
    watcher.start()
    sclcs.run(
        home / "c.zarr",
        out=out,
        task=["diagnosis", "subject"],
        exact_below=1e9,
        permutations=100,
        bootstrap=100,
        keep=keep,
        disk=disk,
    )
    done.set()
    watcher.join()
    kept, whole = matrices(out), size(out.rglob("*"))
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(out.glob("ranking*.csv"))))
    print(
        f"{name:16} {kept / MB:12.1f} {fullest[0] / MB:11.1f} {(whole - kept) / MB:12.1f} "
        f"{time.process_time() - started:6.0f}",
        flush=True,
    )
    return digest.hexdigest()


def watch(out, fullest, done):
    while not done.wait(0.2):
        fullest[0] = max(fullest[0], matrices(out))


def matrices(out):
    """Return the bytes of matrices, packed or not."""
    return size(out.glob("fc*.zarr/matrices/*/c.*"))


def size(paths):
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total


if __name__ == "__main__":
    main()
