"""``sclcs cohort``: make, describe and check cohorts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli import cohort_import
from sclcs.cli.options import SettingsCommand
from sclcs.cli.output import (
    JsonFlag,
    print_columns,
    print_description,
    print_json,
    print_problems,
)

__all__ = ["app"]

app = typer.Typer(
    help="Make a cohort from files or by simulation, describe it, check it.",
    no_args_is_help=True,
)
app.command("import", cls=SettingsCommand)(cohort_import.import_)

Source = Annotated[Path, typer.Argument(help="A cohort, or files that `import` reads.")]


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
    from sclcs._core import refuse_existing
    from sclcs.cohort import simulate_cohort

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
    json: JsonFlag = False,
) -> None:
    """Count subjects, classes, sites and lengths, and say what was left out and why.

    Example: `sclcs cohort describe abide.zarr`
    """
    from tempfile import TemporaryDirectory

    from sclcs.cohort import Cohort, describe_cohort, open_source

    found = open_source(source, labels)
    with TemporaryDirectory() as folder:  # whole scans, as an import that skips bad ones keeps them
        if not isinstance(found, Cohort):
            found = found.to_cohort(Path(folder) / "scans", on_bad="skip")
        description = describe_cohort(found)
    if json:
        print_json(description)
    else:
        print_description(description)


@app.command()
def check(
    source: Source,
    *,
    labels: Annotated[Path | None, typer.Option(help="Table of labels for raw files.")] = None,
    window: Annotated[
        str | None, typer.Option(help="Also require at least one window of this length.")
    ] = None,
    drop_first: Annotated[str, typer.Option(help="Time points to drop at the start.")] = "0",
    task: Annotated[
        list[str] | None,
        typer.Option(help="What is going to be asked; may be repeated. [all labels]"),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Read everything and name every problem; exit code 2 if one is serious.

    Example: `sclcs cohort check abide.zarr`
    """
    from sclcs.cohort import Cohort, check_cohort, check_design, check_scans, open_source

    found = open_source(source, labels)
    if isinstance(found, Cohort):
        problems = [*check_cohort(found), *check_design(found.samples, task)]
    else:
        problems = check_scans(found, window, drop_first)
    serious = any(problem.fatal for problem in problems)
    if json:
        print_json({"ok": not serious, "problems": [p.to_dict() for p in problems]})
    else:
        print_problems(problems, str(source))
    if serious:
        raise typer.Exit(2)


@app.command()
def label(
    cohort: Annotated[Path, typer.Argument(help="The cohort to change.")],
    table: Annotated[
        Path | None, typer.Argument(help="Table of labels (csv, tsv or xlsx).")
    ] = None,
    *,
    id_column: Annotated[
        str | None,
        typer.Option("--id", "--id-column", help="Its column of ids; found if not given."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="What the ids name: subject, scan or sample. [tried]")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="Only these columns; repeated or with commas.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Allow subjects without a row; they keep what is.")
    ] = False,
    levels: Annotated[
        list[str] | None, typer.Option(help="The classes of a column: group=HC,None.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="What else means not known: age=99,unknown.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Add columns of a table to a cohort, or replace them: scores, motion, groups.

    Numbers stay numbers; signals are not touched. The cohort gets a new fingerprint, so that
    results made before are not mixed with later ones.

    Example: `sclcs cohort label study.zarr symptoms.csv --id subject`
    """
    from dataclasses import asdict
    from typing import Any, cast

    from sclcs.cli.options import split_names
    from sclcs.cohort import label_cohort

    found, done = label_cohort(
        cohort,
        table,
        id_column=id_column,
        by=cast("Any", by),
        columns=split_names(columns),
        partial=partial,
        levels=split_names(levels) or (),
        missing=split_names(missing) or (),
    )
    if json:
        print_json({"cohort": str(cohort), "fingerprint": found.fingerprint, **asdict(done)})
        return
    for word, names in (("Added", done.added), ("Replaced", done.replaced)):
        if names:
            typer.echo(f"{word}: {', '.join(names)}.")
    profiles = found.provenance["columns"]
    print_columns({name: profiles[name] for name in [*done.added, *done.replaced]})
    if done.unlabelled:
        typer.echo(f"Without a row: {len(done.unlabelled)} {done.by}s.")
    if done.unused:
        typer.echo(f"Rows that no sample of the cohort has: {done.unused}.")
    typer.echo(f"Fingerprint: {done.fingerprint_before[:8]} is now {found.fingerprint[:8]}.")


@app.command()
def plot(
    source: Annotated[Path, typer.Argument(help="A cohort.")],
    out: Annotated[Path, typer.Option(help="The picture: .png, .svg or .pdf.")],
) -> None:
    """Draw the cohort: signals, mean connectivity, classes by site, similarity of samples.

    Example: `sclcs cohort plot abide.zarr --out abide.png`
    """
    from sclcs.cohort import Cohort
    from sclcs.report import save_cohort_figure

    save_cohort_figure(Cohort.open(source), out)
    typer.echo(f"Wrote {out}")
