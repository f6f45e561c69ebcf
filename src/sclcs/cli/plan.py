"""``sclcs plan``: what a cohort will cost, before anything long is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table
from sclcs.cli.values import parse_parameters
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.compute import CohortShape, Cost
    from sclcs.runs import CostPlan

__all__ = ["plan"]

_NAMES = {
    "selection": "choosing the core-set",
    "core-set": "every operator on the core-set",
    "winners": "the best on everybody",
}


def plan(
    cohort: Annotated[
        Path | None, typer.Argument(help="The cohort on whose samples operators are tried.")
    ] = None,
    *,
    spis: Annotated[
        list[str] | None,
        typer.Option(help="Sets, operators or globs; repeated or separated by commas."),
    ] = None,
    ratio: Annotated[float, typer.Option(help="Share of the samples in the core-set.")] = 0.1,
    method: Annotated[str, typer.Option(help="How the core-set is chosen.")] = "guided",
    param: Annotated[
        list[str] | None,
        typer.Option(help="A parameter of the method as name=value; may be repeated."),
    ] = None,
    top_k: Annotated[int, typer.Option(help="Operators computed on everybody at the end.")] = 5,
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
) -> None:
    """Predict CPU time, wall time, memory and disk, in full and in two stages.

    Operators are tried for some seconds on this machine. Without a cohort, --samples, --regions
    and --timepoints say how large it will be.

    Example: `sclcs plan cohort.zarr --spis all --ratio 0.1 --jobs 8`
    """
    from sclcs.runs import predict_costs

    planned = _shape(cohort, samples, regions, timepoints)
    costs = predict_costs(
        planned if cohort is None else cohort,
        spis or ["all"],
        ratio=ratio,
        method=method,
        parameters=parse_parameters(param),
        top_k=top_k,
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
    from sclcs.cohort.cohort import Cohort
    from sclcs.compute import CohortShape

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
