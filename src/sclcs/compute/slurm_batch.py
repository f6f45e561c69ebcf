"""SLURM as a batch system: ``sbatch`` and ``squeue``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sclcs.compute.batch import BatchJob
from sclcs.compute.executors.slurm import SlurmConfig, limit_seconds, script_text
from sclcs.core.errors import InputError, WorkerDiedError

__all__ = ["SlurmBatch", "require_slurm"]

SECONDS_TO_ANSWER = 60
#: What a job tells the jobs that it sends: where SLURM is, nothing about itself.
KEPT = ("SLURM_CONF",)


def require_slurm() -> None:
    """Raise if SLURM is not on this machine."""
    missing = [name for name in ("sbatch", "squeue") if shutil.which(name) is None]
    if missing:
        raise InputError(
            f"Expected SLURM on this machine, but {' and '.join(missing)} cannot be found; go to a "
            "login node of the cluster, or choose --on local:4."
        )


class SlurmBatch:
    """Jobs of SLURM.

    Parameters
    ----------
    config : SlurmConfig
        What to ask for.
    """

    def __init__(self, config: SlurmConfig) -> None:
        self._config = config

    @property
    def shares(self) -> int:
        """Into how many jobs work is cut."""
        return self._config.shares

    @property
    def cpus(self) -> int:
        """Processors of a job of an array."""
        return self._config.cpus

    @property
    def limit_seconds(self) -> float | None:
        """How long such a job may take."""
        return limit_seconds(self._config.time)

    @property
    def alone_below(self) -> float:
        """CPU seconds of work that are not worth an array."""
        return self._config.alone_below

    @property
    def own_number(self) -> str | None:
        """The number of the job that this process is; None if it is none."""
        return os.environ.get("SLURM_JOB_ID")

    def array_script(self, name: str, count: int, command: Sequence[str], folder: Path) -> str:
        """Return the script of an array: `sclcs` with these arguments and a number from 1."""
        return script_text(
            self._config, name, command, folder, count=count, last='"${SLURM_ARRAY_TASK_ID}"'
        )

    def driver_script(self, name: str, command: Sequence[str], folder: Path) -> str:
        """Return the script of the one job that drives a run."""
        return script_text(self._config.of_driver, name, command, folder)

    def submit(self, script: Path, *, after: Sequence[str] = (), if_failed: bool = False) -> str:
        """Send a script; return the number of the job."""
        how = "afternotok" if if_failed else "afterany"
        waits = [f"--dependency={how}:{':'.join(after)}"] if after else []
        # Else a job that is not needed any more would stay in the queue for ever.
        answer = _ask("sbatch", "--parsable", "--kill-on-invalid-dep=yes", *waits, str(script))
        return answer.strip().partition(";")[0]

    def active(self, names: Sequence[str]) -> list[BatchJob]:
        """Return the jobs of these names that wait or run."""
        wanted = ["--noheader", "--format=%A|%j|%T|%r", f"--name={','.join(names)}"]
        lines = _ask("squeue", *wanted).splitlines()
        return [_read_job(line) for line in lines if line.count("|") == 3]

    def stop_command(self, names: Sequence[str]) -> str:
        """Return what a person types to stop all jobs of these names."""
        return "; ".join(f"scancel --name={name}" for name in names)  # it takes one name


def _read_job(line: str) -> BatchJob:
    number, name, state, reason = line.split("|")
    waits = state == "PENDING" and reason not in {"None", ""}
    return BatchJob(number, name, state.lower() + (f" ({reason})" if waits else ""))


def _ask(program: str, *arguments: str) -> str:
    """Call a program of SLURM; what it complains about is an error."""
    surroundings = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.startswith(("SLURM_", "SBATCH_"))
    }
    try:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS_TO_ANSWER,
            env=surroundings,
        )
    except subprocess.CalledProcessError as error:
        said = " ".join((error.stderr or error.stdout or "").split())
        raise InputError(f"SLURM refused `{program}`: {said or 'it did not say why'}.") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkerDiedError(
            f"SLURM does not answer `{program}` ({error}); no finished work is lost. Run the same "
            "command again when it does."
        ) from error
    return done.stdout
