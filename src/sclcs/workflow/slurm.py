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
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sclcs.core.errors import InputError, UnreadableFileError
from sclcs.core.files import explain_write_errors, require_existing, write_text
from sclcs.spi.fc_records import FamilyTask

__all__ = ["SlurmConfig", "SlurmJob", "read_slurm_config", "write_slurm_job"]


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be one line of text")
    return text


Line = Annotated[str, AfterValidator(_one_line)]


class SlurmConfig(BaseModel):
    """What to ask SLURM for.

    Parameters
    ----------
    shares : int
        Array jobs to cut the work into.
    max_running : int, optional
        How many may run at the same time.
    cpus : int
        Processors per array job; it runs as many processes.
    memory : str
        Per array job, as SLURM writes it, for example ``4G``.
    time : str
        Limit of an array job, for example ``02:00:00``. What a job does not finish in time,
        the next submission of the same script does.
    partition, account : str, optional
        Where to run and who pays.
    options : list of str
        Further options of sbatch, for example ``--constraint=skylake``.
    setup : list of str
        Lines of shell before the work, for example ``module load python``.
    python : str, optional
        The interpreter; by default the one that writes the script.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    shares: int = Field(ge=1)
    max_running: int | None = Field(default=None, ge=1)
    cpus: int = Field(default=1, ge=1)
    memory: Line = "4G"
    time: Line = "04:00:00"
    partition: Line | None = None
    account: Line | None = None
    options: list[Line] = []
    setup: list[Line] = []
    python: Line | None = None


@dataclass(frozen=True)
class SlurmJob:
    """The files that were written.

    Parameters
    ----------
    script : Path
        For ``sbatch``.
    shares_file : Path
        Which task belongs to which share.
    """

    script: Path
    shares_file: Path


def read_slurm_config(path: str | os.PathLike[str]) -> SlurmConfig:
    """Read a YAML file; a key that is not known is an error."""
    import yaml

    path = require_existing(path, "SLURM configuration")
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"Expected YAML in {path}: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"Expected `key: value` lines in {path}, for example `shares: 20`.")
    try:
        return SlurmConfig(**content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors()
        )
        raise InputError(
            f"{path} is not a SLURM configuration: {problems}. Known keys are "
            f"{', '.join(SlurmConfig.model_fields)}."
        ) from error


def write_slurm_job(
    config: SlurmConfig,
    command: Sequence[str],
    tasks: Sequence[FamilyTask],
    folder: str | os.PathLike[str],
) -> SlurmJob:
    """Write the job script and the list of shares.

    Parameters
    ----------
    config : SlurmConfig
        What to ask for.
    command : sequence of str
        Arguments of ``sclcs`` without ``--jobs`` and ``--task-range``; absolute paths.
    tasks : sequence of FamilyTask
        All tasks, in the order from which shares are cut.
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
    shares_file = write_text(folder / "shares.csv", _shares_table(tasks, config.shares))
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
        "# Made by `sclcs compute --slurm`. Send it with sbatch; sent again, it does what is left.",
        "set -euo pipefail",
        *config.setup,
        f"exec {shlex.quote(config.python or sys.executable)} -m sclcs {shlex.join(command)} \\",
        f'  --task-range "${{SLURM_ARRAY_TASK_ID}}/{config.shares}" --jobs {config.cpus}',
    ]
    return "\n".join(lines) + "\n"


def _shares_table(tasks: Sequence[FamilyTask], count: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["share", "family", "block", "operators"])
    for place, task in enumerate(tasks):
        writer.writerow([place % count + 1, task.family, task.block, len(task.operators)])
    return out.getvalue()
