"""``sclcs import``: a cohort from the files of a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.options import with_settings
from sclcs.cli.output import (
    JsonFlag,
    print_columns,
    print_dropped_regions,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from sclcs.cohort import Cohort

__all__ = ["announce", "import_"]


def announce(cohort: Cohort, out: Path, as_json: bool) -> None:
    """Say what was written, how it was made, and what was left out."""
    from sclcs.cohort import describe_cohort

    about = describe_cohort(cohort)
    if as_json:
        print_json({"cohort": str(out), **about})
        return
    typer.echo(
        f"Wrote {out}: {about['samples']} samples of {about['subjects']} subjects, "
        f"{about['regions']} regions x {cohort.length_text} time points."
    )
    if about["preparation"]:
        typer.echo(about["preparation"])
    print_columns(cohort.provenance.get("columns", {}))
    print_dropped_regions(about)
    left_out = "; ".join(f"{e['meaning']} ({e['count']})" for e in about["excluded"].values())
    if left_out:
        typer.echo(f"Left out: {left_out}. Who and why: sclcs cohort describe {out}")
    moved = [e for e in cohort.provenance.get("excluded", []) if e["kind"] == "high-motion"]
    if moved:
        print_table(
            "left out for motion", ["scan", "why"], [(e["where"], e["detail"]) for e in moved]
        )
    for note in about["notes"]:
        typer.echo(f"Note: {note}", err=True)


@with_settings("ImportSettings")
def import_(
    source: Annotated[
        list[Path],
        typer.Argument(metavar="[KIND] PATH", help="A folder or file; what it is, is recognised."),
    ],
    *,
    out: Annotated[Path, typer.Option(help="Folder of the new cohort.")],
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Make a cohort from the files of a pipeline; recognised by their layout.

    XCP-D, C-PAC, HALFpipe, fMRIPrep, CONN, DPABI, GRETNA, the trees of HCP and UK Biobank, one file
    per scan (csv, tsv, txt, 1D, npy, mat, ptseries.nii), .npz, EEG and MEG.

    Example: `sclcs import derivatives/xcp_d --atlas 4S156Parcels --out study.zarr`
    """
    from sclcs._core import InputError
    from sclcs.cohort import FILE_KINDS, import_scans
    from sclcs.settings import CutSettings, ImportSettings

    first, *rest = source
    if str(first) in FILE_KINDS and (rest or not first.exists()):
        settings.setdefault("kind", str(first))
        source = rest
    if len(source) > 1:
        raise InputError(f"Expected one path to import, got {len(source)}; give a folder.")
    asked = ImportSettings(**settings)
    found, scans = import_scans(source[0] if source else None, asked)
    if not json:
        typer.echo(found.sentence)
    cut = {name: getattr(asked, name) for name in CutSettings.model_fields}
    announce(scans.to_cohort(out, **cut), out, json)
