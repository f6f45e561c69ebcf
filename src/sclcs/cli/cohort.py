"""``sclcs cohort``: make, describe and check cohorts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli import cohort_import
from sclcs.cli.describe_tables import print_description, print_problems
from sclcs.cli.output import JsonFlag, print_json

__all__ = ["app"]

app = typer.Typer(
    help="Make a cohort from files or by simulation, describe it, check it.",
    no_args_is_help=True,
)
app.add_typer(cohort_import.app, name="import")

Source = Annotated[
    Path, typer.Argument(help="A cohort, or a file or folder that `import arrays` reads.")
]


@app.command()
def simulate(
    *,
    out: Annotated[Path, typer.Option(help="Folder of the new cohort.")],
    subjects: Annotated[int, typer.Option(help="Number of subjects.")] = 904,
    windows: Annotated[int, typer.Option(help="Windows per scan.")] = 5,
    regions: Annotated[int, typer.Option(help="Number of regions.")] = 33,
    length: Annotated[int, typer.Option(help="Time points per window.")] = 70,
    stride: Annotated[int, typer.Option(help="Time points from one start to the next.")] = 35,
    sessions: Annotated[int, typer.Option(help="Scans per subject.")] = 1,
    seed: Annotated[int, typer.Option(help="Same seed, same cohort.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Simulate a cohort with known effects, like the paper's in size and sites.

    Example: `sclcs cohort simulate --subjects 100 --seed 1 --out small.zarr`
    """
    from sclcs.cohort.simulation import simulate_cohort
    from sclcs.core.files import refuse_existing

    refuse_existing(out)
    cohort = simulate_cohort(
        subjects, windows, regions, length=length, stride=stride, sessions=sessions, seed=seed
    )
    cohort.save(out)
    cohort_import.announce(cohort, out, json)


@app.command()
def describe(
    source: Source,
    *,
    labels: Annotated[Path | None, typer.Option(help="Table of labels for raw files.")] = None,
    min_timepoints: Annotated[
        list[int] | None,
        typer.Option(help="Count usable scans at least so long; may be repeated."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Count subjects, classes, sites and lengths, and say what was left out and why.

    Example: `sclcs cohort describe abide.zarr`
    """
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.describe import describe_cohort, describe_scans
    from sclcs.cohort.source import open_source

    found = open_source(source, labels)
    if isinstance(found, Cohort):
        description = describe_cohort(found)
    else:
        description = describe_scans(found, min_timepoints)
    if json:
        print_json(description)
    else:
        print_description(description)


@app.command()
def check(
    source: Source,
    *,
    labels: Annotated[Path | None, typer.Option(help="Table of labels for raw files.")] = None,
    length: Annotated[
        int | None, typer.Option(help="Also require at least one window of this length.")
    ] = None,
    drop_first: Annotated[int, typer.Option(help="Time points to drop at the start.")] = 0,
    task: Annotated[
        list[str] | None,
        typer.Option(help="What is going to be asked; may be repeated. [all labels]"),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Read everything and name every problem; exit code 2 if one is serious.

    Example: `sclcs cohort check abide.zarr`
    """
    from sclcs.cohort.check import check_cohort, check_scans
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.design import check_design
    from sclcs.cohort.source import open_source
    from sclcs.cohort.windows import Windowing

    found = open_source(source, labels)
    if isinstance(found, Cohort):
        problems = [*check_cohort(found), *check_design(found.samples, task)]
    else:
        problems = check_scans(found, Windowing(length, drop_first=drop_first))
    serious = any(problem.fatal for problem in problems)
    if json:
        print_json({"ok": not serious, "problems": [p.to_dict() for p in problems]})
    else:
        print_problems(problems, str(source))
    if serious:
        raise typer.Exit(2)


@app.command()
def plot(
    source: Annotated[Path, typer.Argument(help="A cohort.")],
    out: Annotated[Path, typer.Option(help="The picture: .png, .svg or .pdf.")],
) -> None:
    """Draw the cohort: signals, mean connectivity, classes by site, similarity of samples.

    Example: `sclcs cohort plot abide.zarr --out abide.png`
    """
    from sclcs.cohort.cohort import Cohort
    from sclcs.report.cohort_figure import save_cohort_figure

    save_cohort_figure(Cohort.open(source), out)
    typer.echo(f"Wrote {out}")
