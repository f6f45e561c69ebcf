"""``sclcs encoder``: train the encoder, search settings, draw what happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table
from sclcs.cli.values import parse_numbers, parse_parameters

if TYPE_CHECKING:
    from sclcs.encoder import TrainedEncoder

__all__ = ["app"]

app = typer.Typer(
    help="Train the contrastive attention encoder, search its settings, draw its training.",
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
    from sclcs.cohort.cohort import Cohort
    from sclcs.core.files import refuse_existing
    from sclcs.encoder import train_encoder

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
    _announce(run, out, json)


def _announce(run: TrainedEncoder, out: Path, json: bool) -> None:
    loss = float(run.history["loss"].iloc[-1])
    if json:
        print_json({"run": str(out), "samples": len(run.scores), "loss": loss})
        return
    typer.echo(
        f"{len(run.scores)} samples scored in {run.settings.epochs} epochs "
        f"({run.facts['seconds']:.0f} s); loss {loss:.3f}"
    )
    typer.echo(f"Run: {out}")


@app.command()
def grid(
    cohort: CohortPath,
    *,
    out: Annotated[Path, typer.Option(help="Folder for grid.csv and all trainings.")],
    dims: Annotated[str, typer.Option(help="Widths of a head.")] = "4,8,16,32,64,128,256",
    heads: Annotated[str, typer.Option(help="Numbers of heads.")] = "2,4,8,16,32,64",
    epochs: Annotated[str, typer.Option(help="Lengths of training.")] = "50,100,150,200",
    seeds: Annotated[str, typer.Option(help="At least two seeds.")] = "0,1",
    preset: Preset = "paper",
    param: Parameters = None,
    device: Device = "auto",
    json: JsonFlag = False,
) -> None:
    """Train a grid of settings and rank them by how alike two seeds score the samples.

    No operator is computed. Every training is kept; those that are there already are not repeated.

    Example: `sclcs encoder grid abide.zarr --dims 16,32 --heads 4,16 --epochs 50,100 --out grid`
    """
    from sclcs.cohort.cohort import Cohort
    from sclcs.encoder.grid import grid_search

    table = grid_search(
        Cohort.open(cohort),
        out,
        dims=parse_numbers(dims, "--dims"),
        heads=parse_numbers(heads, "--heads"),
        epochs=parse_numbers(epochs, "--epochs"),
        seeds=parse_numbers(seeds, "--seeds"),
        settings=preset,
        device=device,
        **parse_parameters(param),
    )
    if json:
        print_json({"grid": str(out / "grid.csv"), "best": table.iloc[0].to_dict()})
        return
    shown = table.head(10).round(4)
    rows = [
        [int(row.dim), int(row.heads), int(row.epochs), *row[3:]] for _, row in shown.iterrows()
    ]
    print_table("Best settings", list(shown.columns), rows)
    typer.echo(f"\nAll {len(table)} settings: {out / 'grid.csv'}")


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
    from sclcs.cohort.cohort import Cohort
    from sclcs.encoder import TrainedEncoder
    from sclcs.report.encoder_figure import save_encoder_figures

    opened = None if cohort is None else Cohort.open(cohort)
    for path in save_encoder_figures(TrainedEncoder.open(run), out, opened):
        typer.echo(f"Wrote {path}")
