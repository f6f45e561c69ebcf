"""``sclcs report``: the page of a run, or of several runs side by side."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table

__all__ = ["cite", "report", "status", "verify"]


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
    from sclcs._core.errors import InputError
    from sclcs.report import compare_report, run_report
    from sclcs.report.page import page_path
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


def cite(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", metavar="RUN")],
    *,
    json: JsonFlag = False,
) -> None:
    """Print a methods paragraph, its literature, the software and the data of a run.

    Example: `sclcs cite RUN`
    """
    from sclcs.report import how_to_cite

    citation = how_to_cite(folder)
    if json:
        print_json(asdict(citation))
        return
    typer.echo(str(citation))


def status(
    run: Annotated[Path, typer.Argument(help="The folder of the run.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Show the stages of a run, wherever it is done.

    Example: `sclcs status RUN`
    """
    from sclcs.run_folder import RunFolder

    folder = RunFolder.open(run)
    on, stages = folder.config().on, folder.state()["stages"]
    if json:
        kept = ("status", "started", "finished", "wall_seconds", "cpu_seconds")
        records = {name: {key: one.get(key) for key in kept} for name, one in stages.items()}
        print_json({"folder": str(folder.path), "on": on, "stages": records})
        return
    rows = [
        (name, record["status"], f"{record['wall_seconds']:.1f}", f"{record['cpu_seconds']:.1f}")
        for name, record in stages.items()
    ]
    print_table(f"{folder.path}, on {on}", ["stage", "", "seconds", "CPU"], rows)


def verify(
    path: Annotated[
        Path, typer.Argument(help="A cohort, an FC store, a run, a training or a table.")
    ],
    *,
    json: JsonFlag = False,
) -> None:
    """Read everything, say what is wrong and which command repairs it; exit code 2 if so.

    Example: `sclcs verify RUN`
    """
    from sclcs.run_folder import verify_path

    found = verify_path(path)
    if json:
        print_json(
            {
                "path": str(path),
                "kind": found.kind,
                "ok": not found.findings,
                "findings": [finding.to_dict() for finding in found.findings],
            }
        )
    else:
        for finding in found.findings:
            typer.echo(f"{finding.where}: {finding.what}\n  {finding.repair}")
        if not found.findings:
            typer.echo(f"{path} ({found.kind}): everything is as sclcs wrote it.")
    if found.findings:
        raise typer.Exit(2)
