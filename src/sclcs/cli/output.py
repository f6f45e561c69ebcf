"""Reading values from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs._core import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from sclcs.cohort import Problem


def parse_parameters(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Turn ``["epochs=50", "preset=official", "mlp=true"]`` into a dictionary."""
    parameters: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"Expected --param name=value, got {pair!r}.")
        parameters[name.strip().replace("-", "_")] = _value(text.strip())
    return parameters


def _value(text: str) -> object:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return json.loads(text)
    except ValueError:
        return text  # a plain word needs no quotes


#: Title of a table of operators without a proven association with the target.
UNPROVEN = "highest scores (no effect shown)"

JsonFlag = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]


def print_json(content: Mapping[str, Any]) -> None:
    """Print JSON on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def console() -> Console:
    """Return a console that writes plain text when stdout is not a terminal."""
    import sys

    from rich.console import Console

    # A pipe or file has no width: wrap nothing there, so that grep finds whole lines.
    width = None if sys.stdout.isatty() else 200
    return Console(highlight=False, soft_wrap=True, width=width, markup=False)


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers are right-aligned, words left-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[str(cell) for cell in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(header):
        words = index == 0 or any(not _is_number(row[index]) for row in cells)
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


def print_description(description: Mapping[str, Any]) -> None:
    """Print what :func:`describe_cohort` found."""
    out = console()
    out.print(_cohort_line(description))
    alone = [f"{name} {next(iter(c))}" for name, c in description["classes"].items() if len(c) == 1]
    if alone:
        out.print(f"the same everywhere: {', '.join(alone)}")
    for name, classes in description["classes"].items():
        if len(classes) == 1:
            continue
        rows = [(value, count["subjects"], count["rows"]) for value, count in classes.items()]
        print_table(f"{name} ({len(rows)})", [name, "subjects", "samples"], rows)
    if description["numbers"]:
        print_table(
            "covariates",
            ["column", "min", "median", "max", "missing"],
            [
                (name, *(f"{s[k]:g}" for k in ("min", "median", "max", "missing")))
                for name, s in description["numbers"].items()
                if s
            ],
        )
    print_dropped_regions(description)
    _print_exclusions(description)
    for note in description.get("notes", ()):
        out.print(f"note: {note}")


def _cohort_line(about: Mapping[str, Any]) -> str:
    windows = ", ".join(
        f"{subjects} subjects with {n}" for n, subjects in about["windows_per_subject"].items()
    )
    shortest = "" if about["shortest"] == about["timepoints"] else f"{about['shortest']} to "
    shape = f"{about['regions']} regions x {shortest}{about['timepoints']} time points"
    lines = [
        f"{about['samples']} samples of {about['subjects']} subjects, {shape}, TR {_tr(about)}",
        f"windows per subject: {windows}",
    ]
    if about["windowing"]:
        cut = ", ".join(f"{key} {value}" for key, value in about["windowing"].items())
        lines.append(f"windowing: {cut}")
    if about["source"]:
        lines.append(f"source: {about['source']}")
    lines.append(f"fingerprint: {about['fingerprint']}")
    return "\n".join(lines)


def _tr(about: Mapping[str, Any]) -> str:
    return "mixed or unknown" if about["tr"] is None else f"{about['tr']:g} s"


def print_dropped_regions(about: Mapping[str, Any]) -> None:
    """Print which regions were left out because too many subjects lack them."""
    dropped = about["regions_dropped"]
    if dropped:
        print_table(
            f"{len(dropped)} regions left out of all scans",
            ["region", "subjects without it"],
            [(row["region"], row["subjects_missing"]) for row in dropped],
        )


def _print_exclusions(description: Mapping[str, Any]) -> None:
    found = description["excluded"]
    if not found:
        console().print("left out: none")
        return
    print_table(
        "left out",
        ["kind", "count", "first"],
        [(kind, entry["count"], "; ".join(entry["examples"][:3])) for kind, entry in found.items()],
    )


def print_columns(columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what columns of labels hold: kind, values, how many are unknown, what was changed."""
    rows = []
    for name, about in columns.items():
        held = ", ".join(f"{level} ({count})" for level, count in about.get("levels", {}).items())
        if "range" in about:
            low, high = about["range"]
            held = f"{low:g} to {high:g}" + (f" {about['unit']}" if "unit" in about else "")
        notes = "; ".join(about.get("notes", ()))
        rows.append((name, about["kind"], _shortened(held), str(about["unknown"]), notes))
    if rows:
        print_table("columns", ["column", "kind", "values", "unknown rows", "note"], rows)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def print_problems(problems: Sequence[Problem], source: str) -> None:
    """Print one sentence per kind of problem, or that all is well."""
    from sclcs.cohort import explain

    out = console()
    serious = [problem for problem in problems if problem.fatal]
    notes = [problem for problem in problems if not problem.fatal]
    if not problems:
        out.print(f"{source}: no problem found.")
    if serious:
        out.print(f"{source}: {explain(serious)}")
    for kind in dict.fromkeys(problem.kind for problem in notes):  # a line each, to be read
        out.print(f"Note: {explain(problem for problem in notes if problem.kind == kind)}")
