"""``sclcs cite``: what a paper should say about a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

__all__ = ["cite"]


def cite(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="RUN")],
    *,
    ro_crate: Annotated[
        bool,
        typer.Option("--ro-crate", help="Also write RUN/ro-crate-metadata.json (provenance)."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Print a methods paragraph, its literature, the software and the data of a run.

    Example: `sclcs cite RUN`
    """
    from sclcs.report import how_to_cite, write_run_crate

    citation = how_to_cite(folder)
    written = write_run_crate(folder) if ro_crate else None
    if json:
        print_json({**asdict(citation), "ro_crate": None if written is None else str(written)})
        return
    typer.echo(str(citation))
    if written is not None:
        typer.echo(f"\nWrote {written}")
