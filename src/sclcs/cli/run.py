"""``sclcs run``: from a cohort to the best operators and a report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.executor_options import Jobs, On, Scheduler
from sclcs.cli.output import UNPROVEN, JsonFlag, print_json, print_table
from sclcs.cli.question_options import (
    CardCriteria,
    Covariates,
    DropMissing,
    Folds,
    Harmonise,
    LeaveOut,
    Permutations,
    Repeats,
    ScoreName,
    TreatAs,
    Within,
    split_names,
)
from sclcs.cli.status import status
from sclcs.cli.values import parse_parameters
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.run_folder import RunConfig
    from sclcs.runs import RunResult

__all__ = ["explain_stop", "print_result", "run"]

INTERRUPTED = 130
#: Options that are no keys of a configuration, or have another name there.
APART = {"of", "task", "param", "config", "until", "detach", "init_config", "json"}


def run(
    cohort: Annotated[Path | None, typer.Argument(help="The cohort.")] = None,
    of: Annotated[Path | None, typer.Argument(hidden=True)] = None,
    *,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run: new, or begun by the same command.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(help="subject (fingerprinting), a label or a number; may be repeated."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with settings; options beat the file.")
    ] = None,
    spis: Annotated[
        list[str] | None,
        typer.Option(help="Sets, operators or globs; repeated or with commas. [paper-fast]"),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="CPU time (10m, 2h) or share of the full cost that may be spent. [5%]"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Two stages instead: how the core-set is chosen. [guided]"),
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option(help="Two stages instead: share of the samples in the core-set. [0.1]"),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(help="A parameter of the method as name=value; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same results. [0]")] = None,
    score: ScoreName = None,
    covariates: Covariates = None,
    within: Within = None,
    harmonise: Harmonise = None,
    treat_as: TreatAs = None,
    drop_missing: DropMissing = None,
    folds: Folds = None,
    repeats: Repeats = None,
    leave_out: LeaveOut = None,
    permutations: Permutations = None,
    criteria: CardCriteria = None,
    bootstrap: Annotated[
        int | None, typer.Option(help="Redraws of subjects for the intervals. [1000]")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Coverage of the intervals. [0.95]")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Operators per task to compute on everybody. [5]")
    ] = None,
    full_benchmark: Annotated[
        bool | None,
        typer.Option(
            "--full-benchmark/--no-full-benchmark",
            help="Also compute every operator on everybody, and compare.",
        ),
    ] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(help="Also write the winners' matrices (relmat, npz, nbs, ...); repeatable."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="Matrices that stay at the end: all, winners or none. [all]"),
    ] = None,
    disk: Annotated[
        str | None,
        typer.Option(help="How much matrices that are not kept may take at a time. [50G]"),
    ] = None,
    on_bad: Annotated[
        str | None, typer.Option(help="Samples with constant regions: error or skip. [error]")
    ] = None,
    on: On = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    memory: Annotated[
        str | None, typer.Option(help="How much a ranking may take, for example 4G.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
    description: Annotated[
        str | None, typer.Option(help="A few words about the cohort, for the report.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Stop after this stage: check, plan, select, rank, ...")
    ] = None,
    detach: Annotated[
        bool,
        typer.Option("--detach", help="On a batch system: send the jobs and do not wait."),
    ] = False,
    init_config: Annotated[
        bool,
        typer.Option("--init-config", help="Only print a configuration file with these settings."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Find the best operators within a budget, and say how sure that is.

    What is cheap is computed exactly; the rest is estimated, and the likely best confirmed. With
    --ratio or --method: all operators on a core-set, the best ones on everybody. Interrupted, the
    same command resumes.

    Example: `sclcs run abide.zarr --task diagnosis --budget 5% --out RUN`
    """
    given = locals().copy()
    if of is not None:
        _ask_status(cohort, of, json)
        return
    from sclcs.run_folder import collect_config, config_text

    options = {name: value for name, value in given.items() if name not in APART} | {
        "cohort": cohort and str(cohort.absolute()),
        "out": out and str(out.absolute()),
        "tasks": task,
        "spis": spis and ",".join(spis),
        "parameters": parse_parameters(param) or None,
        "covariates": split_names(covariates),
        "treat_as": split_names(treat_as),
        "criteria": split_names(criteria),
    }
    settings = collect_config(config, options)
    if init_config:
        typer.echo(config_text(settings), nl=False)
    else:
        _run(settings, until, detach, json)


