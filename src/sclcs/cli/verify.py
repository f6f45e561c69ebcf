"""``sclcs verify``: whether everything is still what sclcs wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

__all__ = ["verify"]


def verify(
    path: Annotated[
        Path, typer.Argument(help="A cohort, an FC store, a run, a training or a table.")
    ],
    *,
    sign: Annotated[
        bool,
        typer.Option("--sign", help="Sign what an older version wrote, if nothing is wrong."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Read everything, say what is wrong and which command repairs it; exit code 2 if so.

    Example: `sclcs verify RUN`
    """
    from sclcs.run_folder import verify_path

    found = verify_path(path, sign=sign)
    if json:
        print_json(
            {
                "path": str(path),
                "kind": found.kind,
                "signed": found.signed,
                "ok": not found.findings,
                "findings": [finding.to_dict() for finding in found.findings],
            }
        )
    else:
        for finding in found.findings:
            typer.echo(f"{finding.where}: {finding.what}\n  {finding.repair}")
        if not found.findings:
            unsigned = "" if found.signed else ", though not signed (--sign signs it)"
            typer.echo(f"{path} ({found.kind}): everything is as sclcs wrote it{unsigned}.")
    if found.findings:
        raise typer.Exit(2)
