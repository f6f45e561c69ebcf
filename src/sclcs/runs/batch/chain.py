"""The jobs of a run: how they are called, which are there, how they follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sclcs.compute import BatchJob, BatchSystem
from sclcs.compute.cutting import Scissors
from sclcs.core.errors import InputError, SclcsError, WorkerDiedError
from sclcs.core.files import explain_write_errors, write_json, write_text
from sclcs.core.gate import read_json
from sclcs.core.identity import Identity
from sclcs.run_folder import RunFolder

__all__ = ["Chain", "ChainFacts"]

FOLDER = "jobs"
FACTS = "chain.json"
#: So often a driver may end, or an array be sent, without any progress.
PATIENCE = 3


@dataclass(frozen=True)
class ChainFacts:
    """What the jobs of a run tell each other.

    Parameters
    ----------
    until : str, optional
        The last stage to do.
    ended : str
        ``"finished"`` or ``"failed"``; nothing while there is something to do.
    problem : str
        Why it failed.
    rounds : list of str
        What every array that was sent was to compute.
    left : float
        Predicted CPU seconds of the work that the last one was sent for.
    longest, fair : float
        Predicted CPU seconds that its jobs were to do at once, as :class:`Scissors` cut.
    idle : int
        Arrays in a row that brought that no further.
    starts : int
        Drivers in a row that were killed before they had done anything.
    stages : int
        Stages that were done when the last driver started.
    """

    until: str | None = None
    ended: str = ""
    problem: str = ""
    rounds: list[str] = field(default_factory=list)
    left: float = 0.0
    longest: float = 0.0
    fair: float = 0.0
    idle: int = 0
    starts: int = 0
    stages: int = 0


class Chain:
    """The jobs of a run.

    Parameters
    ----------
    folder : RunFolder
        Of a run whose configuration names a batch system.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.home = folder.path / FOLDER
        # The queue finds jobs by name, and two runs may have folders of the same name.
        place = Identity("place", inputs={"path": str(folder.path.resolve())}).digest(8)
        self.driver, self.worker = f"sclcs-{place}-run", f"sclcs-{place}-work"

    @property
    def batch(self) -> BatchSystem:
        """Who starts the jobs."""
        batch = self.folder.config().executor.batch()
        if batch is None:
            raise InputError(
                f"{self.folder.path} is a run on {self.folder.config().on}, which has no jobs; "
                "`sclcs run` with the same settings goes on with it."
            )
        return batch

    @property
    def facts(self) -> ChainFacts:
        """What is written down; an unreadable file is taken for a new chain."""
        with suppress(SclcsError, OSError, TypeError):
            return ChainFacts(**read_json(self.home / FACTS, "the jobs of a run"))
        return ChainFacts()

    def note(self, **changes: object) -> ChainFacts:
        """Write down what has changed."""
        facts = replace(self.facts, **changes)  # type: ignore[arg-type]
        write_json(self.home / FACTS, asdict(facts))
        return facts

    def active(self) -> list[BatchJob]:
        """Return the jobs that wait or run."""
        return self.batch.active([self.driver, self.worker])

    def workers(self) -> list[str]:
        """Return the numbers of the arrays that have not ended."""
        return sorted({job.number for job in self.batch.active([self.worker])})

    def begin(self, until: str | None) -> list[str]:
        """Send the first driver, unless jobs of the run are in the queue.

        Returns
        -------
        list of str
            The numbers of the jobs that were sent.
        """
        with explain_write_errors(self.home):
            self.home.mkdir(parents=True, exist_ok=True)
        if self.active():
            return []
        self.note(until=until, ended="", problem="", idle=0, starts=0, left=0.0)
        return self.follow([])

    def follow(self, after: Sequence[str]) -> list[str]:
        """Send a driver that starts when jobs have ended, and its standby."""
        script = self._driver_script()
        driver = self.batch.submit(script, after=after)
        return [driver, self.batch.submit(script, after=[driver], if_failed=True)]

    def stand_by(self) -> None:
        """Send a standby for the driver that this job is, if no other driver is in the queue.

        So it is when the job itself was a standby; :meth:`start` counts how often that happens.
        """
        own = self.batch.own_number
        others = {job.number for job in self.batch.active([self.driver])} - {own}
        if own is not None and not others:
            self.batch.submit(self._driver_script(), after=[own], if_failed=True)

    def _driver_script(self) -> Path:
        command = ["job", "drive", str(self.folder.path)]
        text = self.batch.driver_script(self.driver, command, self.home)
        return write_text(self.home / "driver.sh", text)

    def send_array(
        self, what: str, count: int, *, left: float, scissors: Scissors, idle: int
    ) -> list[str]:
        """Send an array for work that was written down, and the driver that follows it.

        Parameters
        ----------
        what : str
            Names the work, however much of it is done.
        count : int
            Number of shares.
        left : float
            Predicted CPU seconds of what is not done.
        scissors : Scissors
            How it was cut.
        idle : int
            Arrays in a row that brought it no further.

        Returns
        -------
        list of str
            The number of the array.
        """
        facts = self.facts
        if idle >= PATIENCE:
            raise WorkerDiedError(
                f"{PATIENCE} arrays of jobs in a row computed nothing: they were killed, ran out "
                f"of time or of memory. Their logs are in {self.round_folder(len(facts.rounds))}; "
                f"raise `time` or `memory` in {self._asked} and run the same command again."
            )
        number = len(facts.rounds) + 1
        home = self.round_folder(number)
        command = ["job", "share", str(self.folder.path), str(number)]
        text = self.batch.array_script(self.worker, count, command, home)
        script = write_text(home / "array.sh", text)
        rounds = [*facts.rounds, what]
        cut = {"longest": scissors.longest, "fair": scissors.fair}
        self.note(rounds=rounds, left=left, idle=idle, starts=0, **cut)
        array = self.batch.submit(script)
        self.follow([array])
        return [array]

    @property
    def _asked(self) -> str:
        """Where the user says what to ask the batch system for."""
        return self.folder.config().executor.argument

    def rounds_of(self, what: str) -> list[Path]:
        """Return the folders of the arrays that were sent for some work."""
        sent = enumerate(self.facts.rounds, start=1)
        return [self.round_folder(number) for number, one in sent if one == what]

    @property
    def next_round(self) -> Path:
        """Where the work of the next array is to be written."""
        return self.round_folder(len(self.facts.rounds) + 1)

    def round_folder(self, number: int) -> Path:
        """Return where the work, the script and the logs of an array are."""
        return self.home / f"{number:03d}"

    def start(self) -> None:
        """Count a driver that starts; raise if one after the other came to nothing."""
        facts = self.facts
        done = sum(
            record.get("status") == "done" for record in self.folder.state()["stages"].values()
        )
        starts = facts.starts + 1 if done == facts.stages else 1
        if starts > PATIENCE + 1:
            at_work = [
                name
                for name, record in self.folder.state()["stages"].items()
                if record.get("status") == "running"
            ]
            raise WorkerDiedError(
                f"The job that drives the run was killed {PATIENCE + 1} times in a row "
                f"{'in ' + at_work[0] if at_work else 'before a stage was done'}; its logs are in "
                f"{self.home}. Raise `driver_time` or `driver_memory` in {self._asked} and run "
                "the same command again."
            )
        self.note(starts=starts, stages=done)
