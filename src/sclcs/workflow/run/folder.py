"""The folder of a two-stage run: which file is what, and how to read it.

::

    RUN/
        config.yaml         what was asked; `sclcs run --config RUN/config.yaml --out OTHER`
        run.log             what happened, for a person
        state.json          the stages: done or not, how long, checksums of what they wrote
        check.json          what is in the cohort, its problems, what was left out
        plan.json           predicted costs
        core.csv, .json     the core-set
        encoder/            the training behind it (methods that train the encoder)
        fc-panel.zarr       the operators that guided it, on the whole cohort (guided, auto)
        fc-core.zarr        every operator on the core-set
        ranking.csv, .json  their ranking for the first task; ranking-TASK.csv for further ones
        fc-top.zarr         the best operators on the whole cohort
        confirmed.csv, .json   their ranking there; confirmed-TASK.csv for further tasks
        fc-all.zarr, truth.csv, .json   with full_benchmark: every operator on everybody
        confirmation.json   how well the two rankings agree, what it cost and saved
        exports/            the best operators' matrices in other formats, if asked for
        report.html         all of it for a person
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sclcs.benchmark.ranking import Ranking
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError, NotFoundError, UnreadableFileError, WriteError
from sclcs.core.files import explain_write_errors, write_json, write_text
from sclcs.spi.fc_store import FCStore
from sclcs.workflow.run.config import RunConfig, config_text, make_config, read_config

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort
    from sclcs.encoder.run import EncoderRun

__all__ = ["RunFolder"]


class RunFolder:
    """A folder of a run, finished or not.

    Parameters
    ----------
    path : path-like
        The folder. Nothing is read until it is asked for.

    Examples
    --------
    ``RunFolder("RUN").ranking("diagnosis").table.head()``
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Make the folder, or return the one of an earlier run; anything else is refused."""
        folder = cls(path)
        if folder.state_file.exists():
            return folder
        if folder.path.exists() and not folder.path.is_dir():
            raise WriteError(
                f"Expected a folder for the run at {path}, but a file is there; choose another."
            )
        with explain_write_errors(folder.path):
            if folder.path.is_dir() and any(folder.path.iterdir()):
                raise InputError(
                    f"{path} holds files, but no run (there is no {folder.state_file.name}); "
                    "choose a new folder, or that of an earlier run."
                )
            folder.path.mkdir(parents=True, exist_ok=True)
            write_json(folder.state_file, {"stages": {}})
        return folder

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Return the folder of a run; an error says so if it is none."""
        folder = cls(path)
        if not folder.state_file.exists() or not folder.config_file.exists():
            raise NotFoundError(
                f"Expected the folder of a run at {path} (with {folder.config_file.name} and "
                f"{folder.state_file.name}); `sclcs run` makes one."
            )
        return folder

    @property
    def config_file(self) -> Path:
        """What was asked."""
        return self.path / "config.yaml"

    @property
    def log_file(self) -> Path:
        """What happened, appended by every run."""
        return self.path / "run.log"

    @property
    def state_file(self) -> Path:
        """The stages and what they wrote."""
        return self.path / "state.json"

    @property
    def check_file(self) -> Path:
        """What is in the cohort."""
        return self.path / "check.json"

    @property
    def plan_file(self) -> Path:
        """Predicted costs."""
        return self.path / "plan.json"

    @property
    def core_file(self) -> Path:
        """The core-set."""
        return self.path / "core.csv"

    @property
    def encoder_folder(self) -> Path:
        """The training behind the core-set."""
        return self.path / "encoder"

    @property
    def panel_store(self) -> Path:
        """The operators that guided the choice, on the whole cohort."""
        return self.path / "fc-panel.zarr"

    @property
    def core_store(self) -> Path:
        """Every operator on the core-set."""
        return self.path / "fc-core.zarr"

    @property
    def top_store(self) -> Path:
        """The best operators on the whole cohort."""
        return self.path / "fc-top.zarr"

    @property
    def all_store(self) -> Path:
        """Every operator on the whole cohort, with ``full_benchmark``."""
        return self.path / "fc-all.zarr"

    @property
    def confirmation_file(self) -> Path:
        """Agreement and costs."""
        return self.path / "confirmation.json"

    @property
    def export_folder(self) -> Path:
        """The best operators' matrices in other formats."""
        return self.path / "exports"

    @property
    def report_file(self) -> Path:
        """The report."""
        return self.path / "report.html"

    def ranking_file(self, task: str | None = None) -> Path:
        """Return the ranking on the core-set; of the first task by default."""
        return self._task_file("ranking", task)

    def confirmed_file(self, task: str | None = None) -> Path:
        """Return the ranking of the best operators on the whole cohort."""
        return self._task_file("confirmed", task)

    def truth_file(self, task: str | None = None) -> Path:
        """Return the ranking of every operator on the whole cohort."""
        return self._task_file("truth", task)

    def _task_file(self, kind: str, task: str | None) -> Path:
        if task is None or task == self.tasks[0]:
            return self.path / f"{kind}.csv"
        if task not in self.tasks:
            raise InputError(f"The run has the tasks {', '.join(self.tasks)}, not {task!r}.")
        return self.path / f"{kind}-{quote(task, safe=' ')}.csv"

    @cached_property
    def _config(self) -> RunConfig:
        return make_config(read_config(self.config_file), str(self.config_file))

    def config(self) -> RunConfig:
        """Return what was asked; paths are absolute."""
        return self._config

    def write_config(self, config: RunConfig) -> None:
        """Write what is asked."""
        write_text(self.config_file, config_text(config, self.path))
        self.__dict__.pop("_config", None)

    @property
    def tasks(self) -> list[str]:
        """What operators are ranked for."""
        return self._config.tasks

    def state(self) -> dict[str, Any]:
        """Return the stages by name: status, started, finished, wall and CPU seconds."""
        return self._json(self.state_file)

    def check(self) -> dict[str, Any]:
        """Return what the check found.

        Returns
        -------
        dict
            ``cohort`` (see :func:`~sclcs.cohort.describe.describe_cohort`), ``problems`` and
            ``excluded`` (lists of kind, where, detail), ``samples`` and ``fingerprint`` of what
            is used, ``tasks`` (by name: samples, subjects, classes, unlabelled).
        """
        return self._json(self.check_file)

    def plan(self) -> dict[str, Any]:
        """Return the predicted costs."""
        return self._json(self.plan_file)

    def confirmation(self) -> dict[str, Any]:
        """Return how well the core-set did, and what it cost.

        Returns
        -------
        dict
            ``tasks``, by name: ``winners`` (best by the core-set, in its order), ``best``
            (``core``, ``confirmed``), ``same_best``, ``inside_interval`` (whether the winner's
            score on everybody lies in its interval from the core-set), ``agreement`` (see
            :func:`~sclcs.benchmark.consistency`, of the winners' two orders), ``truth`` (the
            same of all operators with ``full_benchmark``, else null).
            ``costs``, in CPU seconds: ``select`` (training included), ``panel``, ``core``,
            ``top``, ``two_stage`` (their sum), ``everything`` (every operator on everybody, from
            the time per sample on the core-set), ``everything_measured`` (null without
            ``full_benchmark``), ``saved`` (share); and ``samples``, ``core_samples``,
            ``operators``.
        """
        return self._json(self.confirmation_file)

    def cohort(self) -> Cohort:
        """Open the cohort, without the samples that the check left out."""
        from sclcs.workflow.run.cohort import open_run_cohort

        return open_run_cohort(self)

    def core_set(self) -> CoreSet:
        """Read the core-set."""
        return CoreSet.open(self.core_file)

    def ranking(self, task: str | None = None) -> Ranking:
        """Read the ranking on the core-set."""
        return Ranking.open(self.ranking_file(task))

    def confirmed(self, task: str | None = None) -> Ranking:
        """Read the ranking of the best operators on the whole cohort."""
        return Ranking.open(self.confirmed_file(task))

    def truth(self, task: str | None = None) -> Ranking | None:
        """Read the ranking of every operator on the whole cohort; None if it was not made."""
        path = self.truth_file(task)
        return Ranking.open(path) if path.exists() else None

    @property
    def core_matrices(self) -> FCStore:
        """Every operator on the core-set."""
        return FCStore.open(self.core_store)

    @property
    def top_matrices(self) -> FCStore:
        """The best operators on the whole cohort."""
        return FCStore.open(self.top_store)

    def encoder_run(self) -> EncoderRun | None:
        """Read the training behind the core-set; None if the method trains no encoder."""
        if not self.encoder_folder.exists():
            return None
        from sclcs.encoder.run import EncoderRun

        return EncoderRun.open(self.encoder_folder)

    def _json(self, path: Path) -> dict[str, Any]:
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise NotFoundError(
                f"{path} is not there yet; finish the run with "
                f"`sclcs run --config {self.config_file}`."
            ) from error
        except ValueError as error:
            raise UnreadableFileError(
                f"{path} cannot be read ({error}); run the same command again."
            ) from error
