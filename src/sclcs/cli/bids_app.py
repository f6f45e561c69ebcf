"""``sclcs-bids``: the command line that BIDS Apps have, for BABS and most clusters."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sclcs._core import show_progress
from sclcs.cli.main import run_command
from sclcs.cli.options import split_names

if TYPE_CHECKING:
    from sclcs.cohort import Cohort
    from sclcs.store import ExecutorChoice

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Level(StrEnum):
    """What to do."""

    participant = "participant"
    group = "group"


@app.command()
def bids(
    bids_dir: Annotated[
        Path, typer.Argument(help="A BIDS derivative with regional time series (XCP-D, ...).")
    ],
    output_dir: Annotated[Path, typer.Argument(help="Shared by all participants.")],
    level: Annotated[Level, typer.Argument(help="participant, then group.")],
    *,
    participant_label: Annotated[
        list[str] | None,
        typer.Option(
            "--participant-label", "--participant_label",
            help="Only these, with or without sub-; separated by commas, or repeated.",
        ),
    ] = None,
    spis: Annotated[
        str, typer.Option(help="Sets, operators or globs, separated by commas.")
    ] = "paper-fast",
    atlas: Annotated[str | None, typer.Option(help="Which atlas, if there are several.")] = None,
    bids_task: Annotated[str | None, typer.Option(help="Only scans of this BIDS task.")] = None,
    window: Annotated[str, typer.Option(help="Time points per window, or 140s.")] = "70",
    stride: Annotated[str, typer.Option(help="From one window to the next.")] = "35",
    whole: Annotated[bool, typer.Option("--whole", help="Whole scans instead of windows.")] = False,
    on_bad: Annotated[
        str, typer.Option(help="Stop at bad scans, or drop them: error or skip.")
    ] = "error",
    task: Annotated[
        list[str] | None,
        typer.Option(help="Group level: what to rank for (subject, diagnosis, age); repeatable."),
    ] = None,
    covariates: Annotated[
        str | None, typer.Option(help="Group level: taken out first, separated by commas.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    n_cpus: Annotated[int, typer.Option("--n-cpus", "--n_cpus", min=1, help="Processes.")] = 1,
    skip_bids_validation: Annotated[  # noqa: ARG001 - part of the interface of BIDS Apps
        bool,
        typer.Option(
            "--skip-bids-validation", "--skip_bids_validation",
            help="Accepted for BIDS Apps' sake: nothing is validated.",
        ),
    ] = False,
) -> None:  # fmt: skip
    """Rank operators on a BIDS derivative, one job per participant, then one for the group.

    Example: `sclcs-bids derivatives/xcp_d out participant --participant-label 01`, then
    `sclcs-bids derivatives/xcp_d out group --task subject`
    """
    from sclcs._core import InputError, require_existing
    from sclcs.runs import describe_outputs, process_participant
    from sclcs.store import find_executor

    if level is Level.group and participant_label:
        raise InputError("The group level takes all participants; leave out --participant-label.")
    operators = split_names([spis]) or []
    who = find_executor(f"local:{n_cpus}")
    if level is Level.group:
        tasks = task or ["subject"]
        _group(output_dir, operators, tasks=tasks, covariates=covariates, seed=seed, who=who)
        return
    require_existing(bids_dir, "BIDS derivative")
    output_dir.mkdir(parents=True, exist_ok=True)
    describe_outputs(output_dir)
    cut = {"on_bad": on_bad} | ({} if whole else {"window": window, "stride": stride})
    for label in _labels(bids_dir, participant_label):
        make_cohort = _maker(bids_dir, label, cut, atlas, bids_task)
        store = process_participant(output_dir, label, make_cohort, operators, seed=seed, who=who)
        typer.echo(f"sub-{label}: {len(store)} samples in {store.path}")


def _labels(bids_dir: Path, wanted: list[str] | None) -> list[str]:
    """Return the participants to process; those that are not there are named."""
    from sclcs._core import UnknownNameError, name_first

    there = sorted(path.name.removeprefix("sub-") for path in bids_dir.glob("sub-*/"))
    chosen = [name.removeprefix("sub-") for name in split_names(wanted) or []] or there
    missing = [name for name in chosen if name not in there]
    if missing or not chosen:
        raise UnknownNameError(
            f"Expected folders sub-LABEL in {bids_dir}; "
            f"{name_first(missing) or 'there are none'}{' not found' if missing else ''}."
        )
    return chosen


def _maker(
    bids_dir: Path, label: str, cut: dict[str, Any], atlas: str | None, bids_task: str | None
) -> Callable[[Path], Cohort]:
    """Return what reads one participant's scans into a cohort at the path it is given."""

    def make(path: Path) -> Cohort:
        from sclcs.cohort import read_scans

        options = {"atlas": atlas, "task": bids_task, "entity": {"sub": label}}
        given = {name: value for name, value in options.items() if value is not None}
        scans = read_scans(bids_dir, "bids", **given)
        return scans.to_cohort(path, **cut)

    return make


def _group(
    out: Path,
    operators: list[str],
    *,
    tasks: list[str],
    covariates: str | None,
    seed: int,
    who: ExecutorChoice,
) -> None:
    from sclcs import run
    from sclcs.runs import gather_participants

    cohort, folder = gather_participants(out, operators, seed=seed, who=who)
    result = run(
        cohort,
        out=folder,
        task=tasks,
        spis=operators,
        covariates=split_names([covariates] if covariates else None) or [],
        seed=seed,
        on=str(who),
        budget="100%",
    )
    typer.echo(str(result))


def main() -> None:
    """Run the command; a user's mistake is one sentence and exit code 2."""
    run_command(_shown)


def _shown() -> None:
    with show_progress():
        app(prog_name="sclcs-bids")
