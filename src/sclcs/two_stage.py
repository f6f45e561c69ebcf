"""The two-stage run: every operator on a core-set, the best ones on everybody, a report.

1 check the cohort, 2 predict the costs, 3 choose the core-set, 4 compute every operator on it,
5 rank them with intervals, 6 compute the best ones on the whole cohort, 7 confirm their order
there, 8 report. Every stage leaves files in the folder of the run and is done once; the same
call goes on where an earlier one stopped.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sclcs
from sclcs.benchmark.ranking import Ranking
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.core.provenance import plain
from sclcs.report.html import run_report
from sclcs.workflow.run.check import check_stage, plan_stage
from sclcs.workflow.run.config import RunConfig, make_config, read_config
from sclcs.workflow.run.confirm import confirm_stage
from sclcs.workflow.run.export import export_stage
from sclcs.workflow.run.folder import RunFolder
from sclcs.workflow.run.lock import run_lock
from sclcs.workflow.run.log import RunLog
from sclcs.workflow.run.order import RunOrder
from sclcs.workflow.run.rank import (
    compute_core_stage,
    compute_top_stage,
    full_stage,
    rank_stage,
)
from sclcs.workflow.run.select import select_stage
from sclcs.workflow.run.stages import Stage, run_stages
from sclcs.workflow.run.state import RunState
from sclcs.workflow.run.stores import remove_folder, remove_trash

__all__ = ["RunResult", "carry_out", "collect_config", "make_stages", "run"]

SHOWN = 3


@dataclass(frozen=True)
class RunResult:
    """What a run found, and where it is.

    Parameters
    ----------
    folder : RunFolder
        All files.
    core_set : CoreSet
        The samples on which every operator was computed.
    rankings, confirmed : dict of str to Ranking
        By task: every operator on the core-set, and the best ones on the whole cohort.
    report : Path
        The page for a person.
    stages : list of str
        The stages that had to be done; the others were done before.
    """

    folder: RunFolder
    core_set: CoreSet
    rankings: dict[str, Ranking]
    confirmed: dict[str, Ranking]
    report: Path
    stages: list[str]

    def __repr__(self) -> str:
        lines = [f"RunResult({str(self.folder.path)!r}, {len(self.core_set)} samples in core-set)"]
        for task, rows in self.best().items():
            found = ", ".join(_with_interval(row) for row in rows)
            lines.append(f"  {task}: {found}")
        lines.append(f"  report: {self.report}")
        return "\n".join(lines)

    @classmethod
    def open(cls, folder: RunFolder, stages: Sequence[str] = ()) -> RunResult:
        """Read the result of a finished run."""
        return cls(
            folder,
            folder.core_set(),
            {task: folder.ranking(task) for task in folder.tasks},
            {task: folder.confirmed(task) for task in folder.tasks},
            folder.report_file,
            list(stages),
        )

    def best(self, count: int = SHOWN) -> dict[str, list[dict[str, Any]]]:
        """Return the best operators of each task on the whole cohort.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        dict of str to list of dict
            By task: ``spi``, ``score``, ``low``, ``high``.
        """
        names = ["spi", "score", "low", "high"]
        return {
            task: ranking.table[names].head(count).to_dict(orient="records")  # type: ignore[misc]
            for task, ranking in self.confirmed.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        facts = {
            "folder": str(self.folder.path),
            "report": str(self.report),
            "core_set": {"samples": len(self.core_set), "method": self.core_set.method},
            "best": self.best(),
            "confirmation": self.folder.confirmation(),
            "stages": self.stages,
        }
        return dict(plain(facts))


def _with_interval(row: dict[str, Any]) -> str:
    found = f"{row['spi']} {row['score']:.3f}"
    return found if math.isnan(row["low"]) else f"{found} [{row['low']:.3f}, {row['high']:.3f}]"


def run(
    cohort: Cohort | str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    tasks: str | Sequence[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,  # noqa: ANN401
) -> RunResult:
    """Find the best operators for a cohort: all of them on a core-set, the best on everybody.

    Called again with the same folder, it does only what is not done yet; a changed setting
    redoes only what depends on it.

    Parameters
    ----------
    cohort : Cohort or path
        The samples. A cohort in memory is saved in the folder of the run.
    out : path-like
        The folder of the run: new, or that of an earlier one.
    tasks : str or sequence of str
        What operators are ranked for: ``"subject"`` (fingerprinting), or label columns.
    config : path-like, optional
        A YAML file with settings; arguments beat the file.
    **settings : object
        Any key of :class:`~sclcs.workflow.run.config.RunConfig`, for example ``ratio=0.1``,
        ``spis="all"``, ``method="guided"``, ``top_k=5``, ``jobs=4``.

    Returns
    -------
    RunResult

    Examples
    --------
    ``run("abide.zarr", out="RUN", tasks="diagnosis", ratio=0.1).best()``
    """
    names = [tasks] if isinstance(tasks, str) else tasks and list(tasks)
    options = {"out": None if out is None else os.fspath(out), "tasks": names, **settings}
    given = cohort if isinstance(cohort, Cohort) else None
    if not isinstance(cohort, Cohort | None):
        options["cohort"] = os.fspath(cohort)
    return RunResult.open(*carry_out(collect_config(config, options), given=given))


def collect_config(file: str | os.PathLike[str] | None, options: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a file and of options that are not None; options beat it."""
    keys = {} if file is None else read_config(file)
    given = {name: value for name, value in options.items() if value is not None}
    return make_config({**keys, **given}, "the options" if file is None else f"{file} and options")


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
    RunOrder(folder, config, cohort).check()
    RunFolder.create(folder.path)
    log = RunLog(folder.log_file)

    def say(line: str) -> None:
        log.write(line)
        if tell is not None:
            tell(line)

    with run_lock(folder), log.listening(), _framed(log):
        remove_trash(folder.path)
        if given is not None:
            cohort = _keep(given, place)
        folder.write_config(config)
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
    return Cohort.open(place), place


