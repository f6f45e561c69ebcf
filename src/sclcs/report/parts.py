"""What the folder of a run holds, part by part; a part that is not there is None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from sclcs._core import InputError, NotFoundError
from sclcs.cohort import Cohort, CoreSet
from sclcs.coresets import TrainedEncoder
from sclcs.run_folder import RunConfig, RunFolder
from sclcs.spi import catalogue_rows
from sclcs.stats import Card, FCSource, Ranking
from sclcs.store import FCStore

__all__ = ["RunParts", "catalogue_row"]

OWN_STAGE = "report"
Part = TypeVar("Part")


class RunParts:
    """The parts of a run as a report needs them; each is read once, when it is asked for.

    Parameters
    ----------
    folder : RunFolder
        Of a run, finished or not.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._by_task: dict[tuple[str, str], Any] = {}

    @cached_property
    def config(self) -> RunConfig:
        """What was asked."""
        return self.folder.config()

    @cached_property
    def tasks(self) -> list[str]:
        """What operators were ranked for."""
        return self.folder.tasks

    @property
    def name(self) -> str:
        """The title that the user gave, or the name of the folder."""
        return self.config.title or self.folder.path.resolve().name

    @cached_property
    def stages(self) -> Mapping[str, Mapping[str, Any]]:
        """What is recorded of the stages, by name."""
        found: Mapping[str, Mapping[str, Any]] = self.folder.state().get("stages", {})
        return found

    def is_done(self, stage: str) -> bool:
        """Say whether a stage was done, even if its inputs may have changed since."""
        return self.stages.get(stage, {}).get("status") in {"done", "to be checked"}

    @property
    def work(self) -> Mapping[str, Mapping[str, Any]]:
        """The stages but the report's own, which cannot know how long it takes."""
        return {name: facts for name, facts in self.stages.items() if name != OWN_STAGE}

    @cached_property
    def check(self) -> Mapping[str, Any]:
        """What is in the cohort; empty if it was not checked yet."""
        return _optional(self.folder.check) or {}

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """Predicted costs; empty if there is no plan yet."""
        return _optional(self.folder.plan) or {}

    @cached_property
    def confirmation(self) -> Mapping[str, Any]:
        """Agreement and costs; empty if the winners were not confirmed yet."""
        return _optional(self.folder.confirmation) or {}

    @cached_property
    def core(self) -> CoreSet | None:
        """The core-set."""
        return _optional(self.folder.core_set)

    def ranking(self, task: str) -> Ranking | None:
        """Return the ranking of all operators on the core-set."""
        return self._of_task(task, self.folder.ranking)

    @cached_property
    def budgeted(self) -> bool:
        """Whether a budget decided what was computed on everybody."""
        return self.config.budgeted

    @cached_property
    def answer(self) -> Mapping[str, Any]:
        """The answer of a budgeted run; empty if there is none yet."""
        return (_optional(self.folder.answer) if self.budgeted else None) or {}

    def confirmed(self, task: str) -> Ranking | None:
        """Return the ranking of the winners on the whole cohort, where there are two stages."""
        return None if self.budgeted else self._of_task(task, self.folder.confirmed)

    def truth(self, task: str) -> Ranking | None:
        """Return the ranking of all operators on the whole cohort."""
        return self._of_task(task, self.folder.truth)

    def card(self, task: str) -> Card | None:
        """Return what the operators on the whole cohort see besides the target."""
        return self._of_task(task, self.folder.card)

    def _of_task(self, task: str, read: Callable[[str], Part | None]) -> Part | None:
        key = read.__name__, task
        if key not in self._by_task:
            self._by_task[key] = _optional(lambda: read(task))
        found: Part | None = self._by_task[key]
        return found

    @cached_property
    def core_matrices(self) -> FCStore | None:
        """Every operator on the core-set."""
        return _optional(lambda: self.folder.core_matrices)

    @cached_property
    def whole_matrices(self) -> FCStore | None:
        """Operators on the whole cohort."""
        return _optional(lambda: self.folder.whole_matrices)

    @cached_property
    def encoder(self) -> TrainedEncoder | None:
        """The training behind the core-set."""
        return _optional(self.folder.trained_encoder)

    @cached_property
    def cohort(self) -> Cohort | None:
        """The cohort, where it still is where the run found it."""
        try:
            return _optional(self.folder.cohort)
        except InputError:  # it was moved, or another one is there now
            return None

    @cached_property
    def everybody(self) -> Cohort | FCSource | None:
        """Whatever knows the facts of all samples: matrices of everybody, or the cohort."""
        return self.whole_matrices or self.cohort

    @cached_property
    def operator_status(self) -> pd.DataFrame | None:
        """What became of every operator on the core-set; seconds too."""
        return None if self.core_matrices is None else self.core_matrices.status()

    @cached_property
    def seconds_per_sample(self) -> dict[str, float]:
        """Measured seconds per sample, by operator; empty if nothing was computed."""
        table = self.operator_status
        if table is None:
            return {}
        done = table["samples"] - table["missing"]
        seconds = (table["seconds"] / done.where(done > 0)).dropna()
        return {str(name): float(value) for name, value in seconds.items()}


def _optional(read: Callable[[], Part | None]) -> Part | None:
    try:
        return read()
    except NotFoundError:
        return None


def catalogue_row(spi: str) -> Mapping[str, Any]:
    """Return what the catalogue says of an operator; blanks for one it does not know."""
    nothing = {"description": "", "family": "", "directed": None, "reference": ""}
    return catalogue_rows().get(spi, nothing)
