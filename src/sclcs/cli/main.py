"""The ``sclcs`` command."""

from __future__ import annotations

from typing import Annotated

import typer

import sclcs
from sclcs.cli import (
    cite,
    cohort,
    compare,
    compute,
    demo,
    encoder,
    experiment,
    fc,
    job,
    plan,
    rank,
    report,
    run,
    select,
    spis,
    status,
    verify,
)
from sclcs.cli.failures import run_command
from sclcs.core.logging import show_log
from sclcs.core.progress import show_progress

__all__ = ["app", "main"]

app = typer.Typer(
    name="sclcs",
    help="Choose the right functional-connectivity operator for an fMRI cohort.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cohort.app, name="cohort")
app.add_typer(spis.app, name="spis")
app.add_typer(fc.app, name="fc")
app.command("plan")(plan.plan)
app.command("compute")(compute.compute)
app.command("rank")(rank.rank)
app.command("compare")(compare.compare)
app.command("balance")(compare.balance)
app.add_typer(encoder.app, name="encoder")
app.command("select")(select.select)
app.command("run")(run.run)
app.command("status")(status.status)
app.add_typer(job.app, name="job", hidden=True)
app.command("report")(report.report)
app.command("cite")(cite.cite)
app.command("verify")(verify.verify)
app.command("demo")(demo.demo)
app.command("experiment")(experiment.experiment)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sclcs {sclcs.__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Log more; twice for even more.")
    ] = 0,
    version: Annotated[  # noqa: ARG001 (the callback prints and exits)
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    show_log(verbose)


def main() -> None:
    """Run the command; whatever happens is one sentence and an exit code, see ``failures``."""
    run_command(_shown)


def _shown() -> None:
    with show_progress():
        app(prog_name="sclcs")
