"""``sclcs cohort import``: one command per format."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sclcs.cli.cut_options import CutOptions, with_cut_options
from sclcs.cli.output import JsonFlag, print_json

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort

__all__ = ["announce", "app"]

app = typer.Typer(help="Make a cohort from files.", no_args_is_help=True)

Labels = Annotated[
    Path | None, typer.Option(help="Table of labels (csv, tsv or xlsx), one row per subject.")
]
IdColumn = Annotated[
    str | None, typer.Option(help="Column of the label table with the ids; found if not given.")
]
Regions = Annotated[
    str | None,
    typer.Option(help="A region set (dosenbach-dmn33, dosenbach-160) or names with commas."),
]
Tr = Annotated[float | None, typer.Option(help="Repetition time in seconds.")]


class LayoutChoice(StrEnum):
    """Order of the axes of an array."""

    scan_time_region = "scan-time-region"
    scan_region_time = "scan-region-time"


def announce(cohort: Cohort, out: Path, as_json: bool) -> None:
    """Say what was written and what was left out."""
    from sclcs.cohort.describe import describe_cohort

    facts = describe_cohort(cohort)
    if as_json:
        print_json({"cohort": str(out), **facts})
        return
    typer.echo(
        f"Wrote {out}: {facts['samples']} samples of {facts['subjects']} subjects, "
        f"{facts['regions']} regions x {facts['timepoints']} time points."
    )
    left_out = ", ".join(f"{e['count']} {kind}" for kind, e in facts["excluded"].items())
    if left_out:
        typer.echo(f"Left out: {left_out}. Who and why: sclcs cohort describe {out}")


@app.command()
@with_cut_options
def arrays(
    source: Annotated[Path, typer.Argument(help=".npz, .npy, or a folder of csv/tsv/1D files.")],
    *,
    cut: CutOptions,
    labels: Labels = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Tr = None,
    key: Annotated[str | None, typer.Option(help="Name of the signals in the .npz.")] = None,
    layout: Annotated[LayoutChoice, typer.Option(help="Order of the axes of an array.")] = (
        LayoutChoice.scan_time_region
    ),
    pattern: Annotated[str, typer.Option(help="Which files of a folder.")] = "*",
    strip_suffix: Annotated[
        str, typer.Option(help="End of the file stem that is not part of the scan id.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Arrays: an npz, an npy, or a folder of csv, tsv or C-PAC .1D files.

    Example: `sclcs cohort import arrays abide.npz --truncate 210 --drop-first 1
    --on-bad skip --out abide.zarr`
    """
    from sclcs.cohort.readers.arrays import read_arrays

    scans = read_arrays(
        source,
        labels=labels,
        regions=regions,
        tr=tr,
        key=key,
        layout=layout.value,
        id_column=id_column,
        pattern=pattern,
        strip_suffix=strip_suffix,
    )
    announce(cut.write(scans), cut.out, json)


@app.command("bids")
@with_cut_options
def bids(
    source: Annotated[Path, typer.Argument(help="Folder of the derivatives (XCP-D, fMRIPrep).")],
    *,
    cut: CutOptions,
    atlas: Annotated[str | None, typer.Option(help="Value of the seg- or atlas- entity.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only these tasks.")] = None,
    session: Annotated[list[str] | None, typer.Option(help="Only these sessions.")] = None,
    run: Annotated[list[str] | None, typer.Option(help="Only these runs.")] = None,
    space: Annotated[str | None, typer.Option(help="Value of the space- entity.")] = None,
    desc: Annotated[str | None, typer.Option(help="Value of the desc- entity.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="participants.tsv; found in the data set if not given.")
    ] = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Tr = None,
    json: JsonFlag = False,
) -> None:
    """BIDS derivatives: `*_timeseries.tsv` of XCP-D, with participants.tsv.

    Example: `sclcs cohort import bids derivatives/xcp_d --atlas 4S156Parcels
    --length 100 --stride 50 --out study.zarr`
    """
    from sclcs.cohort.readers.bids import read_bids

    scans = read_bids(
        source,
        atlas=atlas,
        task=task,
        session=session,
        run=run,
        space=space,
        desc=desc,
        participants=labels,
        id_column=id_column,
        regions=regions,
        tr=tr,
    )
    announce(cut.write(scans), cut.out, json)
