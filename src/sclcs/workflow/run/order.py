"""A run's order: the configuration checked against the cohort, before any long work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import sclcs.selection.methods  # noqa: F401 (registers all methods)
from sclcs.benchmark.design import make_design
from sclcs.benchmark.scores import find_score
from sclcs.benchmark.tasks import make_task
from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, MissingDependencyError
from sclcs.selection.registry import Selector, core_size, find_selector
from sclcs.spi.sets import resolve
from sclcs.spi.versions import operator_version
from sclcs.workflow.run.cohort import open_run_cohort
from sclcs.workflow.run.config import RunConfig
from sclcs.workflow.run.folder import RunFolder

__all__ = ["RunOrder", "check_tasks"]


@dataclass(frozen=True)
class RunOrder:
    """What a run has to do, with everything looked up.

    Parameters
    ----------
    folder : RunFolder
        Where it is done; it need not exist yet.
    config : RunConfig
        What was asked.
    given : Cohort
        The cohort as given.
    """

    folder: RunFolder
    config: RunConfig
    given: Cohort

    @property
    def cohort(self) -> Cohort:
        """The cohort without the samples that the check left out."""
        return open_run_cohort(self.folder)

    @cached_property
    def operators(self) -> list[str]:
        """The operators to compare."""
        return resolve(self.config.spis)

    @cached_property
    def selector(self) -> Selector:
        """The method that chooses the core-set."""
        return find_selector(self.config.method)

    @property
    def guided(self) -> bool:
        """Whether operators on the whole cohort guide the choice."""
        return "panel" in self.selector.parameters

    @property
    def trains_encoder(self) -> bool:
        """Whether the choice comes from a training of the encoder."""
        return "preset" in self.selector.parameters

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the method, those it shares with the run filled in."""
        given = dict(self.config.parameters)
        if self.guided:
            given.setdefault("task", list(self.config.tasks))
        if self.config.target_ndcg is not None:
            given["target_ndcg"] = self.config.target_ndcg
        return self.selector.complete(given)

    @property
    def processes(self) -> int:
        """How many processes (or threads) may be used here."""
        if self.config.jobs == -1:
            import joblib

            return int(joblib.cpu_count())
        return self.config.jobs

    def versions(self, operators: list[str]) -> dict[str, str]:
        """Return the operators with the versions of their numbers."""
        return {name: operator_version(name) for name in operators}

    def check(self) -> None:
        """Raise if something cannot work: operators, method, score, size, tasks, workers."""
        config = self.config
        _ = self.operators, self.parameters, find_score(config.score)
        if config.jobs < 1 and config.jobs != -1:
            raise InputError(f"Expected jobs from 1, or -1 for all processors, got {config.jobs}.")
        if config.scheduler is not None and config.jobs != 1:
            raise InputError("Choose jobs or scheduler: each is a way to run the tasks.")
        if len(set(config.tasks)) < len(config.tasks):
            raise InputError(f"Expected every task once, got {', '.join(config.tasks)}.")
        if self.selector.needs_training and find_spec("torch") is None:
            raise MissingDependencyError.for_extra("torch", "torch")
        if config.target_ndcg is None:
            core_size(self.given, config.ratio)
        check_tasks(self.given, config.tasks)


def check_tasks(cohort: Cohort, tasks: list[str]) -> dict[str, dict[str, int]]:
    """Count what each task compares; raise if one cannot be scored on the cohort.

    Parameters
    ----------
    cohort : Cohort
    tasks : list of str

    Returns
    -------
    dict
        By task: ``samples``, ``subjects``, ``classes``, ``unlabelled`` samples.
    """
    found = {}
    for name in tasks:
        design = make_design(cohort.samples, make_task(name))
        if design.degenerate:
            raise InputError(f"Operators cannot be ranked for {design.degenerate}")
        found[name] = {
            "samples": len(design),
            "subjects": design.n_subjects,
            "classes": len(set(design.classes.tolist())),
            "unlabelled": design.n_unlabelled,
        }
    return found
