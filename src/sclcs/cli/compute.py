"""``sclcs compute``: operators on a cohort, into an FC store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs._core import InputError, name_first
from sclcs.cli.options import with_settings
from sclcs.cli.output import JsonFlag, print_json, print_table

if TYPE_CHECKING:
    from sclcs.store import FCStore, FillReport

INTERRUPTED = 130


@with_settings("ComputeSettings")
def compute(
    cohort: Annotated[Path, typer.Argument(help="The cohort.")],
    *,
    out: Annotated[Path, typer.Option(help="The FC store: new, or begun by the same command.")],
    coreset: Annotated[
        Path | None, typer.Option(help="Only the samples in this table's column sample_id.")
    ] = None,
    task_range: Annotated[
        str | None, typer.Option(help="Do share i of n of the tasks only, written i/n.")
    ] = None,
    json: JsonFlag = False,
    **settings: Any,  # noqa: ANN401
) -> None:
    """Compute operators on every sample; what is in the store already is kept.

    Example: `sclcs compute cohort.zarr --spis paper-fast --out fc --on local:4`
    """
    from sclcs.settings import ComputeSettings
    from sclcs.store import (
        fill_store,
        find_executor,
        open_computation,
        parse_share,
        share_of,
    )

    asked = ComputeSettings(**settings)
    who = find_executor(asked.on)
    if who.kind.name == "slurm" and task_range is not None:
        raise InputError(f"{who} divides the work by itself; leave out --task-range.")
    share = None if task_range is None else parse_share(task_range)
    if share is not None and asked.force:  # before a store is made
        raise InputError("A share cannot use --force: it would undo the work of the other shares.")
    try:
        who.reach()
        computation = open_computation(
            cohort,
            out,
            asked.spis,
            coreset=_sample_ids(coreset),
            seed=asked.seed,
            force=asked.force,
            block_size=asked.block_size,
        )
        only = None if share is None else share_of(computation, *share)
        report = fill_store(computation, who, only=only)
    except KeyboardInterrupt:
        typer.echo(
            f"\nInterrupted. What is finished is safe in {out}; run the same command again"
            f"{' without --force' if asked.force else ''} to do the rest.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    summary = summarise_fill(report, whole=share is None)
    if json:
        print_json(summary)
    else:
        print_fill(summary)


def _sample_ids(coreset: Path | None) -> list[str] | None:
    if coreset is None:
        return None
    from sclcs.cohort import CoreSet, read_table_file

    if coreset.suffix == ".csv":
        return list(CoreSet.open(coreset).sample_ids)
    columns = read_table_file(coreset)
    if "sample_id" not in columns:
        raise InputError(
            f"Expected a column sample_id in {coreset}, found {', '.join(columns)}; "
            "`sclcs select` writes such a table."
        )
    return columns["sample_id"]


SHOWN_REASONS = 10
_STATES = ("ok", "partial-nan", "failed", "skipped", "missing")


def summarise_store(store: FCStore, operators: list[str] | None = None) -> dict[str, Any]:
    """Count what is in a store and why operators failed."""
    table = store.status()
    if operators is not None:
        table = table.loc[table.index.isin(operators)]
    failures = [
        {"spi": spi, "reason": reason, "matrices": count}
        for (spi, reason), count in store.failures().most_common()
        if spi in table.index
    ]
    return {
        "store": str(store.path),
        "operators": len(table),
        "not_kept": int((~table["kept"]).sum()),
        "samples": len(store),
        "matrices": {state: int(table[state].sum()) for state in _STATES},
        "failures": failures,
    }


def summarise_fill(report: FillReport, *, whole: bool = True) -> dict[str, Any]:
    """Add what was done to what is in the store.

    A share of the work does not read what all the others left in the store (`whole` is False):
    with thousands of samples that takes minutes.
    """
    store = report.store
    known = {"store": str(store.path), "operators": len(report.operators), "samples": len(store)}
    return (summarise_store(store, report.operators) if whole else known) | {
        "computed": {"tasks": report.pieces, "matrices": report.matrices},
        "seconds": round(report.seconds, 3),
        "kernel_seconds": round(report.kernel_seconds, 3),
        "reseeded": report.reseeded,
    }


def print_fill(summary: dict[str, Any]) -> None:
    """Print the end of a computation as sentences."""
    done = summary["computed"]["matrices"]
    seconds = summary["seconds"]
    typer.echo(
        f"{summary['operators']} operators on {summary['samples']} samples: computed "
        f"{done} matrices in {seconds:.1f} s"
        + (f" ({done / seconds:.0f} per second)." if done else "; everything was there already.")
    )
    if summary["reseeded"]:
        names = name_first(summary["reseeded"])
        typer.echo(f"With the new seed again: {names}; no seed changes the others.")
    if "matrices" in summary:
        _print_counts(summary)
    else:
        typer.echo("One share is done; `sclcs show` shows the whole store.")
    typer.echo(f"FC store: {summary['store']}")


def _print_counts(summary: dict[str, Any]) -> None:
    counts = {state: n for state, n in summary["matrices"].items() if n}
    typer.echo("Matrices: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    failures = summary["failures"]
    if failures:
        rows = [(f["spi"], f["matrices"], f["reason"]) for f in failures[:SHOWN_REASONS]]
        print_table("Failed or skipped", ("operator", "matrices", "reason"), rows)
        if len(failures) > SHOWN_REASONS:
            typer.echo(
                f"and {len(failures) - SHOWN_REASONS} more; see `sclcs show {summary['store']}`."
            )


def print_status(store: FCStore) -> None:
    """Print the status table of a store."""
    table = store.status().drop(columns=["version", "seed", "copied_seconds"])
    table["kept"] = table["kept"].map({True: "yes", False: "no"})
    rows = [
        (spi, *(f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row))
        for spi, *row in table.itertuples()
    ]
    title = f"{len(table)} operators on {len(store)} samples in {store.path}"
    print_table(title, ("operator", *table.columns), rows)
    if store.not_kept:
        typer.echo(
            f"The matrices of {len(store.not_kept)} operators were computed and used, but not "
            "kept; `sclcs compute` computes those you need again."
        )


app = typer.Typer(
    help="Look at the matrices that `sclcs compute` made, or export them.", no_args_is_help=True
)


@app.command("status")
def store_status(
    store: Annotated[Path, typer.Argument(help="An FC store.")],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Read every chunk and compare its checksum.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Say what became of every operator; exit code 2 if a check finds damage.

    Example: `sclcs fc status fc --check`, or `sclcs show fc`
    """
    from sclcs.store import RESUME, FCStore

    opened = FCStore.open(store)
    found = opened.verify() if check else []
    damaged = [{"spi": name, "block": task.block} for task in found for name in task.operators]
    if json:
        print_json(summarise_store(opened) | ({"damaged": damaged} if check else {}))
    else:
        print_status(opened)
        if check:
            typer.echo(f"{len(damaged)} damaged matrices{f'; {RESUME}' if damaged else ''}.")
    if damaged:
        raise typer.Exit(2)


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="An FC store.")],
    *,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="relmat (BIDS-like tables), npz, mat or csv.",
            metavar="NAME",
        ),
    ] = "relmat",
    spis: Annotated[
        list[str] | None, typer.Option(help="Only these operators; all complete ones if not given.")
    ] = None,
    per: Annotated[
        str,
        typer.Option(
            help="One matrix per window, or their mean per subject.", metavar="window|subject"
        ),
    ] = "window",
    json: JsonFlag = False,
) -> None:
    """Write matrices for other tools.

    Example: `sclcs export RUN/fc.zarr --format relmat --out derivatives/sclcs`
    """
    from sclcs.store import export_matrices

    done = export_matrices(store, out, format_, spis=spis, per=per)  # type: ignore[arg-type]
    if json:
        print_json(asdict(done) | {"folder": str(done.folder)})
        return
    typer.echo(
        f"{done.files} files with {len(done.operators)} operators of {done.samples} samples: "
        f"{done.folder}"
    )
