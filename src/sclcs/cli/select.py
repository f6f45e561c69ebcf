"""``sclcs select``: choose a core-set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    task: Annotated[
        str | None,
        typer.Option(help="What is ranked (guided, auto, trained methods); commas for several."),
    ] = None,
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
    from sclcs.selection import select as choose

    _require_new(out)
    parameters = parse_parameters(param)
    own = [name for name in ("cohort", "method", "ratio", "seed") if name in parameters]
    if own:
        raise InputError(f"Give {own[0]} as an option (--{own[0]}), not with --param.")
    asked = {"epochs": epochs, "task": task}
    parameters |= {name: value for name, value in asked.items() if value is not None}
    if density:
        parameters["density"] = True
    core = choose(Cohort.open(cohort), method or "sclcs", ratio, seed, **parameters)
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
    certificate = core.parameters.get("certificate")
    if json:
        facts = {"coreset": str(out), "samples": len(core), "subjects": n_subjects}
        certified = {"certificate": certificate} if certificate is not None else {}
        print_json({**facts, "method": core.method, "seed": core.seed, **certified})
        return
    typer.echo(f"{core.method}: {len(core)} samples of {n_subjects} subjects")
    for item in certificate or ():
        typer.echo(_sentence(item))
    typer.echo(f"Core-set: {out}")


def _sentence(certificate: dict[str, Any]) -> str:
    """Say in words what the certificate of one task promises."""
    ends = "{expected:.2f} [{low:.2f}, {high:.2f}]"
    promises = ", ".join(
        f"{name.replace('ndcg', 'nDCG')} = {ends.format(**value)}"
        for name, value in certificate.items()
        if isinstance(value, dict)
    )
    return f"{certificate['task']}: expected on unseen operators: {promises}"


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
    defaults, helps = selector.parameters.defaults(), selector.parameters.helps()
    if defaults:
        rows = [
            (name, _shown(defaults[name]), expected, helps[name])
            for name, expected in selector.parameters.expected().items()
        ]
        header = ("name", "default", "expected", "meaning")
        print_table("Parameters (--param name=value)", header, rows)


def _shown(default: object) -> str:
    if default is None:
        return "-"
    return ",".join(map(str, default)) if isinstance(default, list) else str(default)