def _keep(given: Cohort, place: Path) -> Cohort:
    """Save a cohort in the folder, unless it is there."""
    if place.exists() and Cohort.open(place).fingerprint != given.fingerprint:
        remove_folder(place)
    if not place.exists():
        given.save(place)
    return Cohort.open(place)


@contextmanager
def _framed(log: RunLog) -> Iterator[None]:
    """Write to the log when a run begins, and how it ends."""
    log.write(f"--- sclcs {sclcs.__version__}, process {os.getpid()} on {socket.gethostname()}")
    try:
        yield
    except KeyboardInterrupt:
        log.write("stopped by Ctrl-C")
        raise
    except Exception as error:
        log.write(f"failed: {error}")
        raise
    log.write("finished")


def make_stages(order: RunOrder) -> list[Stage]:
    """Return the stages of a run, in order."""
    full = [full_stage(order)] if order.config.full_benchmark else []
    export = [export_stage(order)] if order.config.export else []
    before = [
        check_stage(order),
        plan_stage(order),
        select_stage(order),
        compute_core_stage(order),
        rank_stage(order),
        compute_top_stage(order),
        *full,
        confirm_stage(order),
        *export,
    ]
    return [*before, _report_stage(order, [stage.name for stage in before])]


def _report_stage(order: RunOrder, before: list[str]) -> Stage:
    folder = order.folder

    def key() -> dict[str, Any]:
        records = folder.state()["stages"]
        return {
            "config": order.config.model_dump(exclude={"out"}),
            "outputs": [records[name]["outputs"] for name in before],
            "version": sclcs.__version__,
        }

    def work() -> None:
        run_report(folder).save_as_html(folder.report_file)

    return Stage("report", "Write the report", key, work, lambda: [folder.report_file])
