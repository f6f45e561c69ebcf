"""The two-stage run: every operator on a core-set, the best ones on everybody, a report.

1 check the cohort, 2 predict the costs, 3 choose the core-set, 4 compute every operator on it,
5 rank them with intervals, 6 compute the best ones on the whole cohort, 7 confirm their order
there, 8 judge them by more than the target, 9 report. Every stage leaves files in the folder of
the run and is done once; the same call goes on where an earlier one stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sclcs.benchmark.memory import within
from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, StoreInUseError
from sclcs.run_folder import RunConfig, RunFolder, parse_budget
from sclcs.runs.batch import Chain, watch_chain
from sclcs.runs.budget_plan import budget_plan_stage, record_speed
from sclcs.runs.card import card_stage
from sclcs.runs.check import check_stage, plan_stage
from sclcs.runs.confirm import confirm_stage
from sclcs.runs.estimate import account_stage, estimate_stage
from sclcs.runs.export import export_stage
from sclcs.runs.keep import keep_matrices
from sclcs.runs.matrices import remove_folder, remove_trash
from sclcs.runs.order import RunOrder
from sclcs.runs.panel import core_part_stage, panel_stage
from sclcs.runs.rank import compute_core_stage, compute_top_stage, full_stage, rank_stage
from sclcs.runs.report import report_stage
from sclcs.runs.select import select_stage
from sclcs.runs.session import RunLog, run_lock
from sclcs.runs.stages import Stage, require_stage, run_stages
from sclcs.runs.waves import check_disk
from sclcs.spi.own_operators import require_known_elsewhere

__all__ = ["carry_out", "make_stages"]


def carry_out(
    config: RunConfig,
    *,
    given: Cohort | None = None,
    tell: Callable[[str], None] | None = None,
    until: str | None = None,
    watch: bool = True,
    driving: bool = False,
) -> tuple[RunFolder, list[str]]:
    """Do the stages of a run, or send jobs that do them.

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
    watch : bool
        Whether to wait for jobs, if a batch system does the work.
    driving : bool
        Whether this process is such a job.

    Returns
    -------
    folder : RunFolder
    stages : list of str
        The stages that had to be done; of a run that was only sent, none.
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
    if config.executor.kind.batch is not None and not driving:
        return _send(order, given, tell or _tell_nobody, until, watch)
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


def _send(
    order: RunOrder,
    given: Cohort | None,
    tell: Callable[[str], None],
    until: str | None,
    watch: bool,
) -> tuple[RunFolder, list[str]]:
    """Send the first job of a run, unless its jobs are in the queue; wait for them if asked."""
    config, folder = order.config, order.folder
    config.executor.kind.reach_batch(config.executor.argument)
    require_known_elsewhere(order.operators, str(config.executor))
    RunFolder.create(folder.path)
    chain = Chain(folder)
    active = chain.active()
    if active:
        _refuse_other_settings(folder, config)
        tell(f"The jobs of the run are in the queue ({', '.join(j.number for j in active)}).")
    else:
        with run_lock(folder):
            _settle(order, given)
            chain = Chain(folder)
        sent = chain.begin(until)
        tell(f"Sent: jobs {', '.join(sent)}, which send the others. {chain.home} has their logs.")
    before = _done(folder)
    if watch:
        watch_chain(chain, tell)
    now = RunFolder(folder.path)
    return now, [name for name, key in _done(now).items() if before.get(name) != key]


def _done(folder: RunFolder) -> dict[str, str]:
    """Return the stages that are done and when they were."""
    records = folder.state()["stages"].items()
    return {name: record["finished"] for name, record in records if record["status"] == "done"}


def _refuse_other_settings(folder: RunFolder, config: RunConfig) -> None:
    there = RunFolder(folder.path).config()
    changed = [name for name, value in config.model_dump().items() if getattr(there, name) != value]
    if changed:
        chain = Chain(folder)
        raise StoreInUseError(
            f"Jobs of a run in {folder.path} with other settings ({', '.join(changed)}) are in the "
            "queue; wait until they end, or stop them: "
            f"{chain.batch.stop_command([chain.driver, chain.worker])}."
        )


def _tell_nobody(_line: str) -> None:
    pass


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
