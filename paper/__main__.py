"""``python -m paper``: the list of experiments, or one of them on a cohort."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from paper.run import run_all, run_experiment
from paper.setup import EXPERIMENTS
from sclcs._core import InputError, show_progress
from sclcs.cli.main import run_command

ALL = "all"
DEFAULT_OUT = Path("reproduced")
PRINTED = 2  # tables on the screen: one of each task

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def paper(
    name: Annotated[
        str | None, typer.Argument(help="An experiment, or all of them: all. Without: the list.")
    ] = None,
    *,
    cohort: Annotated[Path | None, typer.Option(help="The cohort.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; reproduced/NAME if not given.")
    ] = None,
    fc: Annotated[
        Path | None, typer.Option(help="FC store; reproduced/fc, or OUT/fc, if not given.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the first repeat.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Of every method.")] = None,
    draws: Annotated[int | None, typer.Option(help="Repeats of the method random.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Of the encoder.")] = None,
    classifier_epochs: Annotated[
        int | None, typer.Option(help="Of the baselines' classifier; as --epochs if not given.")
    ] = None,
    ratios: Annotated[str | None, typer.Option(help="Sizes, for example 0.02,0.1,0.5.")] = None,
    methods: Annotated[str | None, typer.Option(help="Selection methods with commas.")] = None,
    tasks: Annotated[str | None, typer.Option(help="subject, label columns; commas.")] = None,
    spis: Annotated[str | None, typer.Option(help="Operators that are ranked; commas.")] = None,
    splits: Annotated[int | None, typer.Option(help="Random halves for the ceiling.")] = None,
    family_splits: Annotated[
        int | None, typer.Option(help="Random halves of the families of operators (estimation).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes and threads.")] = None,
    toy: Annotated[
        bool, typer.Option("--toy", help="Try the machinery: few operators, epochs, repeats.")
    ] = False,
) -> None:
    """Reproduce a table or figure of the paper, ours beside the paper's.

    A stopped run resumes where it stopped when the same command is given again.

    Example: `python -m paper table2 --cohort abide.zarr`
    """
    if name is None:
        _list()
        return
    if cohort is None:
        raise InputError(f"Expected --cohort COHORT for {name}; `sclcs import` makes one.")
    options: dict[str, Any] = {
        "seed": seed,
        "repeats": repeats,
        "draws": draws,
        "epochs": epochs,
        "classifier_epochs": classifier_epochs,
        "ratios": _numbers(ratios),
        "methods": _words(methods),
        "tasks": _words(tasks),
        "spis": _words(spis),
        "splits": splits,
        "family_splits": family_splits,
        "jobs": jobs,
        "toy": toy,
    }
    command = " ".join(["python -m paper", *map(shlex.quote, sys.argv[1:])])
    folder = out or (DEFAULT_OUT if name == ALL else DEFAULT_OUT / name)
    if name == ALL:
        summaries = run_all(cohort, folder, fc=fc, command=command, **options)
    else:
        store = fc or (folder.parent if out is None else folder) / "fc"
        summary = run_experiment(name, cohort, folder, fc=store, command=command, **options)
        summaries = {name: summary}
    for made, summary in summaries.items():
        _print_tables(made, summary, folder / made if name == ALL else folder)
    if toy:
        typer.echo("A toy run shows the machinery: its numbers say nothing about any method.")


def _print_tables(name: str, summary: pd.DataFrame, folder: Path) -> None:
    tables = EXPERIMENTS[name].tables(summary)
    for table in tables[:PRINTED]:
        typer.echo(table.text())
    rest = f" ({len(tables) - PRINTED} more tables)" if len(tables) > PRINTED else ""
    typer.echo(f"{name}: {folder}/table.md{rest}, table.tex, summary.csv, figure.png")


def _list() -> None:
    for known in EXPERIMENTS.values():
        typer.echo(f"{known.name:11} {known.title}\n{'':11} {known.paper}")
    typer.echo(f"\npython -m paper NAME --cohort C; {ALL} runs all, --toy tries one.")


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str | None) -> list[float] | None:
    words = _words(text)
    if words is None:
        return None
    try:
        return [float(word) for word in words]
    except ValueError as error:
        raise InputError(f"Expected --ratios to be numbers with commas, got {text!r}.") from error


def main() -> None:
    """Run the command; whatever happens is one sentence and an exit code."""
    run_command(_shown)


def _shown() -> None:
    with show_progress():
        app(prog_name="python -m paper")


if __name__ == "__main__":
    main()
