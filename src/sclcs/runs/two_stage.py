"""The two-stage run: every operator on a core-set, the best ones on everybody, a report.

1 check the cohort, 2 predict the costs, 3 choose the core-set, 4 compute every operator on it,
5 rank them with intervals, 6 compute the best ones on the whole cohort, 7 confirm their order
there, 8 judge them by more than the target, 9 report. Every stage leaves files in the folder of
the run and is done once; the same call goes on where an earlier one stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sclcs
from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.identity import Identity
from sclcs.report import run_report
from sclcs.run_folder import RunConfig, RunFolder, RunState, parse_budget
from sclcs.runs.budget_plan import budget_plan_stage, record_speed
from sclcs.runs.card import card_stage
from sclcs.runs.check import check_stage, plan_stage
from sclcs.runs.confirm import confirm_stage
from sclcs.runs.estimate import account_stage, estimate_stage
from sclcs.runs.export import export_stage
from sclcs.runs.matrices import remove_folder, remove_trash
from sclcs.runs.order import RunOrder
from sclcs.runs.panel import core_part_stage, panel_stage
from sclcs.runs.rank import compute_core_stage, compute_top_stage, full_stage, rank_stage
from sclcs.runs.select import select_stage
from sclcs.runs.session import RunLog, run_lock
from sclcs.runs.stages import Stage, require_stage, run_stages

__all__ = ["carry_out", "make_stages"]


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
    config = config.model_copy(update={"out": str(folder.path), "cohort": str(place)})
    order = RunOrder(folder, config, cohort)
    order.check()
    folder.assume_config(config)
    require_stage(make_stages(order), until)
    config.executor.reach()
    RunFolder.create(folder.path)
    log = RunLog(folder.log_file)

    def say(line: str) -> None:
        log.write(line)
        if tell is not None:
            tell(line)

    with run_lock(folder), log.listening():
        remove_trash(folder.path)
        if given is not None:
            cohort = _keep(folder, given, place)
        folder.write_config(config)
        if config.budgeted and parse_budget(str(config.budget)).share is None:
            record_speed(folder, cohort)
        stages = make_stages(RunOrder(folder, config, cohort))
        done = run_stages(folder.path, RunState(folder.state_file), stages, say, until=until)
    return folder, done


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
        return [*before, _report_stage(order, [stage.name for stage in before])]
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
    return [*before, _report_stage(order, [stage.name for stage in before])]


def budget_stages(order: RunOrder) -> list[Stage]:
    """Return the stages of a budgeted run up to its answer."""
    first = [check_stage(order), budget_plan_stage(order), panel_stage(order)]
    if order.allotment.core_samples:
        first += [select_stage(order), core_part_stage(order)]
    return [*first, estimate_stage(order)]


def _report_stage(order: RunOrder, before: list[str]) -> Stage:
    folder = order.folder

    def identity() -> Identity:
        records = folder.state()["stages"]
        made = [records[name].get(part, {}) for name in before for part in ("outputs", "matrices")]
        return Identity(
            "report",
            inputs={"made": made},
            parameters=order.config.model_dump(exclude={"out"}),
            versions={"sclcs": sclcs.__version__},
        )

    def work() -> None:
        run_report(folder).save_as_html(folder.report_file)

    return Stage("report", "Write the report", identity, work, lambda: [folder.report_file])
