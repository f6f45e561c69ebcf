"""Processes killed at random moments: the next one ends with the same bytes."""

from __future__ import annotations

import contextlib
import math
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run_cohorts import everything, results
from store_content import content

from faults.corruptions import OPERATORS
from faults.tally import Tally
from sclcs import Cohort, simulate_cohort
from sclcs.run_folder import collect_config
from sclcs.runs import carry_out
from sclcs.spi import warm_up
from sclcs.store import FCStore, compute_store

#: A run that estimates, buys and reports, with few operators. The last two are dear: they make
#: the budget pay a panel, a core-set and a purchase.
RUN = {
    "spis": [
        *(*OPERATORS, "kendalltau", "spearmanr", "pec_orth", "prec_OAS", "xcorr_max_sig-True"),
        *("pdist_cosine", "mi_gaussian", "dcorr", "mi_kraskov_NN-4", "hsic"),
        *("gpfit_DotProduct", "te_kraskov_NN-4_k-1_kt-1_l-1_lt-1"),
    ],
    "task": ["diagnosis"],
    "budget": "60%",
    "exact_below": 0.0,
    "bootstrap": 5,
    "permutations": 20,
    "criteria": ["none"],
}
TWO_STAGES = {
    "spis": OPERATORS,
    "task": ["subject"],
    "method": "pairs",
    "ratio": 0.5,
    "bootstrap": 5,
    "permutations": 20,
    "top_k": 3,
    "criteria": ["none"],
}


@dataclass(frozen=True)
class Work:
    """Something that may be killed.

    Parameters
    ----------
    share : float
        Of all kills.
    begin : callable
        Does it, or what is left of it, into a folder or file that may be there.
    found : callable
        Returns what must be the same whatever happened.
    once : bool
        It cannot be called again when it is done: what is there is whole.
    """

    share: float
    begin: Callable[[Path], object]
    found: Callable[[Path], Any]
    once: bool = False


def _works(home: Path) -> dict[str, Work]:
    """Return what is killed; compiles and loads what the children need."""
    cohort = simulate_cohort(16, 2, 6, length=40, stride=40, group=0.6, seed=3)
    cohort.save(home / "c.zarr")
    warm_up(RUN["spis"], 40)

    def compute(out: Path) -> None:
        compute_store(home / "c.zarr", out, OPERATORS, block_size=2)
        FCStore.open(out)

    def run(settings: dict[str, Any]) -> Callable[[Path], object]:
        asked = {"cohort": str(home / "c.zarr"), **settings}
        return lambda out: carry_out(collect_config(None, {**asked, "out": str(out)}))

    works = {
        "compute": Work(0.5, compute, content),
        "save": Work(0.2, cohort.save, lambda path: (Cohort.open(path), content(path))[1], True),
        "budgeted run": Work(0.15, run(RUN), everything),
        "two-stage run": Work(0.1, run(TWO_STAGES), results),
    }
    with contextlib.suppress(ImportError):
        works["training"] = _training(cohort)
    return works


def _training(cohort: Cohort) -> Work:
    from sclcs.coresets import TrainedEncoder, train_encoder

    def train(out: Path) -> None:
        mark = out.with_name("a.checkpoint")
        done = train_encoder(cohort, "paper", epochs=6, seed=1, checkpoint=mark, checkpoint_every=1)
        done.save(out)
        mark.unlink(missing_ok=True)

    def found(out: Path) -> object:
        trained = TrainedEncoder.open(out)
        return trained.scores.tobytes(), trained.history.to_csv()

    return Work(0.05, train, found)


def _start(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            work()
            os._exit(0)
        os._exit(1)
    return child


def _kill_until_done(
    work: Callable[[], object], draw: random.Random, whole: float, most: int
) -> int:
    """Start the work again and again, kill it after a while; return how often it was killed."""
    for kills in range(most):
        child = _start(work)
        # Longer and longer: a busy machine may need more than the first delays to do anything.
        time.sleep(draw.uniform(0, whole / 6 * 1.05**kills))
        if os.waitpid(child, os.WNOHANG)[0]:
            return kills
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return most


def try_kills(seed: int, count: int, home: Path, seconds: float = math.inf) -> list[Tally]:
    """Kill computations, savings, runs and trainings until enough were killed.

    Parameters
    ----------
    seed, count : int
        Count is of all kills together.
    home : Path
        An empty folder.
    seconds : float
        After that no more are begun; every kind of work has its share of the time.

    Returns
    -------
    list of Tally
        A kill is fine if what came of its round is byte for byte what an undisturbed one makes.
    """
    draw = random.Random(f"kills/{seed}")  # noqa: S311 (no secret)
    works = _works(home)
    tallies = []
    for name, work in works.items():
        tally = Tally(f"kill: {name}")
        wanted = math.ceil(count * work.share)
        _try_work(work, tally, home, draw, wanted=wanted, seconds=seconds / len(works))
        tallies.append(tally)
    return tallies


def _try_work(
    work: Work, tally: Tally, home: Path, draw: random.Random, *, wanted: int, seconds: float
) -> None:
    example = home / f"undisturbed {tally.kind}"
    example.mkdir()
    started = time.monotonic()
    _, status = os.waitpid(_start(lambda: work.begin(example / "out")), 0)
    if status:
        work.begin(example / "out")  # says what is wrong
    whole = time.monotonic() - started
    right, until = work.found(example / "out"), started + seconds
    while (left := wanted - sum(tally.counts.values())) > 0 and time.monotonic() < until:
        place = home / "round"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        out = place / "out"
        killed = _kill_until_done(lambda: work.begin(out), draw, whole, min(left, 40))  # noqa: B023
        words = _finish(work, out, right)
        for _ in range(killed):
            tally.add("fine" if not words else "silent", words)


def _finish(work: Work, out: Path, right: object) -> str:
    """Do the rest undisturbed; return what is wrong with the result, empty if nothing is."""
    try:
        if not (work.once and out.exists()):
            work.begin(out)
        found = work.found(out)
    except Exception as error:  # noqa: BLE001 (counted)
        return repr(error)
    if found != right:
        return "other bytes than without a kill"
    left = [path.name for path in out.parent.iterdir() if path != out]
    return f"left behind: {left}" if left and not work.once else ""
