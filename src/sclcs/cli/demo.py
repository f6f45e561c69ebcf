"""``sclcs demo``: the whole flow on a small simulated cohort."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table

__all__ = ["demo"]


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Same seed, same results.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate a small cohort, pick a core-set, rank the operators on it, check the answer.

    Example: `sclcs demo --out demo`
    """
    from sclcs.experiments.demo import run_demo

    result = run_demo(out, seed=seed)
    if json:
        print_json(result.to_dict())
        return
    facts = result.cohort
    typer.echo(
        f"\nSimulated {facts['samples']} samples of {facts['subjects']} subjects at "
        f"{len(facts['classes']['site'])} sites, {facts['regions']} regions x "
        f"{facts['timepoints']} time points."
    )
    print_table(
        "Best operators for telling subjects apart, from a tenth of the samples",
        ["operator", "score", "95 % interval"],
        [
            (row["spi"], f"{row['score']:.2f}", f"{row['low']:.2f} to {row['high']:.2f}")
            for row in result.best
        ],
    )
    agreement = result.agreement
    typer.echo(
        f"\nAgreement with the ranking on everybody: nDCG@10 {agreement['ndcg@10']:.3f}, "
        f"Kendall {agreement['kendall']:.2f}."
    )
    for name, what in (
        ("cohort.png", "the cohort"),
        ("ranking.png", "the ranking with intervals"),
        ("ranking.csv", "the same as a table"),
        ("fc", "the matrices of every operator"),
    ):
        typer.echo(f"  {result.folder / name}  {what}")
