"""Counting how trials end."""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sclcs._core import SclcsError

OUTCOMES = ("fine", "named", "silent", "crashed")
SECONDS = 60  # a trial that needs longer hangs


@dataclass
class Tally:
    """How the trials of one kind ended.

    Parameters
    ----------
    kind : str
    counts : Counter
        By outcome.
    bad : list of str
        What was silent or crashed, in words.
    """

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def add(self, outcome: str, what: str = "") -> None:
        """Count one trial."""
        self.counts[outcome] += 1
        if outcome in {"silent", "crashed"}:
            self.bad.append(f"{self.kind}: {outcome}: {what}"[:2000])

    @property
    def row(self) -> list[object]:
        """The kind, how many were tried, and how they ended."""
        return [self.kind, sum(self.counts.values()), *(self.counts[name] for name in OUTCOMES)]


class HungError(Exception):
    """A trial gave no answer in time."""


def judge(trial: Callable[[], bool]) -> tuple[str, str]:
    """Do a trial; it returns whether the result is right, or raises.

    Parameters
    ----------
    trial : callable

    Returns
    -------
    outcome, words : str
    """

    def late(*_: object) -> None:
        raise HungError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        right = trial()
    except SclcsError as error:
        return "named", str(error)
    except BaseException:  # noqa: BLE001 (whatever it is, it is what we look for)
        return "crashed", traceback.format_exc()
    finally:
        signal.alarm(0)
    return ("fine", "") if right else ("silent", "another result, without a word")


def in_children(
    tally: Tally,
    names: Iterable[str],
    trial: Callable[[str], tuple[str, str]],
    batch: int = 100,
    seconds: float = math.inf,
) -> None:
    """Do trials in child processes, so that a crash of one is counted and ends nothing.

    Parameters
    ----------
    tally : Tally
    names : iterable of str
        One per trial; a trial is made from its name alone.
    trial : callable
        From a name to how it ended.
    batch : int
        Trials per child.
    seconds : float
        No child is started after that.
    """
    waiting, until = list(names), time.monotonic() + seconds
    while waiting and time.monotonic() < until:
        done = _child(waiting[:batch], trial)
        for name, (outcome, words) in zip(waiting, done, strict=False):
            tally.add(outcome, f"{name}: {words}")
        if len(done) < min(batch, len(waiting)):
            tally.add("crashed", f"{waiting[len(done)]}: the process died")
            done.append(("crashed", ""))
        waiting = waiting[len(done) :]


def _child(names: list[str], trial: Callable[[str], tuple[str, str]]) -> list[tuple[str, str]]:
    with tempfile.NamedTemporaryFile(delete=False) as kept:
        place = Path(kept.name)
    child = os.fork()
    if child == 0:
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, sys.stderr.fileno())
            with place.open("ab") as out:
                for name in names:
                    pickle.dump(trial(name), out)
                    out.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    done: list[tuple[str, str]] = []
    with place.open("rb") as stream:
        while True:
            try:
                done.append(pickle.load(stream))  # noqa: S301 (written by our own child)
            except (EOFError, pickle.UnpicklingError):
                break
    place.unlink()
    return done
