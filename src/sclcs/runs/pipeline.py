"""A run as a function: what ``sclcs.run`` is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sclcs._core import InputError, announce, checked, show_progress, takes
from sclcs.cohort import Cohort
from sclcs.run_folder import RunConfig, RunFolder, collect_config, parse_budget
from sclcs.runs.budget import budget_plan_stage, record_speed
from sclcs.runs.check import check_stage, plan_stage
from sclcs.runs.estimate import account_stage, core_part_stage, estimate_stage, panel_stage
from sclcs.runs.matrices import remove_folder, remove_trash
from sclcs.runs.order import RunOrder
from sclcs.runs.report import card_stage, export_stage, keep_matrices, report_stage
from sclcs.runs.result import RunResult
from sclcs.runs.stages import RunLog, Stage, require_stage, run_lock, run_stages
from sclcs.runs.two_stages import (
    compute_core_stage,
    compute_top_stage,
    confirm_stage,
    full_stage,
    rank_stage,
    select_stage,
)
from sclcs.runs.waves import check_disk
from sclcs.settings import RunSettings
from sclcs.stats import within

__all__ = ["carry_out", "make_stages", "run"]


def carry_out(
    config: RunConfig,
    *,
    given: Cohort | None = None,
    tell: Callable[[str], None] | None = None,
    until: str | None = None,
) -> tuple[RunFolder, list[str]]:
    """Do the stages of a run.

    Parameters
    ----------
    config : RunConfig
        With a folder, and with a cohort if none is given.
    given : Cohort, optional
        A cohort in memory, to be saved in the folder.
    tell : callable, optional
        Is given a line for a person when a stage begins or ends.
    until : str, optional
        Name of the last stage to do.

    Returns
    -------
    folder : RunFolder
    stages : list of str
        The stages that had to be done.
    """
    if config.out is None:
        raise InputError("Expected a folder for the run: --out RUN, or the key out.")
    folder = RunFolder(Path(config.out).absolute())
    cohort, place = _locate(config, folder, given)
    on = str(config.executor.from_anywhere())
    config = config.model_copy(update={"out": str(folder.path), "cohort": str(place), "on": on})
    order = RunOrder(folder, config, cohort)
    order.check()
    check_disk(order)
    folder.assume_config(config)
    require_stage(make_stages(order), until)
    config.executor.reach()
    with within(config.memory, len(cohort), order.processes):
        return folder, _do_stages(order, given, tell, until)


def _do_stages(
    order: RunOrder, given: Cohort | None, tell: Callable[[str], None] | None, until: str | None
) -> list[str]:
    folder, config = order.folder, order.config
    RunFolder.create(folder.path)
    log = RunLog(folder.log_file, tell)
    with run_lock(folder), log.listening():
        cohort = _settle(order, given)
        stages = make_stages(RunOrder(folder, config, cohort))
        done = run_stages(folder, stages, log.say, until=until)
        if until in {None, "report"}:
            keep_matrices(RunOrder(folder, config, cohort), log.say)
        return done


def _settle(order: RunOrder, given: Cohort | None) -> Cohort:
    """Write down what is asked, in the folder that is held now; return the cohort."""
    folder, config, cohort = order.folder, order.config, order.given
    remove_trash(folder.path)
    if given is not None:
        cohort = _keep(folder, given, Path(str(config.cohort)))
    folder.write_config(config)
    if config.budgeted and parse_budget(str(config.budget)).share is None:
        record_speed(folder, cohort)
    return cohort


def _locate(config: RunConfig, folder: RunFolder, given: Cohort | None) -> tuple[Cohort, Path]:
    """Return the cohort and where it is, or will be."""
    if given is not None:
        return given, folder.path / "cohort.zarr"
    if config.cohort is None:
        raise InputError("Expected a cohort: `sclcs run COHORT ...`, or the key cohort.")
    place = Path(config.cohort).absolute()
    return folder.given_cohort(place), place


def _keep(folder: RunFolder, given: Cohort, place: Path) -> Cohort:
    """Save a cohort in the folder, unless it is there."""
    if place.exists() and folder.given_cohort(place).fingerprint != given.fingerprint:
        remove_folder(place)
    if not place.exists():
        given.save(place)
    return folder.given_cohort(place)


def make_stages(order: RunOrder) -> list[Stage]:
    """Return the stages of a run, in order."""
    full = [full_stage(order)] if order.config.full_benchmark else []
    export = [export_stage(order)] if order.config.export else []
    card = [] if order.config.criteria == ["none"] else [card_stage(order)]
    if order.config.budgeted:
        before = [*budget_stages(order), *full, account_stage(order), *card, *export]
        return [*before, report_stage(order, [stage.name for stage in before])]
    before = [
        check_stage(order),
        plan_stage(order),
        select_stage(order),
        compute_core_stage(order),
        rank_stage(order),
        compute_top_stage(order),
        *full,
        confirm_stage(order),
        *card,
        *export,
    ]
    return [*before, report_stage(order, [stage.name for stage in before])]


def budget_stages(order: RunOrder) -> list[Stage]:
    """Return the stages of a budgeted run up to its answer."""
    first = [check_stage(order), budget_plan_stage(order), panel_stage(order)]
    if order.allotment.core_samples:
        first += [select_stage(order), core_part_stage(order)]
    return [*first, estimate_stage(order)]


@checked
@takes(RunSettings, leave_out=["cohort"], none=True)
def run(
    cohort: Cohort | str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **options: Any,  # noqa: ANN401 - fields of RunSettings
) -> RunResult:
    """Find the best operators for a cohort within a budget, and say how sure that is.

    What is cheap is computed exactly, the rest is estimated, the likely best is confirmed. With
    `ratio` or `method` it is the two stages of the paper: all operators on a core-set, the best
    on the full cohort.

    Called again with the same folder, it does only what is not done yet; a changed setting
    redoes only what depends on it. A setting that is not given has the value of `config`, or
    else its default.

    Parameters
    ----------
    cohort : Cohort or path
        The samples. A cohort in memory is saved in the folder of the run.
    config : path-like, optional
        A YAML file with settings; arguments beat the file.
    progress : bool, default False
        Show the stages and a bar, in a notebook as in a terminal.
    {options}

    Returns
    -------
    RunResult
        :meth:`RunResult.open` reads it again from the folder.

    Examples
    --------
    ``sclcs.run("abide.zarr", out="RUN", task="diagnosis", budget="5%", progress=True).best()``
    """
    given = cohort if isinstance(cohort, Cohort) else None
    if not isinstance(cohort, Cohort | None):
        options["cohort"] = os.fspath(cohort)
    if options.get("out") is not None:
        options["out"] = os.fspath(options["out"])
    with show_progress(bool(progress)):
        tell = announce if progress else None
        return RunResult.open(*carry_out(collect_config(config, options), given=given, tell=tell))
