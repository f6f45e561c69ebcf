"""Hostile surroundings: closed outputs, little memory, no rights, strange paths and texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from faults.corruptions import OPERATORS
from faults.tally import SECONDS, Tally
from sclcs import simulate_cohort
from sclcs.store import compute_store

RANK = "$SCLCS rank fc --bootstrap 0 --permutations 0"
#: Shell commands in a folder with a cohort, a store and a few traps; how they may end.
CASES = {
    "closed output": ("$SCLCS spis list >&-", {0}),
    "closed error": ("$SCLCS rank nowhere --out x.csv 2>&-", {2}),
    "reader gone": ("$SCLCS spis list | head -1 > /dev/null; exit ${PIPESTATUS[0]}", {0}),
    "full output": ("$SCLCS spis list > /dev/full", {2}),
    "little address space": ("ulimit -v 1000000; $SCLCS spis list", {2}),
    "small files": (f"ulimit -f 1; {RANK} --out small.csv", {2}),
    "few open files": (f"ulimit -n 20; {RANK} --out few.csv", {0, 2}),
    "no cache folder": (f"SCLCS_CACHE=/proc/x {RANK} --out cache.csv", {0}),
    "no home": (f"env -u HOME {RANK} --out home.csv", {0}),
    "other language": (f"LC_ALL=C PYTHONUTF8=0 {RANK} --out language.csv", {0}),
    "folder gone": ("mkdir gone && cd gone && rmdir ../gone && $SCLCS spis list", {0, 2}),
    "no terminal": (f"TERM=dumb {RANK} --out dumb.csv < /dev/null", {0}),
    "narrow terminal": (f"COLUMNS=1 {RANK} --out narrow.csv", {0}),
    "pipe for a table": (f"{RANK} --coreset pipe.csv --out pipe-out.csv", {2}),
    "device for a table": (f"{RANK} --coreset zero.csv --out zero-out.csv", {2}),
    "folder for a table": (f"{RANK} --coreset fc --out folder-out.csv", {2}),
    "link to itself": (f"{RANK} --coreset loop.csv --out loop-out.csv", {2}),
    "output is a folder": (f"{RANK} --out fc", {2}),
    "output in nowhere": (f"{RANK} --out /proc/nowhere/x.csv", {2}),
    "output in a file": (f"{RANK} --out c.zarr/zarr.json/x.csv", {2}),
    "long name": (f"{RANK} --out {'n' * 300}.csv", {2}),
    "bytes that are no text": (f"{RANK} --task $'\\xff\\xfe' --out bytes.csv", {2}),
    "huge number": (f"{RANK} --seed {'9' * 500} --out huge.csv", {0, 2}),
    "many digits": (f"{RANK} --seed {'9' * 5000} --out digits.csv", {2}),
    "many redraws": ("$SCLCS rank fc --bootstrap 1000000000000 --out many.csv", {2}),
    "dead scheduler": ("$SCLCS compute c.zarr --on dask:tcp://127.0.0.1:1 --out new", {2}),
    "giant cohort": ("$SCLCS cohort simulate --subjects 1000000000 --out giant", {2}),
}


def try_surroundings(home: Path) -> list[Tally]:
    """Run every case once.

    Parameters
    ----------
    home : Path
        An empty folder.

    Returns
    -------
    list of Tally
    """
    simulate_cohort(6, 2, 5, length=40, stride=40, seed=3).save(home / "c.zarr")
    compute_store(home / "c.zarr", home / "fc", OPERATORS)
    os.mkfifo(home / "pipe.csv")
    (home / "zero.csv").symlink_to("/dev/zero")
    (home / "loop.csv").symlink_to("loop.csv")
    tally = Tally("surroundings")
    for name, (command, codes) in CASES.items():
        outcome, words = _one(command, codes, home)
        tally.add(outcome, f"{name}: {words}")
    return [tally]


def _one(command: str, codes: set[int], home: Path) -> tuple[str, str]:
    environment = os.environ | {"SCLCS": f"{sys.executable} -m sclcs"}
    try:
        done = subprocess.run(
            ["bash", "-c", command],  # noqa: S607
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=2 * SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "crashed", "no answer"
    if "Traceback" in done.stderr or done.returncode not in codes:
        return "crashed", f"{done.returncode}: {done.stderr[-1500:]}"
    return ("fine" if done.returncode == 0 else "named"), ""
