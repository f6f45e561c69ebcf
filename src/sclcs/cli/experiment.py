"""``sclcs experiment``: the paper's tables and figures on a cohort."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table
from sclcs.core.errors import InputError

__all__ = ["experiment"]

ALL = "all"


def experiment(
    name: Annotated[
        str | None, typer.Argument(help="An experiment of --list, or all of them: all.")
    ] = None,
    *,
    cohort: Annotated[Path | None, typer.Option(help="The cohort.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.")] = None,
    fc: Annotated[
        Path | None, typer.Option(help="FC store of the cohort; OUT/fc if not given.")
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
        int | None, typer.Option(help="Random halves of the families: one guides, one is ranked.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="Another preprocessing of the same scans (multiverse); may be repeated."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes and threads.")] = None,
    toy: Annotated[
        bool, typer.Option("--toy", help="Try the machinery: few operators, epochs, repeats.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Say what there is.")] = False,
    json: JsonFlag = False,
) -> None:
    """Reproduce a table and figure of the paper, ours beside the paper's.

    A stopped run resumes where it stopped when the same command is given again.

    Example: `sclcs experiment main --cohort abide.zarr --out results/main`
    """
    from sclcs.experiments import EXPERIMENTS, run_all, run_experiment

    if show:
        _list(json)
        return
    if name is None or cohort is None or out is None:
        raise InputError(
            "Expected the name of an experiment, --cohort COHORT and --out DIR (or --list); "
            f"experiments are {', '.join(EXPERIMENTS)} and {ALL}."
        )
    options = {
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
        "beside": [str(path) for path in beside or []],
        "jobs": jobs,
    }
    command = " ".join(["sclcs", *map(shlex.quote, sys.argv[1:])])
    if name == ALL:
        run_all(cohort, out, fc=fc, toy=toy, command=command, **options)
    else:
        run_experiment(name, cohort, out, fc=fc, toy=toy, command=command, **options)
    names = list(EXPERIMENTS) if name == ALL else [name]
    _announce(names, out, several=name == ALL, json=json)


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


def _list(json: bool) -> None:
    from sclcs.experiments import EXPERIMENTS

    if json:
        print_json({name: known.to_dict() for name, known in EXPERIMENTS.items()})
        return
    rows = [(known.name, known.title, known.paper) for known in EXPERIMENTS.values()]
    print_table("Experiments", ("name", "question", "in the paper"), rows)
    typer.echo(f"\n{ALL} runs all of them. --toy tries one in seconds.")


def _announce(names: list[str], out: Path, *, several: bool, json: bool) -> None:
    folders = {name: str(out / name if several else out) for name in names}
    if json:
        print_json(folders)
        return
    for name, folder in folders.items():
        typer.echo(f"{name}: {folder}/README.md, table.md, figure.png, summary.csv")
