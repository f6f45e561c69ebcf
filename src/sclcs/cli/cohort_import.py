"""``sclcs cohort import``: a cohort from the files of a pipeline."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs.cli.options import SettingsCommand, with_settings
from sclcs.cli.output import (
    JsonFlag,
    key_values,
    print_columns,
    print_dropped_regions,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from sclcs.cohort import Cohort

__all__ = ["announce", "app"]


app = typer.Typer(help="Make a cohort from files.", no_args_is_help=True)

Out = Annotated[Path, typer.Option(help="Folder of the new cohort.")]
Labels = Annotated[
    Path | None, typer.Option(help="Table of labels (csv, tsv or xlsx), one row per subject.")
]
IdColumn = Annotated[
    str | None, typer.Option(help="Column of the label table with the ids; found if not given.")
]
Regions = Annotated[
    str | None,
    typer.Option(help="A region set (dosenbach-dmn33), or names or patterns with commas."),
]
Tasks = Annotated[list[str] | None, typer.Option(help="Only these tasks.")]
Sessions = Annotated[list[str] | None, typer.Option(help="Only these sessions.")]
Runs = Annotated[list[str] | None, typer.Option(help="Only these runs.")]
Space = Annotated[str | None, typer.Option(help="Value of the space- entity.")]
Tr = Annotated[float | None, typer.Option(help="Repetition time in seconds.")]


class LayoutChoice(StrEnum):
    """Order of the axes of a scan."""

    auto = "auto"
    time_region = "time-region"
    region_time = "region-time"
    scan_time_region = "scan-time-region"
    scan_region_time = "scan-region-time"


class PipelineChoice(StrEnum):
    """Preprocessing pipelines of the ABIDE release."""

    ccs = "ccs"
    cpac = "cpac"
    dparsf = "dparsf"
    niak = "niak"


def announce(cohort: Cohort, out: Path, as_json: bool) -> None:
    """Say what was written and what was left out."""
    from sclcs.cohort import describe_cohort

    facts = describe_cohort(cohort)
    if as_json:
        print_json({"cohort": str(out), **facts})
        return
    typer.echo(
        f"Wrote {out}: {facts['samples']} samples of {facts['subjects']} subjects, "
        f"{facts['regions']} regions x {cohort.length_text} time points."
    )
    print_columns(cohort.provenance.get("columns", {}))
    print_dropped_regions(facts)
    left_out = ", ".join(f"{e['count']} {kind}" for kind, e in facts["excluded"].items())
    if left_out:
        typer.echo(f"Left out: {left_out}. Who and why: sclcs cohort describe {out}")
    moved = [e for e in cohort.provenance.get("excluded", []) if e["kind"] == "high-motion"]
    if moved:
        print_table(
            "left out for motion", ["scan", "why"], [(e["where"], e["detail"]) for e in moved]
        )
    for note in facts["notes"]:
        typer.echo(f"Note: {note}", err=True)


@app.command(cls=SettingsCommand)
@with_settings("CutSettings")
def arrays(
    source: Annotated[Path, typer.Argument(help=".npz, .npy, or a folder of one file per scan.")],
    *,
    out: Out,
    labels: Labels = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Tr = None,
    key: Annotated[str | None, typer.Option(help="Name of the signals in the .npz.")] = None,
    layout: Annotated[
        LayoutChoice, typer.Option(help="What the rows of a scan are; found if that is certain.")
    ] = LayoutChoice.auto,
    pattern: Annotated[str, typer.Option(help="Which files of a folder.")] = "*",
    strip_suffix: Annotated[
        str, typer.Option(help="End of the file stem that is not part of the scan id.")
    ] = "",
    names: Annotated[
        str | None,
        typer.Option(help="What file names say: '{subject}_{session}', '{subject}/*/{run}'."),
    ] = None,
    by_position: Annotated[
        bool,
        typer.Option("--by-position", help="Row n of the table belongs to scan n of the array."),
    ] = False,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Arrays: an npz, an npy, or a folder of csv, tsv, .1D or .ptseries.nii files.

    Example: `sclcs cohort import arrays abide.npz --truncate 210 --drop-first 1
    --on-bad skip --out abide.zarr`
    """
    from sclcs.cohort import read_arrays

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
        names=names,
        by_position=by_position,
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("bids", cls=SettingsCommand)
@with_settings("CutSettings")
def bids(
    source: Annotated[Path, typer.Argument(help="Folder of the derivatives, with sub-* in it.")],
    *,
    out: Out,
    atlas: Annotated[str | None, typer.Option(help="Value of the seg- or atlas- entity.")] = None,
    task: Tasks = None,
    session: Sessions = None,
    run: Runs = None,
    space: Space = None,
    desc: Annotated[str | None, typer.Option(help="Value of the desc- entity.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="Another entity: reg=36Parameter; repeatable.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="participants.tsv; found in the data set if not given.")
    ] = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Tr = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """BIDS derivatives: `*_timeseries` of XCP-D, C-PAC, HALFpipe, with participants.tsv.

    Example: `sclcs cohort import bids derivatives/xcp_d --atlas 4S156Parcels
    --window 100 --stride 50 --out study.zarr`
    """
    from sclcs.cohort import read_bids

    scans = read_bids(
        source,
        atlas=atlas,
        task=task,
        session=session,
        run=run,
        space=space,
        desc=desc,
        entities=key_values(entity or []),
        participants=labels,
        id_column=id_column,
        regions=regions,
        tr=tr,
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("rest-meta-mdd", cls=SettingsCommand)
@with_settings("CutSettings")
def rest_meta_mdd(
    source: Annotated[Path, typer.Argument(help="The release, or a ROISignals_* folder of it.")],
    *,
    out: Out,
    phenotype: Annotated[
        Path | None, typer.Option(help="Table of participants (csv, tsv or xlsx).")
    ] = None,
    variant: Annotated[str, typer.Option(help="Preprocessing: the end of the folder's name.")] = (
        "FunImgARglobalCWF"
    ),
    atlas: Annotated[str, typer.Option(help="Block of columns: dosenbach, aal, power, ...")] = (
        "dosenbach"
    ),
    sites: Annotated[
        str | None, typer.Option(help="Sites to keep; the paper: 15,17,19,20,21,22,23.")
    ] = None,
    regions: Regions = None,
    tr: Tr = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """REST-meta-MDD: ROISignals_*.mat files and the phenotype table.

    Example: `sclcs cohort import rest-meta-mdd REST-meta-MDD --phenotype pheno.xlsx
    --sites 15,17,19,20,21,22,23 --truncate 210 --out mdd.zarr`
    """
    from sclcs.cohort import read_rest_meta_mdd

    scans = read_rest_meta_mdd(
        source,
        phenotype=phenotype,
        variant=variant,
        atlas=atlas,
        sites=sites,
        regions=regions,
        tr=tr,
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("nifti", cls=SettingsCommand)
@with_settings("CutSettings")
def nifti(
    source: Annotated[Path, typer.Argument(help="fMRIPrep derivative, or a folder of images.")],
    *,
    out: Out,
    atlas: Annotated[
        str, typer.Option(help="schaefer400, aal, dosenbach160, power264, ..., or a label image.")
    ] = "dosenbach-dmn33",
    atlas_names: Annotated[
        Path | None, typer.Option(help="Table index, name of the label image.")
    ] = None,
    atlas_dir: Annotated[
        Path | None, typer.Option(help="Where nilearn keeps fetched atlases.")
    ] = None,
    radius: Annotated[float, typer.Option(help="Of the spheres, in mm.")] = 5.0,
    mask: Annotated[Path | None, typer.Option(help="Use only voxels inside.")] = None,
    confounds: Annotated[
        str, typer.Option(help="none, simple, scrubbing, compcor, ica_aroma, or motion,wm_csf ...")
    ] = "none",
    low_pass: Annotated[float | None, typer.Option(help="Cut-off in Hz.")] = None,
    high_pass: Annotated[float | None, typer.Option(help="Cut-off in Hz.")] = None,
    detrend: Annotated[bool, typer.Option("--detrend", help="Remove a linear trend.")] = False,
    smoothing: Annotated[float | None, typer.Option(help="Spatial filter, FWHM in mm.")] = None,
    task: Tasks = None,
    session: Sessions = None,
    run: Runs = None,
    space: Space = None,
    labels: Labels = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Tr = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """NIfTI: 4-D images in standard space, through nilearn, one in memory at a time.

    Example: `sclcs cohort import nifti derivatives/fmriprep --confounds simple
    --low-pass 0.1 --high-pass 0.01 --out study.zarr`
    """
    from sclcs.cohort import read_nifti

    scans = read_nifti(
        source,
        atlas=atlas,
        atlas_names=atlas_names,
        atlas_dir=atlas_dir,
        radius=radius,
        mask=mask,
        confounds=confounds,
        low_pass=low_pass,
        high_pass=high_pass,
        detrend=detrend,
        smoothing=smoothing,
        task=task,
        session=session,
        run=run,
        space=space,
        participants=labels,
        id_column=id_column,
        regions=regions,
        tr=tr,
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("abide", cls=SettingsCommand)
@with_settings("CutSettings")
def abide(
    *,
    out: Out,
    data_dir: Annotated[Path | None, typer.Option(help="Where downloads are kept.")] = None,
    pipeline: Annotated[PipelineChoice, typer.Option(help="Which preprocessing.")] = (
        PipelineChoice.ccs
    ),
    band_pass: Annotated[bool, typer.Option(help="Signals band-passed 0.01-0.1 Hz.")] = True,
    global_signal: Annotated[bool, typer.Option(help="Global signal regressed out.")] = False,
    sites: Annotated[
        list[str] | None, typer.Option("--site", help="Only this site; may be repeated.")
    ] = None,
    subjects: Annotated[int | None, typer.Option(help="Only the first N subjects.")] = None,
    quality_checked: Annotated[bool, typer.Option(help="Only scans all raters passed.")] = True,
    url: Annotated[str | None, typer.Option(help="Where the release is, if mirrored.")] = None,
    regions: Annotated[
        str, typer.Option(help="A region set, names with commas, or all (160).")
    ] = "dosenbach-dmn33",
    tr: Tr = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """ABIDE I: download the public release (Dosenbach regions) and make a cohort.

    Example: `sclcs cohort import abide --site NYU --truncate 175 --drop-first 1
    --on-bad skip --out nyu.zarr`
    """
    from sclcs.cohort import read_abide

    scans = read_abide(
        data_dir,
        pipeline=pipeline.value,
        band_pass=band_pass,
        global_signal=global_signal,
        regions=regions,
        sites=sites,
        n_subjects=subjects,
        quality_checked=quality_checked,
        url=url,
        tr=tr,
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("conn", cls=SettingsCommand)
@with_settings("CutSettings")
def conn(
    source: Annotated[Path, typer.Argument(help="A CONN project, or its results/preprocessing.")],
    *,
    out: Out,
    condition: Annotated[
        str | None, typer.Option(help="Number or name of a condition; 0 is all sessions.")
    ] = None,
    labels: Labels = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Tr = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """CONN: denoised ROI_Subject*_Condition*.mat files.

    Example: `sclcs cohort import conn conn_study --regions 'atlas.*' --tr 2
    --labels subjects.csv --out study.zarr`
    """
    from sclcs.cohort import read_conn

    scans = read_conn(
        source, condition=condition, labels=labels, id_column=id_column, regions=regions, tr=tr
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("ukb", cls=SettingsCommand)
@with_settings("CutSettings")
def ukb(
    source: Annotated[Path, typer.Argument(help="Folder with <id>_<instance>/fMRI in it.")],
    *,
    out: Out,
    atlas: Annotated[str | None, typer.Option(help="Which fMRI.<atlas>.csv.gz.")] = None,
    instance: Annotated[list[str] | None, typer.Option(help="Only these visits (2, 3).")] = None,
    labels: Labels = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    tr: Annotated[float, typer.Option(help="Repetition time in seconds.")] = 0.735,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """UK Biobank: `<id>_<instance>/fMRI/fMRI.<atlas>.csv.gz`, region x time.

    Example: `sclcs cohort import ukb ukb_bulk --atlas Tian_Subcortex_S1_3T --window 100s
    --labels participants.csv --out ukb.zarr`
    """
    from sclcs.cohort import read_ukb

    scans = read_ukb(
        source,
        atlas=atlas,
        instance=instance,
        labels=labels,
        id_column=id_column,
        regions=regions,
        tr=tr,
    )
    announce(scans.to_cohort(out, **settings), out, json)


@app.command("mne", cls=SettingsCommand)
@with_settings("CutSettings")
def mne(
    source: Annotated[Path, typer.Argument(help="Folder of recordings or epochs, or one file.")],
    *,
    out: Out,
    picks: Annotated[str, typer.Option(help="Channels: eeg, mag, grad, data, or names.")] = "data",
    low_pass: Annotated[float | None, typer.Option(help="Cut-off in Hz.")] = None,
    high_pass: Annotated[float | None, typer.Option(help="Cut-off in Hz.")] = None,
    rate: Annotated[float | None, typer.Option(help="Resample to this rate in Hz.")] = None,
    pattern: Annotated[str, typer.Option(help="Which files of a folder.")] = "**/*",
    names: Annotated[
        str | None, typer.Option(help="What file names say: '{subject}_{session}'.")
    ] = None,
    labels: Labels = None,
    id_column: IdColumn = None,
    regions: Regions = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """EEG and MEG: recordings or epochs that MNE-Python reads (extra `sclcs[mne]`).

    Example: `sclcs cohort import mne eeg_study --picks eeg --high-pass 1 --low-pass 40 --rate 100
    --window 4s --stride 4s --out eeg.zarr`
    """
    from sclcs.cohort import read_mne

    scans = read_mne(
        source,
        picks=picks,
        low_pass=low_pass,
        high_pass=high_pass,
        rate=rate,
        pattern=pattern,
        names=names,
        labels=labels,
        id_column=id_column,
        regions=regions,
    )
    announce(scans.to_cohort(out, **settings), out, json)
