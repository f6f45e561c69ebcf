"""``sclcs select``: choose a core-set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table
from sclcs.cli.values import parse_parameters
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.cohort.coreset import CoreSet

__all__ = ["select"]


def select(
    cohort: Annotated[Path | None, typer.Argument(help="The cohort to choose from.")] = None,
    *,
    method: Annotated[str, typer.Option(help="A method of --list.")] = "sclcs",
    ratio: Annotated[float, typer.Option(help="Share of the samples to keep.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Same seed, same core-set.")] = 0,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of training, for methods that train.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(help="A parameter of the method as name=value; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The new core-set, a .csv with a .json beside it.")
    ] = None,
    show_methods: Annotated[
        bool, typer.Option("--list", help="Show the methods and their parameters.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Choose the samples on which operators are compared.

    Example: `sclcs select abide.zarr --method sclcs --ratio 0.1 --seed 0 --out core.csv`
    """
    if show_methods:
        _list_methods(json)
        return
    if cohort is None or out is None:
        raise InputError("Expected a cohort and --out core.csv (or --list); see --help.")
    from sclcs.cohort.cohort import Cohort
    from sclcs.selection import select as choose

    _require_new(out)
    parameters = parse_parameters(param)
    if epochs is not None:
        parameters["epochs"] = epochs
    core = choose(Cohort.open(cohort), method, ratio, seed, **parameters)
    core.save(out)
    _announce(core, out, json)


def _require_new(out: Path) -> None:
    """Say before training what saving would say after it."""
    from sclcs.core.files import refuse_existing
    from sclcs.core.provenance import sidecar_path

    if out.suffix != ".csv":
        raise InputError(f"A core-set is saved as .csv, got {out.name!r}.")
    refuse_existing(out)
    refuse_existing(sidecar_path(out))


def _announce(core: CoreSet, out: Path, json: bool) -> None:
    n_subjects = len(set(core.subjects or ()))
    if json:
        facts = {"coreset": str(out), "samples": len(core), "subjects": n_subjects}
        print_json({**facts, "method": core.method, "seed": core.seed})
        return
    typer.echo(f"{core.method}: {len(core)} samples of {n_subjects} subjects")
    typer.echo(f"Core-set: {out}")


def _list_methods(json: bool) -> None:
    from sclcs.selection import SELECTORS

    if json:
        print_json({name: selector.to_dict() for name, selector in SELECTORS.items()})
        return
    yes = {True: "yes", False: ""}
    rows = [
        (s.name, yes[s.needs_training], yes[s.needs_labels], yes[s.nested], s.summary)
        for s in SELECTORS.values()
    ]
    print_table("Selection methods", ("method", "trains", "labels", "nested", "keeps"), rows)
    for selector in SELECTORS.values():
        _print_parameters(selector.name, selector.parameters)


def _print_parameters(name: str, parameters: Any) -> None:  # noqa: ANN401
    if not parameters:
        return
    shown = [f"{key}={value}" if value is not None else key for key, value in parameters.items()]
    typer.echo(f"\n--param of {name}: {', '.join(shown)}")
