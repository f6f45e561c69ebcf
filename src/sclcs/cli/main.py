"""What the command says when something goes wrong, and how it ends.

=====  =====================================================================
code   means
=====  =====================================================================
0      done; also if the reader of the output went away (``| head``)
2      a mistake of the user, a damaged file, or not enough memory or space
3      a bug of sclcs; the details are in a log file
130    Ctrl-C
=====  =====================================================================
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

import sclcs
from sclcs._core import (
    InputError,
    SclcsError,
    address_space_limit,
    show_log,
    show_progress,
    was_interrupted,
    watch_interrupts,
)
from sclcs.cli import (
    cohort,
    cohort_import,
    compute,
    demo,
    predict,
    rank,
    run,
    select,
    show,
    spis,
)
from sclcs.cli.options import SettingsCommand

MISTAKE, BUG, INTERRUPTED = 2, 3, 130
#: Below, the compiler of the operators ends the process without a word.
LEAST_ADDRESS_SPACE = 3 * 2**30
_NEEDS_LITTLE = {"--help", "-h", "--version"}


def run_command(command: Callable[[], object]) -> None:
    """Call a command; whatever happens becomes a sentence and an exit code.

    Parameters
    ----------
    command : callable
        May raise anything.
    """
    _open_streams()
    watch_interrupts()
    try:
        _require_address_space()
        code = _exit_code(command)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 (the last handler there is)
        code = _explain(error)
    if code == 0 and was_interrupted():
        code = _explain(KeyboardInterrupt())
    sys.exit(code)


def _exit_code(command: Callable[[], object]) -> int | str | None:
    try:
        command()
    except SystemExit as stop:
        for error in _chain(stop):
            # typer ends with 1 when the output is closed, and takes any end of a file for Ctrl-D.
            if isinstance(error, BrokenPipeError | EOFError):
                raise error from None
        return stop.code
    return 0


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        following = following.__cause__ or following.__context__
    return found


def _explain(error: BaseException) -> int:
    """Say on stderr what happened; return the exit code."""
    if isinstance(error, BrokenPipeError):
        _close_quietly()
        return 0
    if isinstance(error, KeyboardInterrupt):
        _say("Interrupted; nothing half-written was left behind.")
        return INTERRUPTED
    sentence = _sentence(error)
    if sentence is not None:
        _say(f"Error: {sentence}")
        return getattr(error, "exit_code", MISTAKE)
    log = _write_log(error)
    where = f"the details are in {log}" if log else "the details could not be written anywhere"
    kind = type(error).__name__
    _say(
        f"Error: sclcs failed in a way it should not ({kind}: {_one_line(error)}). This is a bug "
        f"of sclcs and no mistake of yours; {where}. Please report it."
    )
    return BUG


def _sentence(error: BaseException) -> str | None:
    """Return what to say about an error that is not our fault; None if it is."""
    if isinstance(error, SclcsError):
        return str(error)
    if isinstance(error, MemoryError):
        return (
            f"There is not enough memory ({_one_line(error) or 'none was left'}); choose less "
            "data, fewer processes or a larger machine."
        )
    if isinstance(error, RecursionError):
        return "A file or a value is nested too deep to be read; write it in a simpler way."
    if isinstance(error, UnicodeEncodeError):
        return "A name or text holds bytes that are no valid UTF-8; rename it."
    if isinstance(error, OSError) and error.errno is not None:
        where = "" if error.filename is None else f" ({os.fsdecode(error.filename)[:200]})"
        return f"The system refused: {error.strerror}{where}; check the path, space and rights."
    return None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _say(sentence: str) -> None:
    try:
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody listens
        pass


def _write_log(error: BaseException) -> Path | None:
    from sclcs._core import cache_folder

    text = "".join(traceback.format_exception(error))
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    for folder in (cache_folder() / "logs", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"sclcs-{stamp}-{os.getpid()}.log"
            path.write_text(f"{sys.argv}\n{text}", encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        return path
    return None


def _open_streams() -> None:
    """Give closed output streams somewhere to go, so that printing never fails."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif sys.platform == "win32":  # a pipe there has an encoding without most letters
            getattr(sys, name).reconfigure(encoding="utf-8")


def _close_quietly() -> None:
    """Send what is still in the buffers nowhere: the interpreter would complain when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        pass


def _require_address_space() -> None:
    limit = address_space_limit()
    if limit is None or limit >= LEAST_ADDRESS_SPACE:
        return
    if not _NEEDS_LITTLE & set(sys.argv):
        raise InputError(
            f"sclcs needs {LEAST_ADDRESS_SPACE / 2**30:g} GB of address space, but `ulimit -v` "
            f"allows {limit / 2**30:.2g} GB; raise the limit."
        )


#: What `sclcs --help` lists, in the order of a study; `--help-all` lists the rest as well.
SHOWN = ("import", "check", "run", "show", "predict", "rank", "compute", "select", "spis", "demo")


class Commands(TyperGroup):
    """The commands: first those that most people need."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer brings its own click
        """Return the names of all commands in the order of the help."""
        return [*SHOWN, *(name for name in super().list_commands(ctx) if name not in SHOWN)]


app = typer.Typer(
    name="sclcs",
    cls=Commands,
    help="Choose the right functional-connectivity operator for an fMRI cohort.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("import", cls=SettingsCommand)(cohort_import.import_)
app.command("check")(cohort.check)
app.command("run", cls=SettingsCommand)(run.run)
app.command("show")(show.show)
app.command("predict")(predict.predict)
app.command("rank", cls=SettingsCommand)(rank.rank)
app.command("compute", cls=SettingsCommand)(compute.compute)
app.command("select", cls=SettingsCommand)(select.select)
app.add_typer(spis.app, name="spis")
app.command("demo")(demo.demo)
app.command("plan", cls=SettingsCommand, hidden=True)(run.plan)
app.command("compare", hidden=True)(rank.compare)
app.command("balance", hidden=True)(rank.balance)
app.command("export", hidden=True)(compute.export)
app.command("status", hidden=True)(show.status)
app.command("report", hidden=True)(show.report)
app.command("cite", hidden=True)(show.cite)
app.command("verify", hidden=True)(show.verify)
app.add_typer(cohort.app, name="cohort", hidden=True)
app.add_typer(compute.app, name="fc", hidden=True)
app.add_typer(select.app, name="encoder", hidden=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sclcs {sclcs.__version__}")
        raise typer.Exit


def _print_all(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    for command in cast("Commands", context.command).commands.values():
        command.hidden = False
    typer.echo(context.get_help())
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
    help_all: Annotated[  # noqa: ARG001 (the same)
        bool,
        typer.Option(
            "--help-all", callback=_print_all, is_eager=True, help="List all commands and exit."
        ),
    ] = False,
) -> None:
    show_log(verbose)


def main() -> None:
    """Run the command; whatever happens is one sentence and an exit code, see `run_command`."""
    run_command(_shown)


def _shown() -> None:
    with show_progress():
        app(prog_name="sclcs")
