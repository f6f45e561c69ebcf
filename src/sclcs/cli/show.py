"""``sclcs show``: what sclcs wrote, and the report, citation and check of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sclcs.cli.output import JsonFlag, print_json, print_table

__all__ = ["cite", "report", "show", "status", "verify"]


COMPARISON = Path("compare.html")


def show(
    paths: Annotated[
        list[Path],
        typer.Argument(help="A run, a cohort or an FC store; several runs are compared."),
    ],
    *,
    as_report: Annotated[bool, typer.Option("--report", help="Write the report of a run.")] = False,
    as_citation: Annotated[
        bool, typer.Option("--cite", help="A methods paragraph with its literature.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--verify", help="Read everything and name damage; exit code 2 if so.")
    ] = False,
    state: Annotated[bool, typer.Option("--state", help="The stages of a run.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The page of --report or of a comparison, a .html file.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show what a run found, or what is in a cohort or an FC store.

    Example: `sclcs show RUN --report --open`, or `sclcs show RUN1 RUN2` to compare them
    """
    from sclcs._core import InputError

    if sum([as_report, as_citation, check, state]) > 1:
        raise InputError("Expected one of --report, --cite, --verify and --state, got several.")
    if len(paths) > 1 and (as_citation or check or state):
        raise InputError(f"Expected one path, got {len(paths)}.")
    if len(paths) > 1 or as_report or out is not None or open_page:
        report(paths, compare=len(paths) > 1, out=out, open_page=open_page, json=json)
    elif as_citation:
        cite(paths[0], json=json)
    elif check:
        verify(paths[0], json=json)
    elif state:
        status(paths[0], json=json)
    else:
        _show(paths[0], json=json)


def _show(path: Path, *, json: bool) -> None:
    """Show what is there, whatever it is."""
    from sclcs.run_folder import kind_of

    kind = kind_of(path)
    if kind == "run":
        _show_run(path, json=json)
    elif kind == "cohort":
        from sclcs.cli.cohort import describe

        describe(path, json=json)
    elif kind == "fc-store":
        from sclcs.cli.compute import store_status

        store_status(path, json=json)
    else:  # there is nothing to see in it but whether it is intact
        verify(path, json=json)


def _show_run(path: Path, *, json: bool) -> None:
    """Print the answer of a finished run, the stages of another."""
    from sclcs._core import NotFoundError
    from sclcs.cli.run import print_result
    from sclcs.run_folder import RunFolder
    from sclcs.runs import RunResult

    folder = RunFolder.open(path)
    try:
        result = RunResult.open(folder)
    except NotFoundError:  # it has not come so far
        status(path, json=json)
        return
    if json:
        print_json(result.to_dict())
    else:
        print_result(result)


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
    from sclcs._core import InputError
    from sclcs.report import compare_report, page_path, run_report
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
