"""Job scripts for SLURM: an array of shares of the work, and the job that drives a run.

Nothing here talks to SLURM. The scripts are plain text that a person can read, change and
send. For ``sclcs compute`` every array job runs ``sclcs compute ... --task-range i/n`` on the same
store; ``sclcs run`` sends its jobs itself (:mod:`sclcs.compute.slurm_batch`).
"""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from sclcs.compute.cutting import Part, longest_within
from sclcs.compute.executors import ExecutorKind, Handover
from sclcs.compute.shares import Work
from sclcs.core.arguments import checked_methods
from sclcs.core.errors import InputError
from sclcs.core.files import explain_write_errors, require_existing, write_text
from sclcs.core.gate import read_yaml
from sclcs.core.settings import Settings, setting

if TYPE_CHECKING:
    from sclcs.compute.batch import BatchSystem

__all__ = [
    "KIND",
    "SlurmConfig",
    "SlurmJob",
    "limit_seconds",
    "read_slurm_config",
    "script_text",
    "write_slurm_job",
]


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("one line of text")
    return text


Line = Annotated[str, AfterValidator(_one_line)]


@checked_methods
class SlurmConfig(Settings):
    """What to ask SLURM for: the keys of the YAML file."""

    shares: int = setting("array jobs to cut the work into", ge=1)
    max_running: int | None = setting("how many may run at the same time", None, ge=1)
    cpus: int = setting("processors per array job; it runs as many processes", 1, ge=1)
    memory: Line = setting("per array job, as SLURM writes it", "4G")
    time: Line = setting("limit of an array job; what it leaves, the next one does", "04:00:00")
    partition: Line | None = setting("where to run", None)
    account: Line | None = setting("who pays", None)
    options: list[Line] = setting("further options of sbatch", [])
    setup: list[Line] = setting("lines of shell before the work", [])
    python: Line | None = setting("the interpreter; by default the one that writes this", None)
    driver_cpus: int | None = setting(
        "`sclcs run`: processors of the job that chooses, ranks and reports; by default as cpus",
        None,
        ge=1,
    )
    driver_memory: Line | None = setting("`sclcs run`: of that job; by default as memory", None)
    driver_time: Line | None = setting("`sclcs run`: of that job; by default as time", None)
    alone_below: float = setting(
        "`sclcs run`: CPU seconds of matrices that this job computes itself", 60.0, ge=0
    )

    @property
    def of_driver(self) -> SlurmConfig:
        """What to ask for the job that drives a run."""
        own = {"cpus": self.driver_cpus, "memory": self.driver_memory, "time": self.driver_time}
        return self.model_copy(update={k: value for k, value in own.items() if value is not None})

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called."""
        return "key"


@dataclass(frozen=True)
class SlurmJob:
    """The files that were written.

    Parameters
    ----------
    script : Path
        For ``sbatch``.
    shares_file : Path
        Which piece of work belongs to which share.
    """

    script: Path
    shares_file: Path


def read_slurm_config(path: str | os.PathLike[str]) -> SlurmConfig:
    """Read a YAML file; a key that is not known is an error."""
    path = require_existing(path, "SLURM configuration")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"Expected `key: value` lines in {path}, for example `shares: 20`.")
    try:
        return SlurmConfig(**{str(name): value for name, value in content.items()})
    except InputError as error:
        raise InputError(
            f"{path} is not a SLURM configuration: {error} Known keys are "
            f"{', '.join(SlurmConfig.model_fields)}."
        ) from error


def write_slurm_job(
    config: SlurmConfig,
    command: Sequence[str],
    shares: Sequence[Sequence[Part]],
    folder: str | os.PathLike[str],
) -> SlurmJob:
    """Write the job script and the list of shares.

    Parameters
    ----------
    config : SlurmConfig
        What to ask for.
    command : sequence of str
        Arguments of ``sclcs`` without ``--on`` and ``--task-range``; absolute paths.
    shares : sequence of sequence of Part
        The work of every array job.
    folder : path-like
        Where the files and the logs go; what an earlier call wrote there is replaced.

    Returns
    -------
    SlurmJob
    """
    folder = Path(folder).absolute()
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    script = write_text(folder / "job.sh", job_script(config, command, folder))
    shares_file = write_text(folder / "shares.csv", _shares_table(shares))
    return SlurmJob(script, shares_file)


def job_script(config: SlurmConfig, command: Sequence[str], folder: Path) -> str:
    """Return the text of the job script of ``sclcs compute``."""
    share = f'--task-range "${{SLURM_ARRAY_TASK_ID}}/{config.shares}" --on local:{config.cpus}'
    return script_text(config, "sclcs", command, folder, count=config.shares, last=share)


def script_text(
    config: SlurmConfig,
    name: str,
    command: Sequence[str],
    folder: Path,
    *,
    count: int | None = None,
    last: str = "",
) -> str:
    """Return the text of a job script.

    Parameters
    ----------
    config : SlurmConfig
        What to ask for.
    name : str
        Of the job.
    command : sequence of str
        Arguments of ``sclcs``.
    folder : Path
        Where the logs go.
    count : int, optional
        Number of jobs, if it is an array.
    last : str
        What follows the arguments, as the shell reads it.

    Returns
    -------
    str
    """
    import sys

    running = f"%{config.max_running}" if config.max_running else ""
    options = [
        f"--job-name={name}",
        *([] if count is None else [f"--array=1-{count}{running}"]),
        f"--cpus-per-task={config.cpus}",
        f"--mem={config.memory}",
        f"--time={config.time}",
        f"--output={folder}/{'%j' if count is None else '%A_%a'}.log",
        *([f"--partition={config.partition}"] if config.partition else []),
        *([f"--account={config.account}"] if config.account else []),
        *config.options,
    ]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        "# Made by sclcs. Sent again with sbatch, it does what is left.",
        "set -euo pipefail",
        *config.setup,
        f"exec {shlex.quote(config.python or sys.executable)} -m sclcs {shlex.join(command)} \\",
        f"  {last}",
    ]
    if not last:
        lines[-2:] = [lines[-2].removesuffix(" \\")]
    return "\n".join(lines) + "\n"


def _shares_table(shares: Sequence[Sequence[Part]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["share", "family", "block", "operators", "samples", "regions"])
    for number, parts in enumerate(shares, start=1):
        for part in parts:
            regions = "all" if part.regions is None else f"{part.regions[0] + 1}/{part.regions[1]}"
            size = part.rows[1] - part.rows[0]
            family, block = part.piece.family, part.piece.block
            writer.writerow([number, family, block, len(part.operators), size, regions])
    return out.getvalue()


def limit_seconds(text: str) -> float | None:
    """Return a time limit as SLURM writes it in seconds; None if it is written otherwise.

    Known are minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and
    days-hours:minutes:seconds.
    """
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in [*parts, *([days] if dash else [])]) or len(parts) > 3:
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, [*numbers, 0][:2]
    return float(int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds)


def _hand_over(argument: str, work: Work, command: Sequence[str], folder: Path) -> Handover:
    """Write the job for the configuration of that file."""
    config = read_slurm_config(argument)
    limit = limit_seconds(config.time)
    work = work.cut(longest_within(limit)).even(config.shares)
    shares = work.deal(config.shares)
    command = [*command, "--longest", f"{work.scissors.longest:g}"]
    job = write_slurm_job(config, command, shares, folder)
    loads = [sum(map(work.seconds, parts)) for parts in shares]
    minutes = max(loads) / config.cpus / 60
    sentences = [
        f"{len(work.parts)} tasks in {config.shares} shares: {job.shares_file}",
        f"The longest share is expected to take about {minutes:.0f} minutes.",
        *_about_the_limit(config, work, max(loads) / config.cpus),
        f"Send them with: sbatch {job.script}",
    ]
    facts = {"script": str(job.script), "shares": config.shares, "tasks": len(work.parts)}
    return Handover(
        facts | {"longest_share_seconds": round(max(loads) / config.cpus, 1)}, sentences
    )


def _about_the_limit(config: SlurmConfig, work: Work, load: float) -> list[str]:
    """Say what was cut because of the time limit, and warn of what it still cuts off."""
    limit = limit_seconds(config.time)
    if limit is None:
        return []
    said = []
    cut = len({part.piece.family for part in work.parts if part != work.scissors.whole(part.piece)})
    if cut:
        said.append(f"Tasks of {cut} families are cut, for shares to end together and in time.")
    longest = max(work.parts, key=work.seconds)
    seconds = work.seconds(longest)
    if seconds >= limit:
        said.append(
            f"Warning: the longest task ({longest.piece.family}) is expected to take "
            f"{seconds / 3600:.1f} hours and cannot be cut further, but the time limit is "
            f"{config.time}: it would never end. Raise `time`."
        )
    elif load >= limit:
        said.append(
            f"Warning: shares take longer than the time limit of {config.time}; send the script "
            "again when they have ended, raise `shares`, or raise `time`."
        )
    return said


def _batch(argument: str) -> BatchSystem:
    from sclcs.compute.slurm_batch import SlurmBatch

    return SlurmBatch(read_slurm_config(argument))


def _reach(_argument: str) -> None:
    from sclcs.compute.slurm_batch import require_slurm

    require_slurm()


KIND = ExecutorKind(
    name="slurm",
    argument="a YAML file that says what to ask SLURM for",
    example="slurm:slurm.yaml",
    option="slurm",
    hand_over=_hand_over,
    batch=_batch,
    check=read_slurm_config,
    processes=lambda argument: read_slurm_config(argument).of_driver.cpus,
    elsewhere=True,
    reach_batch=_reach,
    from_anywhere=lambda argument: str(Path(argument).absolute()),
)
