"""``sclcs demo``: the whole flow on a small simulated cohort, and the truth beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table
from sclcs.cli.run import explain_stop, print_result

if TYPE_CHECKING:
    from sclcs.runs import RunResult

__all__ = ["demo"]


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Same seed, same results.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate a small cohort, find its best operators within a budget, check the answer.

    Example: `sclcs demo --out demo`
    """
    from sclcs.runs import run_demo

    with explain_stop():
        result = run_demo(out, seed=seed, tell=lambda line: typer.echo(line, err=json))
    if json:
        print_json(result.to_dict())
        return
    _print_cohort(result)
    print_result(result)
    _print_truth(result)


def _print_cohort(result: RunResult) -> None:
    cohort = result.folder.check()["cohort"]
    typer.echo(
        f"\nSimulated {cohort['samples']} samples of {cohort['subjects']} subjects at "
        f"{len(cohort['classes']['site'])} sites, {cohort['regions']} regions x "
        f"{cohort['timepoints']} time points."
    )


def _print_truth(result: RunResult) -> None:
    """Say what the budget bought, beside what computing everything on everybody says."""
    facts = result.folder.confirmation()
    costs = facts["costs"]
    everything = costs["everything_measured"]
    rows = []
    for task, found in facts["tasks"].items():
        if found["truth"] is None:
            continue
        inside = found["true_best_in_set"]
        rows.append(
            (
                task,
                found["chosen"],
                found["true_best"],
                "yes" if inside else "no",
                f"{found['regret_share']:.1%}",
                f"{found['truth']['ndcg@10']:.3f}",
            )
        )
    print_table(
        "Was it right? Afterwards everything was computed on everybody:",
        ["task", "chosen", "true best", "in the set", "lost", "nDCG@10"],
        rows,
    )
    typer.echo(
        f"\nThe budget bought this for {costs['two_stage']:.1f} s of CPU time; everything on "
        f"everybody took {everything:.1f} s, {everything / max(costs['two_stage'], 1e-9):.0f} "
        "times as much. (lost: share of best minus median)"
    )
