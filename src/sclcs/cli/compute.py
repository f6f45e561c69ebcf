"""``sclcs compute``: operators on a cohort, into an FC store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.executor_options import Jobs, On, Scheduler, Slurm
from sclcs.cli.output import JsonFlag, print_json
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.compute import Computation, ExecutorChoice, Share

__all__ = ["compute"]

INTERRUPTED = 130


def compute(
    cohort: Annotated[Path, typer.Argument(help="The cohort.")],
    *,
    out: Annotated[Path, typer.Option(help="The FC store: new, or begun by the same command.")],
    spis: Annotated[
        list[str] | None,
        typer.Option(help="Sets, operators or globs; repeated or separated by commas."),
    ] = None,
    coreset: Annotated[
        Path | None, typer.Option(help="Only the samples in this table's column sample_id.")
    ] = None,
    on: On = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    slurm: Slurm = None,
    task_range: Annotated[
        str | None, typer.Option(help="Do share i of n of the tasks only, written i/n.")
    ] = None,
    longest: Annotated[
        float,
        typer.Option(
            help="Predicted CPU seconds; what takes longer is cut, so that a kill costs no more.",
            min=0.001,
        ),
    ] = 600.0,
    force: Annotated[bool, typer.Option("--force", help="Compute these operators again.")] = False,
    seed: Annotated[int, typer.Option(help="Of operators that draw random numbers.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Compute operators on every sample; what is in the store already is kept.

    Example: `sclcs compute cohort.zarr --spis paper-fast --out fc --on local:4`
    """
    from sclcs.compute import choose_executor, open_computation

    who = choose_executor(on, jobs=jobs, scheduler=scheduler, slurm=slurm)
    if who.kind.hand_over is not None and task_range is not None:
        raise InputError(
            f"{who} writes the script that uses --task-range; give only one of the two."
        )
    share = _share(task_range, force)
    requests = spis or ["paper-fast"]
    try:
        who.reach()
        computation = open_computation(
            cohort, out, requests, coreset=_sample_ids(coreset), seed=seed, force=force
        )
        if who.kind.hand_over is not None:
            _hand_over(computation, who, _command(cohort, out, requests, coreset, seed), json)
        else:
            _fill(computation, who, share, longest, json)
    except KeyboardInterrupt:
        typer.echo(
            f"\nInterrupted. What is finished is safe in {out}; run the same command again"
            f"{' without --force' if force else ''} to do the rest.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def _sample_ids(coreset: Path | None) -> list[str] | None:
    if coreset is None:
        return None
    from sclcs.cohort.coreset import CoreSet
    from sclcs.cohort.table_files import read_table_file

    if coreset.suffix == ".csv":
        return list(CoreSet.open(coreset).sample_ids)
    columns = read_table_file(coreset)
    if "sample_id" not in columns:
        raise InputError(
            f"Expected a column sample_id in {coreset}, found {', '.join(columns)}; "
            "`sclcs select` writes such a table."
        )
    return columns["sample_id"]


def _share(task_range: str | None, force: bool) -> Share | None:
    from sclcs.compute import Share

    if task_range is None:
        return None
    if force:
        raise InputError("A share cannot use --force: it would undo the work of the other shares.")
    return Share.parse(task_range)


def _fill(
    computation: Computation, who: ExecutorChoice, share: Share | None, longest: float, json: bool
) -> None:
    from sclcs.cli.fc_tables import print_fill, summarise_fill
    from sclcs.compute import fill_store

    report = fill_store(computation, who, share=share, longest=longest)
    summary = summarise_fill(report, whole=share is None)
    if json:
        print_json(summary)
    else:
        print_fill(summary)


def _command(
    cohort: Path, out: Path, requests: list[str], coreset: Path | None, seed: int
) -> list[str]:
    """Return the arguments with which each array job calls ``sclcs``."""
    chosen = [] if coreset is None else ["--coreset", str(coreset.absolute())]
    return [
        "compute",
        str(cohort.absolute()),
        "--out",
        str(out.absolute()),
        "--spis",
        ",".join(requests),
        "--seed",
        str(seed),
        *chosen,
    ]


def _hand_over(
    computation: Computation, who: ExecutorChoice, command: list[str], json: bool
) -> None:
    from sclcs.compute import hand_over

    written = hand_over(computation, who, command)
    if json:
        print_json(written.facts)
        return
    for sentence in written.sentences:
        typer.echo(sentence)
