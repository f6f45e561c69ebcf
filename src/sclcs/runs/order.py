"""A run's order: the configuration checked against the cohort, before any long work."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from sclcs._core import Identity, InputError, Settings
from sclcs.cohort import Cohort, CoreSet, label_column
from sclcs.coresets import Selector, core_size, find_selector
from sclcs.run_folder import RunConfig, RunFolder
from sclcs.runs.budget import Allotment, Costs, plan_budget, plan_costs
from sclcs.spi import operator_stamps, resolve
from sclcs.stats import (
    RANKING_VERSION,
    Covariates,
    Criterion,
    Measure,
    Question,
    Target,
    covariate_kinds,
    find_aims,
    find_criterion,
    find_target,
    folds_of,
    make_question,
    measure_of,
    rules_of,
)

__all__ = ["RunOrder"]

#: How a budgeted run chooses its core-set: any draw shows geometry, but only two samples of a
#: subject say something about fingerprinting.
BUDGET_METHOD, BUDGET_METHOD_OF_SUBJECTS = "random", "pairs"
#: Raised when the same matrices would give another card.
CARD_VERSION = 1


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
        return self.folder.cohort()

    @cached_property
    def operators(self) -> list[str]:
        """The operators to compare."""
        return resolve(self.config.spis)

    @cached_property
    def allotment(self) -> Allotment:
        """What the budget of the run buys."""
        return plan_budget(self)

    @cached_property
    def costs(self) -> Costs:
        """What every operator costs on the cohort, as the budget counts."""
        return plan_costs(self)

    @cached_property
    def selector(self) -> Selector:
        """The method that chooses the core-set."""
        usual = BUDGET_METHOD_OF_SUBJECTS if "subject" in self.config.tasks else BUDGET_METHOD
        return find_selector(self.config.method or usual)

    @property
    def core_ratio(self) -> float:
        """The share of the samples in the core-set."""
        if self.config.ratio is not None:
            return self.config.ratio
        # Half a sample more, so that rounding down gives the number that was bought.
        return min(1.0, (self.allotment.core_samples + 0.5) / len(self.given))

    @cached_property
    def parameters(self) -> Settings:
        """All parameters of the method, those it shares with the run filled in."""
        given = self.config.method_parameters
        if self.selector.takes_task and not self.selector.needs_training:
            given.setdefault("task", list(self.config.tasks))
        return self.selector.complete(given)

    def criterion(self, task: str) -> Criterion:
        """Return how operators are scored for a task: as asked, or by the task's own default.

        A run may ask for several tasks; a score that cannot score one of them leaves it to its
        default, as long as it can score another.
        """
        target, asked = self.target(task), self.config.score
        if asked is not None and target.kind not in find_criterion(asked).kinds and self._scored:
            asked = None
        return find_criterion(asked, target)

    @cached_property
    def _scored(self) -> bool:
        """Whether the score that was asked for can score any of the tasks."""
        kinds = find_criterion(self.config.score or "share").kinds
        return any(self.target(task).kind in kinds for task in self.config.tasks)

    def target(self, task: str) -> Target:
        """Return what a task asks; the whole cohort tells labels and numbers apart."""
        return find_target(self.given.samples, task, self.config.treat_as)

    def question_options(self, task: str) -> dict[str, Any]:
        """Return what the question of a task is asked with.

        Covariates are those of the configuration without the task itself. Fingerprinting
        compares persons with themselves and takes none; nor can it be harmonised.
        """
        config = self.config
        person = task == "subject"
        names = () if person else tuple(name for name in config.covariates if name != task)
        kinds = covariate_kinds(self.given.samples, names, config.treat_as)
        return {
            "covariates": Covariates(names, kinds),
            "within": config.within,
            "harmonise": None if person else config.harmonise,
            "families": config.families,
            "covariate_form": config.covariate_form,
            "drop_missing": config.drop_missing,
            "rules": rules_of(config),
            "folds": folds_of(config),
        }

    def question(self, samples: pd.DataFrame, task: str, core: CoreSet | None = None) -> Question:
        """Return the question of a task about some samples, or those of a core-set among them."""
        question = make_question(
            samples,
            self.target(task),
            core,
            n_timepoints=self.given.n_timepoints,
            seed=self.config.seed,
            **self.question_options(task),
        )
        self.criterion(task).check(question)
        return question

    @property
    def measure(self) -> Measure:
        """How the matrices of two samples are compared."""
        return measure_of(self.config)

    @property
    def processes(self) -> int:
        """How many processes (or threads) may be used here."""
        return self.config.executor.processes

    def matrices_identity(self, operators: list[str], samples: list[str] | None) -> Identity:
        """Return what the matrices of operators depend on; all samples by default."""
        stamps = operator_stamps(operators, self.config.seed)
        return Identity(
            "matrices",
            inputs={"cohort": self.folder.check()["fingerprint"], "samples": samples},
            versions={name: stamp.version for name, stamp in stamps.items()},
            seeds={name: stamp.seed for name, stamp in stamps.items()},
        )

    def ranking_identity(self, matrices: Identity, **inputs: object) -> Identity:
        """Return what a ranking of matrices depends on."""
        config = self.config
        criteria = {task: self.criterion(task) for task in config.tasks}
        return Identity(
            "ranking",
            inputs={"matrices": matrices, **inputs},
            parameters={
                "scores": {task: criterion.name for task, criterion in criteria.items()},
                **config.question_options,
            },
            versions={
                "ranking": RANKING_VERSION,
                **{criterion.name: criterion.version for criterion in criteria.values()},
            },
            seeds={"draws": config.seed},
        )

    @property
    def card_facts(self) -> dict[str, Any]:
        """What the cards of the run depend on besides the matrices and the rankings."""
        samples, config = self.given.samples, self.config
        aims = {
            task: find_aims(samples, self.target(task), config.criteria, config.treat_as)
            for task in config.tasks
        }
        return {
            "aims": {task: [asdict(aim) for aim in found] for task, found in aims.items()},
            "card": CARD_VERSION,
            "scores": {
                aim.score: find_criterion(aim.score).version
                for found in aims.values()
                for aim in found
            },
        }

    def check(self) -> None:
        """Raise if something cannot work: operators, method, score, size, tasks, workers."""
        config = self.config
        _ = self.operators, self.parameters, [self.criterion(task) for task in config.tasks]
        if len(set(config.tasks)) < len(config.tasks):
            raise InputError(f"Expected every task once, got {', '.join(config.tasks)}.")
        self.selector.require_packages()
        if config.budgeted:
            _ = self.allotment
        else:
            core_size(self.given, self.core_ratio)
        self._check_columns(self.given.samples)
        self.check_tasks(self.given.samples)

    def _check_columns(self, samples: pd.DataFrame) -> None:
        """Raise if a column is not there, though only a late stage or no task needs it."""
        config = self.config
        covariate_kinds(samples, config.covariates, config.treat_as)
        for name in (config.within, config.harmonise, *config.families):
            if name:
                label_column(samples, name)
        for task in config.tasks:
            find_aims(samples, self.target(task), config.criteria, config.treat_as)

    def check_tasks(self, samples: pd.DataFrame) -> dict[str, dict[str, Any]]:
        """Count what each task compares; raise if one, or the card, cannot be answered.

        Parameters
        ----------
        samples : DataFrame
            The facts of all samples that are used.

        Returns
        -------
        dict
            By task: ``kind``, ``samples``, ``subjects``, ``classes``, ``unlabelled`` samples.
        """
        found: dict[str, dict[str, Any]] = {}
        for name in self.config.tasks:
            question = self.question(samples, name)
            if question.degenerate:
                raise InputError(f"Operators cannot be ranked for {question.degenerate}")
            find_aims(samples, question.target, self.config.criteria, self.config.treat_as)
            found[name] = {
                "kind": question.target.kind,
                "samples": question.n_samples,
                "subjects": question.n_subjects,
                "classes": _class_count(question),
                "unlabelled": question.n_unlabelled,
            }
        return found


def _class_count(question: Question) -> int:
    """Count what is told apart: persons, or the classes of a label; none for a number."""
    return question.n_subjects if question.target.kind == "subject" else len(question.classes)
