"""``sclcs demo``: the whole flow on a small simulated cohort."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Same seed, same results.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate a small cohort, describe it and draw it.

    Example: `sclcs demo --out demo`
    """
    from sclcs.cli.describe_tables import print_description
    from sclcs.experiments.demo import run_demo

    result = run_demo(out, seed=seed)
    if json:
        print_json(result.to_dict())
        return
    print_description(result.description)
    typer.echo(f"\nCohort:  {result.cohort_path}")
    typer.echo(f"Picture: {result.figure_path}")
