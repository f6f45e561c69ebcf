"""``sclcs run``: from a cohort to the best operators and a report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs._core import InputError
from sclcs.cli.options import with_settings
from sclcs.cli.output import UNPROVEN, JsonFlag, print_json, print_table
from sclcs.cli.show import status

if TYPE_CHECKING:
    from sclcs.run_folder import RunConfig
    from sclcs.runs import CohortShape, Cost, CostPlan, RunResult

__all__ = ["explain_stop", "plan", "print_result", "run"]


INTERRUPTED = 130


@with_settings("RunSettings", leave_out=("cohort",))
def run(
    cohort: Annotated[Path | None, typer.Argument(help="The cohort.")] = None,
    of: Annotated[Path | None, typer.Argument(hidden=True)] = None,
    *,
    config: Annotated[
        Path | None, typer.Option(help="YAML file with settings; options beat the file.")
    ] = None,
    init_config: Annotated[
        bool,
        typer.Option("--init-config", help="Only print a configuration file with these settings."),
    ] = False,
    until: Annotated[
        str | None, typer.Option(help="Stop after this stage: check, plan, select, rank, ...")
    ] = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Find the best operators within a budget, and say how sure that is.

    What is cheap is computed exactly; the rest is estimated, and the likely best confirmed. With
    --ratio or --method: all operators on a core-set, the best ones on the full cohort.
    Interrupted, the same command resumes.

    Example: `sclcs run abide.zarr --task diagnosis --budget 5% --out RUN`
    """
    if of is not None:
        _ask_status(cohort, of, json)
        return
    from sclcs.run_folder import collect_config, config_text

    if cohort is not None:
        settings["cohort"] = cohort
    for name in settings.keys() & {"cohort", "out"}:  # a file's paths start at its own folder
        settings[name] = str(Path(settings[name]).absolute())
    asked = collect_config(config, settings)
    if init_config:
        typer.echo(config_text(asked), nl=False)
    else:
        _run(asked, until, json)


def _ask_status(word: Path | None, folder: Path, json: bool) -> None:
    """Understand ``sclcs run status RUN``, which people try before ``sclcs status RUN``."""
    if str(word) != "status":
        raise InputError(
            f"Expected one cohort, got {word} and {folder}; options such as --task and --out take "
            "what else is needed, see `sclcs run --help`."
        )
    status(folder, json=json)


def _run(config: RunConfig, until: str | None, json: bool) -> None:
    from sclcs.runs import RunResult, carry_out

    with explain_stop():
        folder, stages = carry_out(config, tell=partial(typer.echo, err=json), until=until)
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
    from sclcs.stats import answered, find_verdict

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
    from sclcs.stats import entry_name

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


_NAMES = {
    "selection": "choosing the core-set",
    "core-set": "every operator on the core-set",
    "winners": "the best on everybody",
}


@with_settings("PlanSettings", leave_out=("seed",))
def plan(
    cohort: Annotated[
        Path | None, typer.Argument(help="The cohort on whose samples operators are tried.")
    ] = None,
    *,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "--cores", help="Processes, on however many machines; -1: all here."
        ),
    ] = 1,
    samples: Annotated[int | None, typer.Option(help="Plan for so many samples.")] = None,
    regions: Annotated[int | None, typer.Option(help="Plan for so many regions.")] = None,
    timepoints: Annotated[int | None, typer.Option(help="Plan for so many time points.")] = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Predict CPU time, wall time, memory and disk, in full and in two stages.

    Operators are tried for some seconds on this machine. Without a cohort, --samples, --regions
    and --timepoints say how large it will be.

    Example: `sclcs plan cohort.zarr --spis all --ratio 0.1 --jobs 8`
    """
    from sclcs.runs import predict_costs
    from sclcs.settings import PlanSettings

    asked = PlanSettings(**settings)
    planned = _shape(cohort, samples, regions, timepoints)
    costs = predict_costs(
        planned if cohort is None else cohort,
        asked.spis,
        ratio=asked.ratio,
        method=asked.method,
        parameters=asked.method_parameters,
        top_k=asked.top_k,
        jobs=jobs,
        shape=planned,
    )
    if json:
        print_json(costs.to_dict())
    else:
        _print(costs)


def _shape(
    cohort: Path | None, samples: int | None, regions: int | None, timepoints: int | None
) -> CohortShape:
    from sclcs.cohort import Cohort
    from sclcs.runs import CohortShape

    if cohort is not None:
        own = CohortShape.of(Cohort.open(cohort))
        return CohortShape(
            samples or own.samples, regions or own.regions, timepoints or own.timepoints
        )
    if samples is None or regions is None or timepoints is None:
        raise InputError(
            "Expected a cohort, or its size as --samples, --regions and --timepoints; see --help."
        )
    return CohortShape(samples, regions, timepoints)


def _print(plan: CostPlan) -> None:
    shape = plan.shape
    typer.echo(
        f"{len(plan.operators)} operators, {shape.samples} samples of {shape.regions} regions x "
        f"{shape.timepoints} time points, {plan.jobs} process{'' if plan.jobs == 1 else 'es'}"
    )
    rows = [("everything on everybody", *_row(plan.full))]
    rows += [(f"  {_NAMES[name]}", *_row(cost)) for name, cost in plan.parts.items()]
    rows.append((f"two stages ({plan.ratio:.0%}, {plan.method})", *_row(plan.two_stage)))
    rows.append(("  if the best are the slowest", *_row(plan.two_stage_worst)))
    header = ("", "CPU time", "wall time", "memory per process", "disk")
    print_table("Predicted cost", header, rows)
    typer.echo(
        f"\nTwo stages take {plan.cpu_share:.0%} of the CPU time. Ranking an operator on everybody "
        f"takes {_size(plan.ranking_memory_bytes)} in one process."
    )
    for note in plan.notes:
        typer.echo(note)
    measured = plan.calibration
    typer.echo(
        f"Tried for {measured.seconds:.0f} s on "
        f"{'simulated samples' if measured.simulated else 'samples of the cohort'}; the time for "
        "intervals of rankings is not included."
    )


def _row(cost: Cost) -> tuple[str, str, str, str]:
    return (
        _duration(cost.cpu_seconds),
        _duration(cost.wall_seconds),
        _size(cost.memory_bytes),
        _size(cost.disk_bytes) if cost.disk_bytes else "",
    )


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def _size(count: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e6:.0f} MB"
