"""``sclcs select``: choose a core-set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs._core import InputError
from sclcs.cli.options import with_settings
from sclcs.cli.output import JsonFlag, parse_parameters, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sclcs.cohort import CoreSet
    from sclcs.coresets import Selector, TrainedEncoder

__all__ = ["app", "select"]


@with_settings("SelectSettings")
def select(
    cohort: Annotated[Path | None, typer.Argument(help="The cohort to choose from.")] = None,
    *,
    task: Annotated[
        str | None,
        typer.Option(help="What is learned or kept in proportion, for methods that use labels."),
    ] = None,
    density: Annotated[
        bool,
        typer.Option("--density", help="Balance by density, for methods that score samples."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The new core-set, a .csv with a .json beside it.")
    ] = None,
    show_methods: Annotated[
        bool, typer.Option("--list", help="Explain the methods; with --method, its parameters.")
    ] = False,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Choose the samples on which operators are compared.

    Example: `sclcs select abide.zarr --method sclcs-dense --ratio 0.1 --seed 0 --out core.csv`
    """
    if show_methods:
        _list_methods(settings.get("method"), json)
        return
    if cohort is None or out is None:
        raise InputError("Expected a cohort and --out core.csv (or --list); see --help.")
    from sclcs.coresets import select as choose

    _require_new(out)
    parameters = settings.pop("parameters", {})
    own = [name for name in ("cohort", "method", "ratio", "seed") if name in parameters]
    if own:
        raise InputError(f"Give {own[0]} as an option (--{own[0]}), not with --param.")
    if task is not None:
        parameters["task"] = task
    if density:
        parameters["density"] = True
    core = choose(cohort, **parameters | settings)
    core.save(out)
    _announce(core, out, json)


def _require_new(out: Path) -> None:
    """Say before training what saving would say after it."""
    from sclcs._core import refuse_existing, sidecar_path

    if out.suffix != ".csv":
        raise InputError(f"A core-set is saved as .csv, got {out.name!r}.")
    refuse_existing(out)
    refuse_existing(sidecar_path(out))


def _announce(core: CoreSet, out: Path, json: bool) -> None:
    n_subjects = len(set(core.subjects or ()))
    if json:
        info = {"coreset": str(out), "samples": len(core), "subjects": n_subjects}
        print_json({**info, "method": core.method, "seed": core.seed})
        return
    typer.echo(f"{core.method}: {len(core)} samples of {n_subjects} subjects")
    typer.echo(f"Core-set: {out}")


def _list_methods(method: str | None, json: bool) -> None:
    from sclcs.coresets import SELECTORS, find_selector

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


app = typer.Typer(
    help="Train the contrastive attention encoder, draw its training.",
    no_args_is_help=True,
)

CohortPath = Annotated[Path, typer.Argument(help="The cohort to train on.")]
Preset = Annotated[str, typer.Option(help="paper, official, mha or mha-published.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option(help="A setting of the encoder as name=value; may be repeated."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")]


@app.command()
def train(
    cohort: CohortPath,
    *,
    out: Annotated[Path, typer.Option(help="Folder of the new training.")],
    preset: Preset = "paper",
    seed: Annotated[int, typer.Option(help="Same seed, same scores.")] = 0,
    epochs: Annotated[int | None, typer.Option(help="Length of training.")] = None,
    param: Parameters = None,
    device: Device = "auto",
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted training continues.")
    ] = None,
    curves: Annotated[bool, typer.Option(help="Keep every sample's score per epoch.")] = False,
    json: JsonFlag = False,
) -> None:
    """Train the encoder and save scores, the table of epochs and weights.

    Example: `sclcs encoder train abide.zarr --preset official --epochs 200 --out training`
    """
    from sclcs._core import refuse_existing
    from sclcs.cohort import Cohort
    from sclcs.coresets import train_encoder

    refuse_existing(out)
    changes = parse_parameters(param) | ({} if epochs is None else {"epochs": epochs})
    run = train_encoder(
        Cohort.open(cohort),
        preset,
        seed=seed,
        device=device,
        checkpoint=checkpoint,
        keep_curves=curves,
        **changes,
    )
    run.save(out)
    _encoder_announce(run, out, json)


def _encoder_announce(run: TrainedEncoder, out: Path, json: bool) -> None:
    loss = float(run.history["loss"].iloc[-1])
    if json:
        print_json({"run": str(out), "samples": len(run.scores), "loss": loss})
        return
    typer.echo(
        f"{len(run.scores)} samples scored in {run.settings.epochs} epochs "
        f"({run.info['seconds']:.0f} s); loss {loss:.3f}"
    )
    typer.echo(f"Run: {out}")


@app.command()
def plot(
    run: Annotated[Path, typer.Argument(help="Made by `sclcs encoder train`.")],
    *,
    cohort: Annotated[
        Path | None, typer.Option(help="Its cohort; needed to draw attention maps.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")],
) -> None:
    """Draw scores, convergence, head weights and attention maps of a training.

    Example: `sclcs encoder plot training --cohort abide.zarr --out pictures`
    """
    from sclcs.cohort import Cohort
    from sclcs.coresets import TrainedEncoder
    from sclcs.report import save_encoder_figures

    opened = None if cohort is None else Cohort.open(cohort)
    for path in save_encoder_figures(TrainedEncoder.open(run), out, opened):
        typer.echo(f"Wrote {path}")
