"""``sclcs demo``: the whole flow on a small simulated cohort."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json
from sclcs.cli.run import explain_stop, print_result

__all__ = ["demo"]


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Same seed, same results.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate a small cohort, find its best operators in two stages, check the answer.

    Example: `sclcs demo --out demo`
    """
    from sclcs.experiments.demo import run_demo

    with explain_stop():
        result = run_demo(out, seed=seed, tell=lambda line: typer.echo(line, err=json))
    if json:
        print_json(result.to_dict())
        return
    cohort = result.folder.check()["cohort"]
    typer.echo(
        f"\nSimulated {cohort['samples']} samples of {cohort['subjects']} subjects at "
        f"{len(cohort['classes']['site'])} sites, {cohort['regions']} regions x "
        f"{cohort['timepoints']} time points; {len(result.core_set)} of them chosen."
    )
    typer.echo("\nHow right the core-set was, against every operator on everybody:")
    for task, facts in result.folder.confirmation()["tasks"].items():
        truth = facts["truth"]
        found = ", ".join(f"nDCG@{k} {truth[f'ndcg@{k}']:.3f}" for k in (5, 10, 20))
        typer.echo(f"  {task}: {found}, Kendall {truth['kendall']:.2f}")
    print_result(result)
