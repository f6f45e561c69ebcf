"""A job script for SLURM: an array of shares of the work, sent with ``sbatch``.

Nothing here talks to SLURM. The script is plain text that a person can read, change and
send; every array job runs ``sclcs compute ... --task-range i/n`` on the same store.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from sclcs.compute.executors import ExecutorKind, Handover
from sclcs.compute.shares import Work
from sclcs.core.errors import InputError
from sclcs.core.files import explain_write_errors, require_existing, write_text
from sclcs.core.gate import read_yaml
from sclcs.core.settings import Settings, setting
from sclcs.spi.fc_records import Piece

__all__ = ["KIND", "SlurmConfig", "SlurmJob", "read_slurm_config", "write_slurm_job"]


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("one line of text")
    return text


Line = Annotated[str, AfterValidator(_one_line)]


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
    shares: Sequence[Sequence[Piece]],
    folder: str | os.PathLike[str],
) -> SlurmJob:
    """Write the job script and the list of shares.

    Parameters
    ----------
    config : SlurmConfig
        What to ask for.
    command : sequence of str
        Arguments of ``sclcs`` without ``--on`` and ``--task-range``; absolute paths.
    shares : sequence of sequence of Piece
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
    """Return the text of the job script."""
    import sys

    running = f"%{config.max_running}" if config.max_running else ""
    options = [
        "--job-name=sclcs",
        f"--array=1-{config.shares}{running}",
        f"--cpus-per-task={config.cpus}",
        f"--mem={config.memory}",
        f"--time={config.time}",
        f"--output={folder}/%A_%a.log",
        *([f"--partition={config.partition}"] if config.partition else []),
        *([f"--account={config.account}"] if config.account else []),
        *config.options,
    ]
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        "# Made by `sclcs compute`. Send it with sbatch; sent again, it does what is left.",
        "set -euo pipefail",
        *config.setup,
        f"exec {shlex.quote(config.python or sys.executable)} -m sclcs {shlex.join(command)} \\",
        f'  --task-range "${{SLURM_ARRAY_TASK_ID}}/{config.shares}" --on local:{config.cpus}',
    ]
    return "\n".join(lines) + "\n"


def _shares_table(shares: Sequence[Sequence[Piece]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["share", "family", "block", "operators"])
    for number, pieces in enumerate(shares, start=1):
        for piece in pieces:
            writer.writerow([number, piece.family, piece.block, len(piece.operators)])
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
    shares = work.deal(config.shares)
    job = write_slurm_job(config, command, shares, folder)
    loads = [sum(map(work.seconds, pieces)) for pieces in shares]
    minutes = max(loads) / config.cpus / 60
    sentences = [
        f"{len(work.pieces)} tasks in {config.shares} shares: {job.shares_file}",
        f"The longest share is expected to take about {minutes:.0f} minutes.",
        *_too_long(config, work),
        f"Send them with: sbatch {job.script}",
    ]
    facts = {"script": str(job.script), "shares": config.shares, "tasks": len(work.pieces)}
    return Handover(
        facts | {"longest_share_seconds": round(max(loads) / config.cpus, 1)}, sentences
    )


def _too_long(config: SlurmConfig, work: Work) -> list[str]:
    """Warn of a task that would be cut off by the time limit, and start from its beginning."""
    limit = limit_seconds(config.time)
    longest = max(work.pieces, key=work.seconds)
    seconds = work.seconds(longest)
    if limit is None or seconds < limit:
        return []
    warning = (
        f"Warning: the longest task ({longest.family}) is expected to take {seconds / 3600:.1f} "
        f"hours, but the time limit is {config.time}: it would never end. Raise `time`, or compute "
        "its operators one by one (--spis)."
    )
    return [warning]


KIND = ExecutorKind(
    name="slurm",
    argument="a YAML file that says what to ask SLURM for",
    example="slurm:slurm.yaml",
    option="slurm",
    hand_over=_hand_over,
    check=read_slurm_config,
    elsewhere=True,
)
