"""Run every test again and again on a busy machine, so that flaky ones show up.

Run: python tools/repeat_tests.py [--times 10] [--busy 2] [--out benchmarks/repeated_tests.txt]

One run is `make test`, with hypothesis drawing other examples each time. `--busy` starts so many
processes that only compute; other work beside it does as well. What every run found is appended
to the file at once, with the load. Exits with 1 if a run failed; its whole output is kept beside
the file.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SPIN = "while True: sum(range(10_000))"


def version() -> str:
    """Return the commit whose tests are run."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.strip()


def attempt(number: int, log: Path) -> tuple[bool, str]:
    """Run the tests once; return whether they passed, and a line about it."""
    start, before = time.monotonic(), os.getloadavg()[0]
    make = shutil.which("make") or "make"
    command = [make, "test"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    last = done.stdout.strip().rpartition("\n")[2].strip("= ")
    minutes = (time.monotonic() - start) / 60
    if done.returncode:
        log.with_suffix(f".{number}.log").write_text(done.stdout + done.stderr)
    load = f"load {before:.1f} before, {os.getloadavg()[2]:.1f} in its last 15 minutes"
    return done.returncode == 0, f"{number:>3}  {last}; {minutes:.1f} min; {load}"


def main() -> int:
    """Repeat, and write down what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--busy", type=int, default=2, help="processes that only compute")
    parser.add_argument(
        "--out", type=Path, default=REPOSITORY / "benchmarks" / "repeated_tests.txt"
    )
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    head = (
        f"python tools/repeat_tests.py --times {options.times} --busy {options.busy}\n"
        f"commit {version()}; {platform.system()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} processors; begun {time.strftime('%Y-%m-%d %H:%M')}\n\n"
    )
    options.out.write_text(head)
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(options.busy)]
    passed = []
    try:
        for number in range(1, options.times + 1):
            fine, words = attempt(number, options.out)
            passed.append(fine)
            print(words, flush=True)
            with options.out.open("a") as file:
                file.write(words + "\n")
    finally:
        for process in busy:
            process.kill()
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
