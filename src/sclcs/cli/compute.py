"""``sclcs compute``: operators on a cohort, into an FC store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.workflow.compute_plan import ComputePlan
    from sclcs.workflow.slurm import SlurmConfig

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
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per processor.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to use instead.")
    ] = None,
    slurm: Annotated[
        Path | None,
        typer.Option(help="Compute nothing; write a SLURM job script as this YAML file says."),
    ] = None,
    task_range: Annotated[
        str | None, typer.Option(help="Do share i of n of the tasks only, written i/n.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compute these operators again.")] = False,
    seed: Annotated[int, typer.Option(help="Of operators that draw random numbers.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Compute operators on every sample; what is in the store already is kept.

    Example: `sclcs compute cohort.zarr --spis paper-fast --out fc --jobs 4`
    """
    _refuse_contradictions(jobs, scheduler, slurm, task_range)
    requests = spis or ["paper-fast"]
    try:
        from sclcs.workflow.compute_plan import plan_compute
        from sclcs.workflow.slurm import read_slurm_config

        config = None if slurm is None else read_slurm_config(slurm)
        plan = plan_compute(
            cohort, out, requests, coreset=_sample_ids(coreset), seed=seed, force=force
        )
        if config is not None:
            _write_job(plan, config, _command(cohort, out, requests, coreset, seed), json)
        else:
            _run(plan, jobs, scheduler, task_range, json)
    except KeyboardInterrupt:
        typer.echo(
            f"\nInterrupted. What is finished is safe in {out}; run the same command again"
            f"{' without --force' if force else ''} to do the rest.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def _refuse_contradictions(
    jobs: int, scheduler: str | None, slurm: Path | None, task_range: str | None
) -> None:
    chosen = [
        name
        for name, given in [
            ("--jobs", jobs != 1),
            ("--scheduler", scheduler is not None),
            ("--slurm", slurm is not None),
        ]
        if given
    ]
    if len(chosen) > 1:
        raise InputError(f"Choose one of {' and '.join(chosen)}: each is a way to run the tasks.")
    if slurm is not None and task_range is not None:
        raise InputError("--slurm writes the script that uses --task-range; give only one.")


def _sample_ids(coreset: Path | None) -> list[str] | None:
    if coreset is None:
        return None
    from sclcs.cohort.table_files import read_table_file

    columns = read_table_file(coreset)
    if "sample_id" not in columns:
        raise InputError(
            f"Expected a column sample_id in {coreset}, found {', '.join(columns)}; "
            "`sclcs select` writes such a table."
        )
    return columns["sample_id"]


def _run(
    plan: ComputePlan, jobs: int, scheduler: str | None, task_range: str | None, json: bool
) -> None:
    from sclcs.cli.fc_tables import print_run, summarise_run
    from sclcs.workflow.compute import run_plan
    from sclcs.workflow.store_lock import Share

    share = None if task_range is None else Share.parse(task_range)
    summary = summarise_run(run_plan(plan, jobs=jobs, scheduler=scheduler, share=share))
    if json:
        print_json(summary)
    else:
        print_run(summary)


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


def _write_job(plan: ComputePlan, config: SlurmConfig, command: list[str], json: bool) -> None:
    from sclcs.workflow.compute import prepare_shares
    from sclcs.workflow.slurm import write_slurm_job

    prepare_shares(plan)
    folder = plan.store.path.with_name(f"{plan.store.path.name}-slurm")
    tasks = plan.store.layout.tasks(plan.operators)
    job = write_slurm_job(config, command, tasks, folder)
    if json:
        print_json({"script": str(job.script), "shares": config.shares, "tasks": len(tasks)})
        return
    typer.echo(f"{len(tasks)} tasks in {config.shares} shares: {job.shares_file}")
    typer.echo(f"Send them with: sbatch {job.script}")
