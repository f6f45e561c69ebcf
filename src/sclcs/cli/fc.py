"""``sclcs fc``: look at an FC store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

__all__ = ["app"]

app = typer.Typer(help="Look at the matrices that `sclcs compute` made.", no_args_is_help=True)


@app.command()
def status(
    store: Annotated[Path, typer.Argument(help="An FC store.")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Read every chunk and compare its checksum.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Say what became of every operator; exit code 2 if a check finds damage.

    Example: `sclcs fc status fc --check`
    """
    from sclcs.cli.fc_tables import print_status, summarise_store
    from sclcs.spi.fc_store import RESUME, FCStore

    opened = FCStore.open(store)
    found = opened.verify() if check else []
    damaged = [{"spi": name, "block": task.block} for task in found for name in task.operators]
    if json:
        print_json(summarise_store(opened) | ({"damaged": damaged} if check else {}))
    else:
        print_status(opened)
        if check:
            typer.echo(f"{len(damaged)} damaged chunks" + (f"; {RESUME}." if damaged else "."))
    if damaged:
        raise typer.Exit(2)
