"""Printing results for a person (tables) or a program (``--json``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["UNPROVEN", "JsonFlag", "console", "print_json", "print_table"]

#: Title of a table of operators none of which is shown to see the target.
UNPROVEN = "highest scores (no effect shown)"

JsonFlag = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]


def print_json(content: Mapping[str, Any]) -> None:
    """Print JSON on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def console() -> Console:
    """Return a console that writes plain text when stdout is not a terminal."""
    import sys

    from rich.console import Console

    # A pipe or file has no width: wrap nothing there, so that grep sees whole lines.
    width = None if sys.stdout.isatty() else 200
    return Console(highlight=False, soft_wrap=True, width=width, markup=False)


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers are right-aligned, words left-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[str(cell) for cell in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(header):
        words = place == 0 or any(not _is_number(row[place]) for row in cells)
        table.add_column(Text(name), justify="left" if words else "right")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    out = console()
    out.print(Text(f"\n{title}", style="bold"))
    out.print(table)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
