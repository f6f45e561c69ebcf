"""Batch systems: they start jobs when others have ended, and nobody has to wait for them.

What a run needs of one, whichever it is. The queue itself is the only memory of what was sent:
jobs are found by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["BatchJob", "BatchSystem"]


@dataclass(frozen=True)
class BatchJob:
    """A job that has not ended.

    Parameters
    ----------
    number : str
        As the batch system counts; for an array, that of all its jobs.
    name : str
        As it was sent.
    state : str
        For a person, for example ``"running"`` or ``"pending (Priority)"``.
    """

    number: str
    name: str
    state: str


class BatchSystem(Protocol):
    """What sends jobs and knows which have not ended."""

    @property
    def shares(self) -> int:
        """Into how many jobs work is cut."""

    @property
    def cpus(self) -> int:
        """Processors of a job of an array."""

    @property
    def limit_seconds(self) -> float | None:
        """How long such a job may take; None if that is not known."""

    @property
    def alone_below(self) -> float:
        """CPU seconds of work that are not worth an array."""

    @property
    def own_number(self) -> str | None:
        """The number of the job that this process is; None if it is none."""

    def array_script(self, name: str, count: int, command: Sequence[str], folder: Path) -> str:
        """Return the script of an array: `sclcs` with these arguments and a number from 1."""

    def driver_script(self, name: str, command: Sequence[str], folder: Path) -> str:
        """Return the script of the one job that drives a run."""

    def submit(self, script: Path, *, after: Sequence[str] = (), if_failed: bool = False) -> str:
        """Send a script; return the number of the job.

        Parameters
        ----------
        script : Path
        after : sequence of str
            Numbers of jobs that have to end first.
        if_failed : bool
            Start it only if one of them fails, is killed or runs out of time.
        """

    def active(self, names: Sequence[str]) -> list[BatchJob]:
        """Return the jobs of these names that wait or run."""

    def stop_command(self, names: Sequence[str]) -> str:
        """Return what a person types to stop all jobs of these names."""
