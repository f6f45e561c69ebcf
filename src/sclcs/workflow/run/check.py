"""Stages 1 and 2 of a run: check the cohort, predict the costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sclcs.cohort.check import check_cohort
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.describe import describe_cohort
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.storage import SAMPLES_FILE
from sclcs.core.files import write_json
from sclcs.core.provenance import plain
from sclcs.workflow.plan import predict_costs
from sclcs.workflow.run.order import RunOrder, check_tasks
from sclcs.workflow.run.stages import Stage
from sclcs.workflow.run.state import digest_file

__all__ = ["check_stage", "plan_stage"]

CALIBRATION_SECONDS = 2.0
SKIPPABLE = "constant-region"  # the only serious problem that concerns single samples


def check_stage(order: RunOrder) -> Stage:
    """Return the stage that reads the whole cohort and names its problems."""
    folder, config = order.folder, order.config

    def key() -> dict[str, Any]:
        table = Path(config.cohort or "") / SAMPLES_FILE
        return {
            "fingerprint": order.given.fingerprint,
            "table": digest_file(table),
            "tasks": config.tasks,
            "on_bad": config.on_bad,
        }

    def work() -> None:
        cohort = order.given
        problems = check_cohort(cohort)
        excluded = _to_exclude(problems) if config.on_bad == "skip" else []
        raise_for([problem for problem in problems if problem not in excluded])
        usable = _without(cohort, excluded)
        facts = {
            "cohort": describe_cohort(cohort),
            "problems": [problem.to_dict() for problem in problems],
            "excluded": [problem.to_dict() for problem in excluded],
            "samples": len(usable),
            "fingerprint": usable.fingerprint,
            "tasks": check_tasks(usable, config.tasks),
        }
        write_json(folder.check_file, plain(facts))

    return Stage("check", "Check the cohort", key, work, lambda: [folder.check_file])


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

    def key() -> dict[str, Any]:
        check = folder.check()
        return {
            "samples": check["samples"],
            "shape": [check["cohort"]["regions"], check["cohort"]["timepoints"]],
            "operators": order.operators,
            "ratio": config.ratio,
            "method": config.method,
            "parameters": order.parameters,
            "top_k": config.top_k,
            "jobs": order.processes,
        }

    def work() -> None:
        plan = predict_costs(
            order.cohort,
            order.operators,
            ratio=config.ratio,
            method=config.method,
            parameters=config.parameters,
            top_k=min(config.top_k, len(order.operators)),
            jobs=order.processes,
            calibration_seconds=CALIBRATION_SECONDS,
        )
        write_json(folder.plan_file, plan.to_dict())

    return Stage("plan", "Predict the costs", key, work, lambda: [folder.plan_file])
