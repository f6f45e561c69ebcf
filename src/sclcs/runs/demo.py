"""The demo: a budgeted run on a simulated cohort small enough to check the answer.

Every operator is also computed on everybody afterwards, which a real cohort would not allow, so
the demo can say how right the estimate was.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sclcs.cohort import simulate_cohort
from sclcs.run_folder import make_config
from sclcs.runs import RunResult, carry_out

__all__ = ["run_demo"]

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
