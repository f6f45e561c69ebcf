"""The demo: a budgeted run on a simulated cohort small enough to check the answer.

Every operator is also computed on everybody afterwards, which a real cohort would not allow, so
the demo can say how right the estimate was. Its second part is the paper's way on the same
cohort: a core-set of SCLCS-Dense, beside random draws of the same size.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from sclcs._core import write_json
from sclcs.cohort import CoreSet, simulate_cohort
from sclcs.coresets import select, trained_encoder
from sclcs.run_folder import RunFolder, make_config
from sclcs.runs import RunResult, carry_out
from sclcs.stats import consistency, rank

__all__ = ["compare_core_sets", "run_demo"]

SUBJECTS = 60
REGIONS = 12
#: Ten times what was measured on real patients, so that so few subjects show a difference.
GROUP_EFFECT = 0.1
SETTINGS: dict[str, Any] = {
    "task": ["diagnosis", "subject"],
    "spis": [
        "paper-fast",
        "family:nearest_neighbour",
        "family:elastic_barycenter",
        "family:spectral_factor",
        "family:dependence",
    ],
    "budget": "8%",
    "exact_below": 0.0,  # so small a cohort would be computed exactly
    "bootstrap": 200,
    "full_benchmark": True,
    "title": "Demo: a simulated cohort",
    "description": "60 simulated subjects of two groups; afterwards every operator is computed on "
    "everybody, to see how right the estimate was.",
}


def run_demo(
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> RunResult:
    """Simulate a cohort, find its best operators within a budget, and check the answer.

    Parameters
    ----------
    out : path-like
        The folder of the run, new or of an earlier demo.
    seed : int
        Same seed, same results.
    tell : callable, optional
        Is given a line for a person when a stage begins or ends.

    Returns
    -------
    RunResult
    """
    cohort = simulate_cohort(SUBJECTS, regions=REGIONS, group=GROUP_EFFECT, seed=seed)
    jobs = min(2, os.cpu_count() or 1)
    config = make_config({**SETTINGS, "out": os.fspath(out), "seed": seed, "on": f"local:{jobs}"})
    return RunResult.open(*carry_out(config, given=cohort, tell=tell))


#: The second part: the paper's size, and as long a training as a minute allows.
RATIO, EPOCHS, DRAWS = 0.1, 100, 10


def compare_core_sets(folder: RunFolder, seed: int = 0) -> dict[str, Any] | None:
    """Rank operators on a core-set of SCLCS-Dense and on random ones, beside the full cohort.

    What was found is kept in the folder and shown by its report.

    Parameters
    ----------
    folder : RunFolder
        Of a demo, finished.
    seed : int
        Of the training and of the draws.

    Returns
    -------
    dict or None
        None where torch is not installed.
    """
    if folder.core_sets_file.exists():
        return folder.core_sets()
    if find_spec("torch") is None:
        return None
    started = time.process_time()
    cohort, store = folder.cohort(), folder.whole_matrices
    with tempfile.TemporaryDirectory() as cache:
        trained = trained_encoder(cohort, epochs=EPOCHS, seed=seed, cache=cache)
        core = select(cohort, ratio=RATIO, seed=seed, epochs=EPOCHS, cache=cache)
    draws = [select(cohort, "random", RATIO, seed + draw) for draw in range(DRAWS)]

    def agreement(task: str, chosen: CoreSet) -> float | None:
        truth = folder.truth(task)
        assert truth is not None  # noqa: S101 (the demo computes everything)
        found = rank(store, task, None, chosen, permutations=0, bootstrap=0)
        value = consistency(truth, found, k=(10,))["ndcg@10"]
        return float(value) if np.isfinite(value) else None

    facts = {
        "method": core.method,
        "epochs": EPOCHS,
        "samples": len(core),
        "of": len(cohort),
        "tasks": {
            task: {
                "ndcg@10": agreement(task, core),
                "random": [agreement(task, draw) for draw in draws],
            }
            for task in folder.tasks
        },
        "scores": trained.scores.tolist(),
        "kept": [name in set(core.sample_ids) for name in trained.sample_ids],
        "cpu_seconds": round(time.process_time() - started, 1),
    }
    write_json(folder.core_sets_file, facts)
    folder.report_file.unlink()  # the run writes it again, with the new section
    carry_out(folder.config(), given=cohort)
    return facts