def _ask_status(word: Path | None, folder: Path, json: bool) -> None:
    """Understand ``sclcs run status RUN``, which people try before ``sclcs status RUN``."""
    if str(word) != "status":
        raise InputError(
            f"Expected one cohort, got {word} and {folder}; options such as --task and --out take "
            "what else is needed, see `sclcs run --help`."
        )
    status(folder, json=json)


def _run(config: RunConfig, until: str | None, detach: bool, json: bool) -> None:
    from sclcs.runs import RunResult, carry_out

    batch = config.executor.kind.batch is not None
    if detach and not batch:
        raise InputError(f"Work on {config.on} is done here; --detach is for batch systems.")
    try:
        with explain_stop():
            folder, stages = carry_out(
                config, tell=partial(typer.echo, err=json), until=until, watch=not detach
            )
    except KeyboardInterrupt:
        if not batch:
            raise
        typer.echo(f"\nThe jobs keep running; `sclcs status {config.out}` says how far they are.")
        raise typer.Exit(INTERRUPTED) from None
    if detach:
        typer.echo(f"`sclcs status {folder.path}` says how far they are.", err=json)
        if json:
            print_json({"folder": str(folder.path)})
        return
    if until not in {None, "report"}:
        typer.echo(f"Stopped after {until}, as asked: {folder.path}", err=json)
        if json:
            print_json({"folder": str(folder.path), "until": until, "stages": stages})
        return
    result = RunResult.open(folder, stages)
    if json:
        print_json(result.to_dict())
    else:
        print_result(result)


@contextmanager
def explain_stop() -> Iterator[None]:
    """Turn Ctrl-C in a stage into one sentence that says how to go on."""
    from sclcs.runs import StoppedInStageError

    try:
        yield
    except StoppedInStageError as stop:
        typer.echo(f"\nStopped in {stop.stage}; the same command resumes there.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def print_result(result: RunResult) -> None:
    """Print the best operators of every task, how sure that is, and where the report is."""
    from sclcs.benchmark.verdict import answered, find_verdict

    answers, budgeted = result.answers(), result.answer is not None
    for task, rows in result.best().items():
        score = result.confirmed[task].score
        unproven = find_verdict(result.confirmed[task]).kind in {"no-effect", "untestable"}
        print_table(
            f"{UNPROVEN if unproven else 'best operators'}, task {task}, on the whole cohort",
            ["operator", score, "interval", "could be best", *(["source"] if budgeted else [])],
            [
                (
                    *_cells(row, answered(result.confirmed[task])),
                    *([row["source"]] if budgeted else []),
                )
                for row in rows
            ],
        )
        for sentence in answers.get(task, []):
            typer.echo(f"- {sentence}")
    if result.answer is not None:
        _print_cost(result.answer)
    typer.echo(f"\nReport: {result.report}")


def _cells(row: dict[str, Any], known: bool) -> tuple[str, str, str, str]:
    from sclcs.benchmark import entry_name

    interval = "" if math.isnan(row["low"]) else f"{row['low']:.4f} to {row['high']:.4f}"
    name = entry_name({**row, "also": row["equivalents"]})
    return name, f"{row['score']:.4f}", interval, "yes" if known and row["best_set"] else ""


def _print_cost(answer: dict[str, Any]) -> None:
    """Print why a budgeted run stopped and what it cost beside everything."""
    cost, share = answer["cost"], answer["cost"]["share"]
    typer.echo(f"\n{answer['sentence']}")
    typer.echo(
        f"Cost: {cost['spent']:.0f} of {cost['everything']:.0f} CPU seconds, "
        f"{share:.1%} of everything on everybody (predicted)."
    )
