"""``sclcs report``: the page of a run, or of several runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json

__all__ = ["report"]

COMPARISON = Path("compare.html")


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="The folder of a run; with --compare, two or more.")
    ],
    *,
    compare: Annotated[bool, typer.Option("--compare", help="Put runs side by side.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page, ending in .html; by default RUN/report.html, or compare.html here."
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Show the page in the browser when it is made.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Write the report of a run, finished or not, or compare runs.

    Example: `sclcs report RUN --open`, or `sclcs report --compare RUN1 RUN2 --out compare.html`
    """
    from sclcs.core.errors import InputError
    from sclcs.report import compare_report, run_report
    from sclcs.report.html.html_report import page_path
    from sclcs.run_folder import RunFolder

    if out is not None:
        page_path(out)  # a wrong name is told before the work
    if compare:
        made = compare_report(runs)
        target = out or COMPARISON
    elif len(runs) > 1:
        raise InputError(
            f"Expected one run, got {len(runs)}; add --compare to put them side by side."
        )
    else:
        made = run_report(runs[0])
        target = out or RunFolder(runs[0]).report_file
    path = made.open_in_browser(target) if open_page else made.save_as_html(target)
    if json:
        print_json({"report": str(path), "title": made.title, "bytes": path.stat().st_size})
        return
    typer.echo(f"Wrote {path}")
