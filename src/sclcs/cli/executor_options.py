"""Who does the work, as options of commands: ``--on``, and what it was called before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Jobs", "On", "Scheduler", "Slurm"]

On = Annotated[
    str | None,
    typer.Option(
        metavar="NAME:ARGUMENT",
        help="Who does the work, for example local:4 (four processes; -1: one per processor); "
        "a wrong name lists all. [local:1]",
    ),
]
Jobs = Annotated[int | None, typer.Option(help="The same as --on local:JOBS.")]
Scheduler = Annotated[str | None, typer.Option(help="The same as --on dask:SCHEDULER.")]
Slurm = Annotated[Path | None, typer.Option(help="The same as --on slurm:SLURM.")]
