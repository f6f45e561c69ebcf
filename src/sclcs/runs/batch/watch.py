"""Watching the jobs of a run, and saying how it stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from sclcs.core.errors import SclcsError, WorkerDiedError
from sclcs.runs.batch.chain import Chain

__all__ = ["chain_status", "watch_chain"]

POLL_SECONDS = 5.0
#: So often in a row the batch system may not answer before we give up watching.
SILENCES = 24


def watch_chain(chain: Chain, tell: Callable[[str], None], *, poll: float | None = None) -> None:
    """Tell what happens until the jobs of a run have ended; raise if it did not finish.

    Parameters
    ----------
    chain : Chain
    tell : callable
        Is given every new line of the log of the run.
    poll : float, optional
        Seconds between two looks.
    """
    news = _new_lines(chain)
    silent = 0
    while True:
        try:
            active = chain.active()
            silent = 0
        except SclcsError:
            silent += 1
            if silent > SILENCES:
                raise
            active = None
        for line in next(news):
            tell(line)
        facts = chain.facts
        if facts.ended == "finished":
            return
        if facts.ended:
            raise WorkerDiedError(f"The jobs of the run stopped: {facts.problem}")
        if active is not None and not active:
            raise WorkerDiedError(
                f"No job of the run in {chain.folder.path} is in the queue any more, but it is "
                "not finished: somebody has cancelled them. Run the same command again; it goes "
                "on where it stopped."
            )
        time.sleep(POLL_SECONDS if poll is None else poll)


def _new_lines(chain: Chain) -> Iterator[list[str]]:
    """Yield the lines that were added to the log of the run since the last time."""
    log = chain.folder.log_file
    place = log.stat().st_size if log.exists() else 0
    while True:
        found: list[str] = []
        if log.exists():
            with log.open("rb") as stream:
                stream.seek(place)
                whole, end, _ = stream.read().rpartition(b"\n")
            place += len(whole) + len(end)
            found = whole.decode("utf-8", "replace").splitlines()
        yield found


def chain_status(chain: Chain) -> dict[str, Any]:
    """Return how the jobs of a run stand, for a program.

    Returns
    -------
    dict
        ``state`` (finished, failed, in the queue, stopped), ``problem``, ``arrays`` that were
        sent, ``jobs`` that wait or run, and the command that ``stop``-s them.
    """
    facts, active = chain.facts, chain.active()
    state = facts.ended or ("in the queue" if active else "stopped")
    return {
        "state": state,
        "problem": facts.problem,
        "arrays": len(facts.rounds),
        "jobs": [{"number": job.number, "name": job.name, "state": job.state} for job in active],
        "stop": chain.batch.stop_command([chain.driver, chain.worker]),
    }
