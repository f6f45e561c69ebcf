"""How a description and a list of problems look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sclcs.cli.output import console, print_table

if TYPE_CHECKING:
    from sclcs.cohort.problems import Problem

__all__ = ["print_description", "print_dropped_regions", "print_problems"]


def print_description(description: Mapping[str, Any]) -> None:
    """Print what :func:`describe_cohort` or :func:`describe_scans` found."""
    out = console()
    if description["kind"] == "cohort":
        out.print(_cohort_line(description))
    else:
        out.print(_scans_line(description))
    rows_name = "samples" if description["kind"] == "cohort" else "scans"
    alone = [f"{name} {next(iter(c))}" for name, c in description["classes"].items() if len(c) == 1]
    if alone:
        out.print(f"the same everywhere: {', '.join(alone)}")
    for name, classes in description["classes"].items():
        if len(classes) == 1:
            continue
        rows = [(value, count["subjects"], count["rows"]) for value, count in classes.items()]
        print_table(f"{name} ({len(rows)})", [name, "subjects", rows_name], rows)
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
    _print_usable(description.get("usable_by_length") or [])
    if description["kind"] == "cohort":
        print_dropped_regions(description)
    _print_exclusions(description)
    for note in description.get("notes", ()):
        out.print(f"note: {note}")


def _cohort_line(facts: Mapping[str, Any]) -> str:
    windows = ", ".join(
        f"{subjects} subjects with {n}" for n, subjects in facts["windows_per_subject"].items()
    )
    shortest = "" if facts["shortest"] == facts["timepoints"] else f"{facts['shortest']} to "
    shape = f"{facts['regions']} regions x {shortest}{facts['timepoints']} time points"
    lines = [
        f"{facts['samples']} samples of {facts['subjects']} subjects, {shape}, TR {_tr(facts)}",
        f"windows per subject: {windows}",
    ]
    if facts["windowing"]:
        cut = ", ".join(f"{key} {value}" for key, value in facts["windowing"].items())
        lines.append(f"windowing: {cut}; z-scored: {facts['zscore']}")
    if facts["source"]:
        lines.append(f"source: {facts['source']}")
    lines.append(f"fingerprint: {facts['fingerprint']}")
    return "\n".join(lines)


def _scans_line(facts: Mapping[str, Any]) -> str:
    counts = f"{facts['scans']} scans of {facts['subjects']} subjects, {facts['regions']} regions"
    lines = [f"{counts}, TR {_tr(facts)}"]
    if facts["lengths"]:
        low, middle, high = (f"{facts['lengths'][k]:g}" for k in ("min", "median", "max"))
        lines.append(f"time points: {low} to {high}, median {middle}")
    lines.append(f"scans without a problem: {facts['usable']}")
    return "\n".join(lines)


def _tr(facts: Mapping[str, Any]) -> str:
    return "mixed or unknown" if facts["tr"] is None else f"{facts['tr']:g} s"


def _print_usable(rows: Sequence[Mapping[str, int]]) -> None:
    if rows:
        names = list(rows[0])
        print_table(
            "usable scans by length",
            ["at least", *names[1:]],
            [tuple(row.values()) for row in rows],
        )


def print_dropped_regions(facts: Mapping[str, Any]) -> None:
    """Print which regions were left out because too many subjects lack them."""
    dropped = facts["regions_dropped"]
    if dropped:
        print_table(
            f"{len(dropped)} regions left out for everybody",
            ["region", "subjects without it"],
            [(row["region"], row["subjects_missing"]) for row in dropped],
        )


def _print_exclusions(description: Mapping[str, Any]) -> None:
    found = description.get("excluded") or description.get("problems") or {}
    title = "left out" if description["kind"] == "cohort" else "problems"
    if not found:
        console().print(f"{title}: none")
        return
    print_table(
        title,
        ["kind", "count", "first"],
        [(kind, entry["count"], "; ".join(entry["examples"][:3])) for kind, entry in found.items()],
    )


def print_problems(problems: Sequence[Problem], source: str) -> None:
    """Print one sentence per kind of problem, or that all is well."""
    from sclcs.cohort.problems import explain

    out = console()
    serious = [problem for problem in problems if problem.fatal]
    notes = [problem for problem in problems if not problem.fatal]
    if not problems:
        out.print(f"{source}: no problem found.")
    if serious:
        out.print(f"{source}: {explain(serious)}")
    for kind in dict.fromkeys(problem.kind for problem in notes):  # a line each, to be read
        out.print(f"Note: {explain(problem for problem in notes if problem.kind == kind)}")
