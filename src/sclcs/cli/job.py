"""``sclcs job``: what the jobs of a run on a batch system call; not for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(name="job", help="What jobs of `sclcs run` on a batch system call.")

Run = Annotated[Path, typer.Argument(help="The folder of the run.")]


@app.command("drive")
def drive_run(run: Run) -> None:
    """Go on with a run until it is finished or has to wait for an array of jobs.

    Example: `sclcs job drive RUN`
    """
    from sclcs.run_folder import RunFolder
    from sclcs.runs.batch.drive import drive

    drive(RunFolder.open(run), typer.echo)


@app.command("share")
def do_one_share(
    run: Run,
    number: Annotated[int, typer.Argument(help="Of the array.", min=1)],
    share: Annotated[int, typer.Argument(help="Of its work, from 1.", min=1)],
) -> None:
    """Do one share of the work of an array.

    Example: `sclcs job share RUN 1 2`
    """
    from sclcs.run_folder import RunFolder
    from sclcs.runs.batch import do_share

    report = do_share(RunFolder.open(run), number, share)
    typer.echo(f"{report.pieces} pieces, {report.matrices} matrices, {report.seconds:.1f} s")
