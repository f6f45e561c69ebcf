"""``sclcs status``: how far a run is, wherever it is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table

if TYPE_CHECKING:
    from sclcs.run_folder import RunFolder

__all__ = ["status"]


def status(
    run: Annotated[Path, typer.Argument(help="The folder of the run.")],
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay until the jobs of the run have ended.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Say how far a run is: its stages, and its jobs on a batch system.

    Example: `sclcs status RUN`
    """
    from sclcs.run_folder import RunFolder
    from sclcs.runs.batch import Chain, watch_chain

    folder = RunFolder.open(run)
    if watch:
        watch_chain(Chain(folder), lambda line: typer.echo(line, err=json))
        folder = RunFolder.open(run)
    facts = _facts(folder)
    if json:
        print_json(facts)
    else:
        _print(facts)


def _facts(folder: RunFolder) -> dict[str, Any]:
    from sclcs.runs.batch import Chain, chain_status

    batch = folder.config().executor.kind.batch is not None
    kept = ("status", "started", "finished", "wall_seconds", "cpu_seconds")
    return {
        "folder": str(folder.path),
        "on": folder.config().on,
        "stages": {
            name: {key: record.get(key) for key in kept}
            for name, record in folder.state()["stages"].items()
        },
        "jobs": chain_status(Chain(folder)) if batch else None,
    }


def _print(facts: dict[str, Any]) -> None:
    rows = [
        (name, record["status"], f"{record['wall_seconds']:.1f}", f"{record['cpu_seconds']:.1f}")
        for name, record in facts["stages"].items()
    ]
    print_table(f"{facts['folder']}, on {facts['on']}", ["stage", "", "seconds", "CPU"], rows)
    jobs = facts["jobs"]
    if jobs is None:
        return
    typer.echo(f"{jobs['state']}; arrays of jobs sent: {jobs['arrays']}")
    if jobs["problem"]:
        typer.echo(jobs["problem"])
    for job in jobs["jobs"]:
        typer.echo(f"- {job['number']} {job['name']}: {job['state']}")
    if jobs["jobs"]:
        typer.echo(f"To stop them: {jobs['stop']}")
