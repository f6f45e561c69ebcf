"""Stages 1 and 2 of a run: check the cohort, predict the costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sclcs
from sclcs._core import Identity, InputError, file_digest, get_logger, name_first, write_text
from sclcs.cohort import (
    SAMPLES_FILE,
    Cohort,
    Problem,
    cautions,
    check_cohort,
    check_design,
    describe_cohort,
    join_cohorts,
    raise_for,
)
from sclcs.run_folder import RunFolder
from sclcs.runs.matrices import remove_folder
from sclcs.runs.order import RunOrder
from sclcs.runs.plan import predict_costs
from sclcs.runs.stages import Stage
from sclcs.store import ExecutorChoice, FCStore, fill_store, open_computation, rows_in

__all__ = [
    "check_stage",
    "describe_outputs",
    "gather_participants",
    "plan_stage",
    "process_participant",
]


_log = get_logger(__name__)

#: Raised when the same cohort would be described or judged differently, ...
CHECK_VERSION = 5
#: ... and when the same cohort would be predicted other costs.
PLAN_VERSION = 2
CALIBRATION_SECONDS = 2.0
#: Serious problems that concern single samples.
SKIPPABLE = {
    "constant-region", "same-scan", "index-region", "equal-regions", "repeated-frames", "spike",
}  # fmt: skip


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
        for task in config.tasks:  # now, not only in the report of a run that takes hours
            for text in cautions(facts["design"], task, config.taken_out):
                _log.warning("%s", text)

    return Stage("check", "Check the cohort", identity, work, lambda: [folder.check_file])


def _to_exclude(problems: Sequence[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.kind in SKIPPABLE]


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
            parameters=config.method_parameters,
            top_k=min(config.top_k, len(order.operators)),
            jobs=order.processes,
            calibration_seconds=CALIBRATION_SECONDS,
        )
        folder.write_facts(plan.to_dict(), folder.plan_file)

    return Stage("plan", "Predict the costs", identity, work, lambda: [folder.plan_file])


COHORT, STORE, GROUP = "cohort.zarr", "fc.zarr", "group"
BIDS_VERSION = "1.10.0"


def describe_outputs(out: Path) -> None:
    """Write ``dataset_description.json``, which makes the folder a BIDS derivative."""
    path = out / "dataset_description.json"
    if path.exists():
        return
    facts = {
        "Name": "sclcs: functional connectivity of many operators",
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "sclcs", "Version": sclcs.__version__}],
    }
    write_text(path, json.dumps(facts, indent=2) + "\n")


def process_participant(
    out: Path,
    label: str,
    make_cohort: Callable[[Path], Cohort],
    spis: Sequence[str],
    *,
    seed: int = 0,
    who: ExecutorChoice | None = None,
) -> FCStore:
    """Read one participant's scans and compute the operators on them; go on where it stopped.

    Parameters
    ----------
    out : Path
        The folder that all participants share.
    label : str
        Of the participant, without ``sub-``.
    make_cohort : callable
        Writes the participant's cohort to the path it is given.
    spis : sequence of str
    seed : int
    who : ExecutorChoice, optional

    Returns
    -------
    FCStore
    """
    home = out / f"sub-{label}"
    home.mkdir(parents=True, exist_ok=True)
    path = home / COHORT
    cohort = Cohort.open(path) if path.exists() else make_cohort(path)
    return fill_store(open_computation(cohort, home / STORE, list(spis), seed=seed), who).store


def gather_participants(
    out: Path, spis: Sequence[str], *, seed: int = 0, who: ExecutorChoice | None = None
) -> tuple[Path, Path]:
    """Join the cohorts of all participants, and their matrices in the folder of a run.

    Matrices that a participant's job has not computed are computed here.

    Parameters
    ----------
    out : Path
        The folder that all participants share.
    spis : sequence of str
    seed : int
    who : ExecutorChoice, optional

    Returns
    -------
    cohort : Path
    run : Path
        A folder for :func:`sclcs.run`, whose matrices are there already.
    """
    homes = sorted(path.parent for path in out.glob(f"sub-*/{COHORT}"))
    if not homes:
        raise InputError(
            f"No participant was processed in {out} yet (expected {out}/sub-*/{COHORT}); run the "
            "participant level first."
        )
    unfinished = [home.name for home in homes if not (home / STORE).exists()]
    if unfinished:
        raise InputError(
            f"The participant level did not finish for {name_first(unfinished)}; run it again."
        )
    cohort = _joined(
        out / GROUP / COHORT, {home.name: Cohort.open(home / COHORT) for home in homes}
    )
    run = out / GROUP / "run"
    store = RunFolder.create(run).whole_store
    computation = open_computation(cohort, store, list(spis), seed=seed)
    parts = [rows_in(FCStore.open(home / STORE), cohort.sample_ids) for home in homes]
    fill_store(computation, who, known=[rows for rows in parts if rows is not None])
    return out / GROUP / COHORT, run


def _joined(path: Path, parts: dict[str, Cohort]) -> Cohort:
    """Return the cohort of all participants; one of other participants is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fingerprints = {name: cohort.fingerprint for name, cohort in parts.items()}
    if path.exists():
        cohort = Cohort.open(path)
        if cohort.provenance.get("parts") == fingerprints:
            return cohort
        remove_folder(path)
        remove_folder(path.parent / "run")
    return join_cohorts(parts, path)
