"""Printing FC stores and what was done to fill them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sclcs.cli.output import print_table
from sclcs.core.errors import name_first

if TYPE_CHECKING:
    from sclcs.compute import FillReport
    from sclcs.spi.fc_store import FCStore

__all__ = ["print_fill", "print_status", "summarise_fill", "summarise_store"]

SHOWN_REASONS = 10
_STATES = ("ok", "partial-nan", "failed", "skipped", "missing")


def summarise_store(store: FCStore, operators: list[str] | None = None) -> dict[str, Any]:
    """Count what is in a store and why operators failed."""
    table = store.status()
    if operators is not None:
        table = table.loc[table.index.isin(operators)]
    bad = store.block_status()
    bad = bad[bad["spi"].isin(table.index) & (bad["failed"] + bad["skipped"] > 0)]
    lost = bad.assign(matrices=bad["failed"] + bad["skipped"])
    reasons = lost.groupby(["spi", "reason"], sort=False)[["matrices"]].sum().reset_index()
    reasons = reasons.sort_values("matrices", ascending=False, kind="stable")
    return {
        "store": str(store.path),
        "operators": len(table),
        "not_kept": int((~table["kept"]).sum()),
        "samples": len(store),
        "matrices": {state: int(table[state].sum()) for state in _STATES},
        "failures": reasons.to_dict("records"),
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
    """Print the end of a computation for a person."""
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
        typer.echo("One share is done; `sclcs fc status` shows the whole store.")
    typer.echo(f"FC store: {summary['store']}")


def _print_counts(summary: dict[str, Any]) -> None:
    counts = {state: n for state, n in summary["matrices"].items() if n}
    typer.echo("Matrices: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    failures = summary["failures"]
    if failures:
        rows = [(f["spi"], f["matrices"], f["reason"]) for f in failures[:SHOWN_REASONS]]
        print_table("Failed or skipped", ("operator", "matrices", "reason"), rows)
        if len(failures) > SHOWN_REASONS:
            typer.echo(f"and {len(failures) - SHOWN_REASONS} more; see `sclcs fc status`.")


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
