"""``sclcs fc``: look at an FC store, or take its matrices elsewhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

__all__ = ["app"]

app = typer.Typer(
    help="Look at the matrices that `sclcs compute` made, or export them.", no_args_is_help=True
)


class PerChoice(StrEnum):
    """What one exported matrix stands for."""

    window = "window"
    subject = "subject"


@app.command()
def status(
    store: Annotated[Path, typer.Argument(help="An FC store.")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Read every chunk and compare its checksum.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Say what became of every operator; exit code 2 if a check finds damage.

    Example: `sclcs fc status fc --check`
    """
    from sclcs.cli.fc_tables import print_status, summarise_store
    from sclcs.spi.fc_index import damaged_records
    from sclcs.spi.fc_store import RESUME, FCStore

    opened = FCStore.open(store)
    found = opened.verify() if check else []
    damaged = [{"spi": name, "block": task.block} for task in found for name in task.operators]
    records = damaged_records(opened.layout) if check else []
    if json:
        lost = {"damaged": damaged, "damaged_records": records} if check else {}
        print_json(summarise_store(opened) | lost)
    else:
        print_status(opened)
        if check:
            count = f"{len(damaged)} damaged chunks, {len(records)} damaged records"
            typer.echo(count + (f"; {RESUME}." if damaged or records else "."))
    if damaged or records:
        raise typer.Exit(2)


@app.command()
def repack(
    store: Annotated[Path, typer.Argument(help="An FC store, of an older format for example.")],
    *,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    json: JsonFlag = False,
) -> None:
    """Copy a store into one of today's format: the same matrices in far fewer files.

    Example: `sclcs fc repack fc --out fc-new`
    """
    from sclcs.cli.fc_tables import summarise_store
    from sclcs.spi.packing.repack import repack_store

    done = repack_store(store, out)
    if json:
        print_json(summarise_store(done))
        return
    files = [sum(1 for path in place.rglob("*") if path.is_file()) for place in (store, out)]
    typer.echo(
        f"{len(done.operators)} operators of {len(done)} samples in {files[1]} files instead of "
        f"{files[0]}: {out}. When you have looked at it, {store} can be removed."
    )


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="An FC store.")],
    *,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="relmat (BIDS-like tables), npz, mat, csv, nbs, brainnet, conn or graphvar.",
            metavar="NAME",
        ),
    ] = "relmat",
    spis: Annotated[
        list[str] | None, typer.Option(help="Only these operators; all complete ones if not given.")
    ] = None,
    per: Annotated[
        PerChoice, typer.Option(help="One matrix per window, or their mean per subject.")
    ] = PerChoice.window,
    coordinates: Annotated[
        Path | None, typer.Option(help="Table region, x, y, z in mm (brainnet, nbs, conn).")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Label for the design matrix of nbs.")] = None,
    ro_crate: Annotated[
        bool, typer.Option("--ro-crate", help="Also write ro-crate-metadata.json.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Write matrices for other tools.

    Example: `sclcs fc export RUN/fc.zarr --format relmat --out derivatives/sclcs`
    """
    from sclcs.compute import export_matrices

    done = export_matrices(
        store,
        out,
        format_,
        spis=spis,
        per=per.value,
        coordinates=coordinates,
        group=group,
        crate=ro_crate,
    )
    if json:
        print_json(
            {
                "folder": str(done.folder),
                "format": done.format,
                "operators": done.operators,
                "samples": done.samples,
                "files": done.files,
                "notes": done.notes,
            }
        )
        return
    typer.echo(
        f"{done.files} files with {len(done.operators)} operators of {done.samples} samples: "
        f"{done.folder}"
    )
    for note in done.notes:
        typer.echo(f"Note: {note}", err=True)
