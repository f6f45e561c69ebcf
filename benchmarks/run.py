"""Run every benchmark (`make bench`), or those named on the command line.

    python benchmarks/run.py [simulate ...] [-- options of the scripts]

What a benchmark prints is shown and kept in `benchmarks/figures/NAME.txt`, from which the
documentation makes its page, so that releases can be compared. A script that fails, or misses its
target, leaves the figure that is kept as it is. Machines are shared and noisy: compare ratios
inside one run, not seconds between runs.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import sclcs

FOLDER = Path(__file__).parent
FIGURES = FOLDER / "figures"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    known = {path.stem.removeprefix("bench_"): path for path in sorted(FOLDER.glob("bench_*.py"))}
    place = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    wanted, options = sys.argv[1:place] or list(known), sys.argv[place + 1 :]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"Unknown benchmark {unknown[0]}; known are {', '.join(known)}.")
    print(machine())
    FIGURES.mkdir(exist_ok=True)
    failed = []
    for name in wanted:
        print(f"\n== {name} ==", flush=True)
        lines, code = run(known[name], options)
        if code:
            print(f"ended with code {code}: benchmarks/figures/{name}.txt stays as it was")
            failed.append(name)
            continue
        head = " ".join(["python", f"benchmarks/bench_{name}.py", *options])
        head += f"\n{machine()}\n\n"
        (FIGURES / f"{name}.txt").write_text(head + "".join(lines), encoding="utf-8")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(script: Path, options: list[str]) -> tuple[list[str], int]:
    """Run one benchmark, showing what it prints as it comes."""
    lines = []
    with subprocess.Popen(
        [sys.executable, script, *options],
        env={**ONE_THREAD, **os.environ},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return lines, process.returncode


def machine() -> str:
    today = datetime.now(UTC).date().isoformat()
    python = f"Python {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return f"sclcs {sclcs.__version__}, {python}, {system}, {today}"


if __name__ == "__main__":
    main()
