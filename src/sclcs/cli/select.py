"""``sclcs select``: choose a core-set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table
from sclcs.cli.values import parse_parameters
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sclcs.cohort.coreset import CoreSet
    from sclcs.selection.registry import Selector

__all__ = ["select"]


def select(
    cohort: Annotated[Path | None, typer.Argument(help="The cohort to choose from.")] = None,
    *,
    method: Annotated[
        str | None, typer.Option(help="A method of --list; sclcs if not given.")
    ] = None,
    ratio: Annotated[float, typer.Option(help="Share of the samples to keep.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Same seed, same core-set.")] = 0,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of training, for methods that train.")
    ] = None,
    density: Annotated[
        bool,
        typer.Option("--density", help="Balance by density, for methods that score samples."),
    ] = False,
    param: Annotated[
        list[str] | None,
        typer.Option(help="A parameter of the method as name=value; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The new core-set, a .csv with a .json beside it.")
    ] = None,
    show_methods: Annotated[
        bool, typer.Option("--list", help="Explain the methods; with --method, its parameters.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Choose the samples on which operators are compared.

    Example: `sclcs select abide.zarr --method sclcs --ratio 0.1 --seed 0 --out core.csv`
    """
    if show_methods:
        _list_methods(method, json)
        return
    if cohort is None or out is None:
        raise InputError("Expected a cohort and --out core.csv (or --list); see --help.")
    from sclcs.cohort.cohort import Cohort
    from sclcs.core.files import refuse_existing
    from sclcs.core.provenance import sidecar_path
    from sclcs.selection import select as choose

    if out.suffix != ".csv":
        raise InputError(f"A core-set is saved as .csv, got {out.name!r}.")
    refuse_existing(out)
    refuse_existing(sidecar_path(out))
    parameters = parse_parameters(param)
    if epochs is not None:
        parameters["epochs"] = epochs
    if density:
        parameters["density"] = True
    core = choose(Cohort.open(cohort), method or "sclcs", ratio, seed, **parameters)
    core.save(out)
    _announce(core, out, json)


def _announce(core: CoreSet, out: Path, json: bool) -> None:
    n_subjects = len(set(core.subjects or ()))
    if json:
        facts = {"coreset": str(out), "samples": len(core), "subjects": n_subjects}
        print_json({**facts, "method": core.method, "seed": core.seed})
        return
    typer.echo(f"{core.method}: {len(core)} samples of {n_subjects} subjects")
    typer.echo(f"Core-set: {out}")


def _list_methods(method: str | None, json: bool) -> None:
    from sclcs.selection import SELECTORS
    from sclcs.selection.registry import find_selector

    chosen = SELECTORS if method is None else {method: find_selector(method)}
    if json:
        print_json({name: selector.to_dict() for name, selector in chosen.items()})
    elif method is None:
        _print_methods(chosen.values())
    else:
        _print_one(chosen[method])


def _print_methods(selectors: Iterable[Selector]) -> None:
    yes = {True: "yes", False: ""}
    rows = [
        (
            s.name,
            yes[s.needs_training],
            yes[s.needs_labels],
            yes[s.can_balance],
            yes[s.nested],
            s.direction if s.direction != "none" else "",
            s.summary,
        )
        for s in selectors
    ]
    header = ("method", "trains", "labels", "density", "nested", "end", "keeps")
    print_table("Selection methods", header, rows)
    typer.echo(
        "\ntrains: a network is trained (--epochs).\n"
        "labels: a label column is used; methods that train learn subject, or --param task=...\n"
        "density: --density works.\n"
        "nested: a smaller core-set is part of a larger one of the same seed.\n"
        "end: which end of the score is kept.\n"
        "Parameters of one method: sclcs select --list --method NAME"
    )


def _print_one(selector: Selector) -> None:
    typer.echo(f"{selector.name}: {selector.summary}\nReference: {selector.reference}")
    if selector.parameters:
        rows = [
            (name, "-" if default is None else default, selector.parameter_help.get(name, ""))
            for name, default in selector.parameters.items()
        ]
        print_table("Parameters (--param name=value)", ("name", "default", "meaning"), rows)
