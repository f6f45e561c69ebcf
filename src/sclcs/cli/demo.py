"""``sclcs demo``: the whole flow on a small simulated cohort, the truth and the paper beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    from sclcs.runs import compare_core_sets, run_demo

    with explain_stop():
        result = run_demo(out, seed=seed, tell=lambda line: typer.echo(line, err=json))
        core_sets = compare_core_sets(result.folder, seed)
    if json:
        print_json(result.to_dict())
        return
    _print_cohort(result)
    print_result(result)
    _print_truth(result)
    _print_core_sets(core_sets)


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


def _print_core_sets(found: dict[str, Any] | None) -> None:
    """Say how the paper's core-set did beside random draws of its size."""
    if found is None:
        typer.echo(
            "\nThe paper's part, a core-set of SCLCS, was left out: it needs torch "
            "(`pip install 'sclcs[torch]'`)."
        )
        return
    rows = []
    for task, numbers in found["tasks"].items():
        known = [value for value in numbers["random"] if value is not None]
        ours = numbers["ndcg@10"]
        drawn = f"{min(known):.3f} to {max(known):.3f}" if known else "no score"
        rows.append((task, "no score" if ours is None else f"{ours:.3f}", drawn))
    print_table(
        f"The paper's way: {found['samples']} of {found['of']} samples chosen by SPS, "
        f"{found['epochs']} epochs of training. nDCG@10 with the ranking on all samples:",
        ["task", found["method"], "random draws"],
        rows,
    )
    typer.echo(f"\nIt took {found['cpu_seconds']:.0f} s of CPU time; the report has the picture.")
