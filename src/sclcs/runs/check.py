"""Stages 1 and 2 of a run: check the cohort, predict the costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sclcs.cohort.check import check_cohort
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.describe import describe_cohort
from sclcs.cohort.design import cautions, check_design
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.storage import SAMPLES_FILE
from sclcs.core.identity import Identity, file_digest
from sclcs.core.logging import get_logger
from sclcs.runs.order import RunOrder
from sclcs.runs.plan import predict_costs
from sclcs.runs.stages import Stage

__all__ = ["check_stage", "plan_stage"]

_log = get_logger(__name__)

#: Raised when the same cohort would be described or judged differently, ...
CHECK_VERSION = 4
#: ... and when the same cohort would be predicted other costs.
PLAN_VERSION = 2
CALIBRATION_SECONDS = 2.0
SKIPPABLE = "constant-region"  # the only serious problem that concerns single samples


def check_stage(order: RunOrder) -> Stage:
    """Return the stage that reads the whole cohort and names its problems."""
    folder, config = order.folder, order.config

    def identity() -> Identity:
        table = Path(config.cohort or "") / SAMPLES_FILE
        names = ("treat_as", "covariates", "within", "harmonise", "drop_missing")
        asked = {name: getattr(config, name) for name in names}
        return Identity(
            "check",
            inputs={"cohort": order.given.fingerprint, "table": file_digest(table)},
            parameters={"on_bad": config.on_bad, "tasks": config.tasks, **asked},
            versions={"check": CHECK_VERSION},
        )

    def work() -> None:
        cohort = order.given
        problems = check_cohort(cohort)
        excluded = _to_exclude(problems) if config.on_bad == "skip" else []
        raise_for([problem for problem in problems if problem not in excluded])
        usable = _without(cohort, excluded)
        facts: dict[str, Any] = {
            "cohort": describe_cohort(cohort),
            "problems": [problem.to_dict() for problem in problems],
            "excluded": [problem.to_dict() for problem in excluded],
            "samples": len(usable),
            "fingerprint": usable.fingerprint,
            "tasks": order.check_tasks(usable.samples),
            "design": [problem.to_dict() for problem in check_design(usable.samples, config.tasks)],
        }
        folder.write_facts(facts, folder.check_file)
        taken_out = {*config.covariates, config.within, config.harmonise}
        for task in config.tasks:  # now, not only in the report of a run that takes hours
            for text in cautions(facts["design"], task, taken_out):
                _log.warning("%s", text)

    return Stage("check", "Check the cohort", identity, work, lambda: [folder.check_file])


def _to_exclude(problems: Sequence[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.kind == SKIPPABLE]


def _without(cohort: Cohort, excluded: Sequence[Problem]) -> Cohort:
    names = {problem.where for problem in excluded}
    if not names:
        return cohort
    return cohort.take([name for name in cohort.sample_ids if name not in names])


def plan_stage(order: RunOrder) -> Stage:
    """Return the stage that predicts the costs; nothing that follows depends on it."""
    folder, config = order.folder, order.config

    def identity() -> Identity:
        check = folder.check()
        shape = [check["samples"], check["cohort"]["regions"], check["cohort"]["timepoints"]]
        return Identity(
            "plan",
            inputs={"shape": shape, "operators": order.operators},
            parameters={
                "ratio": order.core_ratio,
                "method": order.selector.name,
                "parameters": order.parameters.deciding(),
                "top_k": config.top_k,
                "processes": order.processes,
            },
            versions={"plan": PLAN_VERSION},
        )

    def work() -> None:
        plan = predict_costs(
            order.cohort,
            order.operators,
            ratio=order.core_ratio,
            method=order.selector.name,
            parameters=config.parameters,
            top_k=min(config.top_k, len(order.operators)),
            jobs=order.processes,
            calibration_seconds=CALIBRATION_SECONDS,
        )
        folder.write_facts(plan.to_dict(), folder.plan_file)

    return Stage("plan", "Predict the costs", identity, work, lambda: [folder.plan_file])
