"""Processes killed at random moments: the next one ends with the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from faults.corruptions import OPERATORS
from faults.tally import Tally
from sclcs import Cohort, simulate_cohort
from sclcs.compute import FCStore, compute_store
from sclcs.spi.fc_records import read_record
from sclcs.spi.warmup import warm_up


def _content(path: Path) -> dict[str, object]:
    """Return what is in a folder, without what may differ between two equal runs (times)."""
    found: dict[str, object] = {}
    for file in sorted(path.rglob("*")):
        name = str(file.relative_to(path))
        if not file.is_file() or name.startswith(".lock"):
            continue
        if name.startswith("tasks/"):
            entries = read_record(file)
            found[name] = {k: (e.version, e.checksum, e.exceptions) for k, e in entries.items()}
        else:
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def _kill_until_done(work: Callable[[], object], draw: random.Random, most: int) -> int:
    """Start the work again and again, kill it after a while; return how often it was killed."""
    kills = 0
    while kills < most:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                quiet = os.open(os.devnull, os.O_WRONLY)
                os.dup2(quiet, 2)
                work()
                os._exit(0)
            os._exit(1)
        # Longer and longer: a busy machine may need more than the first delays to do anything.
        time.sleep(draw.uniform(0, 0.04 * 1.05 ** min(kills, 60)))
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
    return kills


def try_kills(seed: int, count: int, home: Path, seconds: float = math.inf) -> list[Tally]:
    """Kill computations and savings until enough were killed.

    Parameters
    ----------
    seed, count : int
        Count is of all kills together.
    home : Path
        An empty folder.
    seconds : float
        After that no more are begun; both works have half of the time.

    Returns
    -------
    list of Tally
        A kill is fine if what came of its round is byte for byte what an undisturbed one makes.
    """
    draw = random.Random(f"kills/{seed}")  # noqa: S311 (no secret)
    cohort = simulate_cohort(16, 2, 6, length=40, stride=40, seed=3)
    cohort.save(home / "c.zarr")
    warm_up(OPERATORS, 40)
    compute_store(home / "c.zarr", home / "fc", OPERATORS, block_size=2)
    works = {
        "compute": (lambda out: compute_store(home / "c.zarr", out, OPERATORS, block_size=2), "fc"),
        "save": (cohort.save, "c.zarr"),
    }
    tallies = []
    for name, (work, example) in works.items():
        tally, right = Tally(f"kill: {name}"), _content(home / example)
        wanted = count * 3 // 4 if name == "compute" else count // 4
        until = time.monotonic() + seconds / len(works)
        while sum(tally.counts.values()) < wanted and time.monotonic() < until:
            place = home / "round"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            out = place / "out"
            killed = _kill_until_done(lambda: work(out), draw, min(wanted, 60))  # noqa: B023
            words = _finish(name, work, out, right)
            for _ in range(max(killed, 0)):
                tally.add("fine" if not words else "silent", words)
        tallies.append(tally)
    return tallies


def _finish(name: str, work: Callable[[Path], object], out: Path, right: dict[str, object]) -> str:
    """Do the rest undisturbed; return what is wrong with the result, empty if nothing is."""
    try:
        if name == "compute":
            work(out)
            FCStore.open(out)
        elif not out.exists():
            work(out)
        else:
            Cohort.open(out)
    except Exception as error:  # noqa: BLE001 (counted)
        return repr(error)
    if _content(out) != right:
        return "other bytes than without a kill"
    left = [path.name for path in out.parent.iterdir() if path != out]
    return f"left behind: {left}" if left and name == "compute" else ""
